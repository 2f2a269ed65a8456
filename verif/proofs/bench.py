"""The words that benches are written in: inputs that are free, and claims about streams.

A bench holds a block, drives its inputs with values that may be anything, and states with ``Assume``, ``Assert`` and
``Cover`` what may come, what must hold, and what must be possible. Registers that remember what happened are ghost state:
they observe, and drive nothing.
"""

from __future__ import annotations

import re

from amaranth.back import rtlil
from amaranth.hdl import Assert, Assume, ClockDomain, Elaboratable, Instance, Module, Signal, Value
from amaranth.lib import stream

__all__ = ["Bench", "fixed", "free", "hold", "last_cycle", "obey", "started"]


class Bench(Elaboratable):
    """The top of a proof. A run begins with the initial values, which are those after a reset.

    ``any_start``
        The registers of the block begin with anything instead; those of the bench itself with their initial values.
    """

    any_start = False

    def __init__(self) -> None:
        self.domain = ClockDomain("sync", reset_less=True)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.domains.sync = self.domain
        self.describe(m)
        return m

    def describe(self, m: Module) -> None:
        """Adds the block, its environment and the claims."""
        raise NotImplementedError

    def rtlil(self) -> str:
        """The bench as Yosys reads it, a module called ``top``."""
        text = str(rtlil.convert(self, name="top", ports=[self.domain.clk]))
        # Amaranth takes the cells for modules of the user's.
        text = text.replace("cell \\$any", "cell $any")
        if self.any_start:
            modules = text.split("\nattribute \\generator")
            text = "\nattribute \\generator".join(
                part if "module \\top\n" in part else _INITIAL.sub("", part) for part in modules
            )
        return text


#: What a register of RTLIL begins with.
_INITIAL = re.compile(r"^ *attribute \\init .*\n", re.MULTILINE)


def _any(m: Module, kind: str, name: str, value: Value) -> None:
    m.submodules[f"any_{name}"] = Instance(kind, p_WIDTH=len(value), o_Y=value)


def free(m: Module, name: str, target: Value | None = None, *, shape: object = 1) -> Value:
    """A value that may be another one in every cycle: ``target``, an input of the block, or a new signal."""
    target = Signal(shape, name=name) if target is None else target
    value = Value.cast(target)
    if len(value):
        source = Signal(len(value), name=f"{name}_free")
        _any(m, "$anyseq", name, source)
        m.d.comb += value.eq(source)
    return target


def fixed(m: Module, name: str, shape: object) -> Value:
    """A value that may be any, and stays the same for ever."""
    target = Signal(shape, name=name)
    _any(m, "$anyconst", name, Value.cast(target))
    return target


def started(m: Module) -> Signal:
    """High from the second cycle on."""
    high = Signal(name="started")
    m.d.sync += high.eq(1)
    return high


def last_cycle(m: Module, value: Value, name: str, *, init: int = 0) -> Signal:
    """The value in the cycle before."""
    before = Signal(len(Value.cast(value)), name=name, init=init)
    m.d.sync += before.eq(value)
    return before


def _held(m: Module, port: stream.Interface, name: str) -> Value:
    """Whether a stream keeps its rules: what was offered and not taken is still offered, and is the same."""
    payload = Value.cast(port.payload)
    waiting = last_cycle(m, port.valid & ~port.ready, f"{name}_was_waiting")
    before = last_cycle(m, payload, f"{name}_was")
    return ~waiting | (port.valid & (payload == before))


def obey(m: Module, port: stream.Interface, name: str) -> None:
    """Drives a stream into the block: anything at any time, by the rules of streams."""
    free(m, f"{name}_payload", port.payload)
    free(m, f"{name}_valid", port.valid)
    m.d.comb += Assume(_held(m, port, name))


def hold(m: Module, port: stream.Interface, name: str) -> None:
    """Takes a stream from the block, at any time, and claims that it keeps the rules of streams."""
    free(m, f"{name}_ready", port.ready)
    m.d.comb += Assert(_held(m, port, name))
