"""A memory as block RAM without a check of addresses: what is read while it is written is none of both words."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib.memory import Memory


class CollidingMemory(Elaboratable):
    """In place of :class:`~amaranth.lib.memory.Memory`: a word that a port reads in the cycle in which another one writes it
    comes with each bit inverted."""

    def __init__(self, **parameters: Any) -> None:
        self._memory = Memory(**parameters)
        self._reads: list[tuple[Any, Any]] = []
        self._writes: list[Any] = []

    def write_port(self, **parameters: Any) -> Any:
        self._writes.append(self._memory.write_port(**parameters))
        return self._writes[-1]

    def read_port(self, **parameters: Any) -> Any:
        inner = self._memory.read_port(**parameters)
        self._reads.append((inner, inner.signature.flip().create()))
        return self._reads[-1][1]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.memory = self._memory
        for number, (inner, outer) in enumerate(self._reads):
            collided = Signal(name=f"collided_{number}")
            found = [write.en.any() & (write.addr == outer.addr) for write in self._writes]
            with m.If(outer.en):
                m.d.sync += collided.eq(Cat(found).any())
            read = Value.cast(inner.data)
            m.d.comb += [
                inner.addr.eq(outer.addr),
                inner.en.eq(outer.en),
                Value.cast(outer.data).eq(Mux(collided, ~read, read)),
            ]
        return m
