"""Data a cycle later."""

from typing import Any

from amaranth.hdl import Module, Signal

__all__ = ["delayed"]


def delayed(m: Module, name: str, value: Any) -> Any:
    """The ``value`` of the cycle before, in a register of that ``name`` that has no reset.

    It is for data of which something else says whether they are there: to reset so many flip-flops, a net has to cross an
    FPGA.
    """
    register = Signal.like(value, name=name, reset_less=True)
    m.d.sync += register.eq(value)
    return register
