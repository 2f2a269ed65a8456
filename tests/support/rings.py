"""A ring with an index of its own, in place of one among many."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Elaboratable, Module, Mux, Signal, Value


class Indexed(Elaboratable):
    """A fetcher or a ring of completions, with its index, head and tail. It has the ports of what it is made of.

    ``step``: A record is moved.
    ``log2``: Of completions: log2 of the entries of the ring.
    """

    def __init__(self, ring: Any, bits: int, step: Value, log2: Value | None = None) -> None:
        self.ring = ring
        self.step = step
        self.log2 = log2
        self.tail, self.moved, self.head = (Signal(bits, name=name) for name in ("tail", "moved", "head"))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.ring, name)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.ring = self.ring
        index = self.ring.index
        following = Signal.like(self.moved)
        ahead = Signal.like(self.moved)
        m.d.comb += [
            self.head.eq(self.moved - index.behind),
            following.eq(Mux(index.restarts, 0, self.moved + self.step)),
            ahead.eq(following - self.tail),
        ]
        more = ahead != 0 if self.log2 is None else (ahead >> self.log2) == 0
        # The index is compared some cycles after it has moved.
        waits = Signal(3)
        m.d.sync += [
            self.moved.eq(following),
            waits.eq(Mux(self.step, 4, waits - waits.any())),
            index.more.eq(more & ~index.restarts & ~self.step & ~waits.any()),
        ]
        return m
