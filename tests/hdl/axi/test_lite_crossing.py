"""Registers behind a crossing: every access is answered once, also when either side is reset."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cdma.hdl.axi.crossings import LiteCrossing
from cdma.verif.proofs.bench import FreeClocks
from tests.support.simulate import simulate

OKAY, SLVERR = 0, 2
STEPS = 1600


class Bench:
    """A master that has one read and one write open, and registers that answer after a while."""

    def __init__(self, seed: int, resets: str) -> None:
        self.rng = random.Random(seed)
        self.clocks = FreeClocks("bus", "sync")
        self.dut = LiteCrossing(8, bus="bus")
        self.built = self.clocks.built(self.dut)
        self.resets = resets
        self.shares = [self.rng.choice((0.2, 0.5, 1.0)) for _ in range(2)]
        self.memory: dict[int, int] = {}
        self.writes: list[tuple[int, int, int]] = []
        self.answers = {"r": 0, "b": 0}
        self.errors = 0

    async def run(self, ctx: Any) -> None:
        rng, ticks = self.rng, self.clocks.ticks
        bus, registers = self.dut.bus_port, self.dut.registers
        asked: dict[str, Any] = {"aw": None, "w": None, "ar": None}
        expected: dict[str, int] = {}
        inside: dict[str, Any] = {"aw": None, "w": None, "ar": None}
        due = {"b": False, "r": False}
        left = dict.fromkeys(ticks, 8)
        for step in range(STEPS):
            now = {name: rng.random() < share for name, share in zip(ticks, self.shares, strict=True)}
            for name, tick in now.items():
                ctx.set(ticks[name], tick)
                if self.resets == name and rng.random() < 0.01:
                    left[name] = rng.randint(1, 3)
                ctx.set(self.clocks.resets[name], left[name] > 0)
            for late in self.clocks.late:
                ctx.set(late, rng.getrandbits(1) * -1)
            if left["bus"]:
                asked = dict.fromkeys(asked)
                expected = {}
            if left["sync"]:
                inside, due = dict.fromkeys(inside), {"b": False, "r": False}
            if "b" not in expected and not left["bus"] and step < STEPS - 600:
                address, data = rng.randrange(256), rng.getrandbits(32)
                asked["aw"], asked["w"], expected["b"] = address, data, address
            if "r" not in expected and not left["bus"] and step < STEPS - 600:
                asked["ar"] = expected["r"] = rng.randrange(256)
            for channel in asked:
                ctx.set(getattr(bus, f"{channel}valid"), asked[channel] is not None)
            ctx.set(bus.awaddr, asked["aw"] or 0)
            ctx.set(bus.wdata, asked["w"] or 0)
            ctx.set(bus.araddr, asked["ar"] or 0)
            takes = {channel: rng.random() < 0.7 for channel in ("r", "b", "aw", "w", "ar")}
            for channel in ("r", "b"):
                ctx.set(getattr(bus, f"{channel}ready"), takes[channel])
                ctx.set(getattr(registers, f"{channel}valid"), due[channel])
            for channel in inside:
                ctx.set(getattr(registers, f"{channel}ready"), inside[channel] is None and takes[channel])
            ctx.set(registers.rdata, (inside["ar"] or 0) * 0x01010101)
            if now["bus"]:
                left["bus"] -= left["bus"] > 0
                for channel in asked:
                    if asked[channel] is not None and ctx.get(getattr(bus, f"{channel}ready")):
                        asked[channel] = None
                for channel in ("r", "b"):
                    if takes[channel] and ctx.get(getattr(bus, f"{channel}valid")) and channel in expected:
                        self.answers[channel] += 1
                        resp = ctx.get(getattr(bus, f"{channel}resp")).value
                        assert resp == OKAY or self.resets == "sync", step
                        self.errors += resp == SLVERR
                        if channel == "r" and resp == OKAY:
                            assert ctx.get(bus.rdata) == expected["r"] * 0x01010101, step
                        del expected[channel]
            if now["sync"]:
                left["sync"] -= left["sync"] > 0
                for channel in ("r", "b"):
                    if due[channel] and ctx.get(getattr(registers, f"{channel}ready")):
                        due[channel] = False
                        for each in ("ar",) if channel == "r" else ("aw", "w"):
                            inside[each] = None
                for channel, pin in (("aw", "awaddr"), ("w", "wdata"), ("ar", "araddr")):
                    valid = ctx.get(getattr(registers, f"{channel}valid"))
                    if valid and inside[channel] is None and takes[channel]:
                        inside[channel] = ctx.get(getattr(registers, pin))
                due["b"] |= inside["aw"] is not None and inside["w"] is not None and rng.random() < 0.3
                due["r"] |= inside["ar"] is not None and rng.random() < 0.3
            await ctx.tick()
        assert not expected, f"{expected} is not answered"


@pytest.mark.parametrize("resets", ["none", "bus", "sync"])
def test_every_access_is_answered(resets: str) -> None:
    bench = Bench(len(resets), resets)
    simulate(bench.built, bench.run)
    assert min(bench.answers.values()) > 8
    assert (bench.errors > 0) == (resets == "sync")
