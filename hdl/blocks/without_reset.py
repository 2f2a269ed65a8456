"""Registers for data, which have no reset."""

from typing import Any

from amaranth.hdl import Module, Signal

__all__ = ["without_reset"]


def without_reset(m: Module, name: str, sink: Any) -> Any:
    """A register of that ``name`` that drives ``sink`` and has no reset.

    It is for data of which something else says whether they are there: to reset so many flip-flops, a net has to cross an
    FPGA.
    """
    register = Signal.like(sink, name=name, reset_less=True)
    m.d.comb += sink.eq(register)
    return register
