"""Sources and sinks for streams in Amaranth's own simulator, with pauses; they note the cycle of every transfer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from amaranth.hdl import Elaboratable
from amaranth.sim import Simulator

from .pauses import Pause, never

__all__ = ["Packet", "StreamBench", "beats_of"]


def beats_of(words: Sequence[int], lanes: int) -> list[dict[str, Any]]:
    """Returns the beats of a packet, as payloads."""
    beats = []
    for start in range(0, len(words), lanes):
        part = [int(word) for word in words[start : start + lanes]]
        beats.append(
            {
                "data": part + [0] * (lanes - len(part)),
                "keep": (1 << len(part)) - 1,
                "last": int(start + lanes >= len(words)),
            }
        )
    return beats


@dataclass
class Packet:
    """A packet as a sink saw it."""

    words: list[int] = field(default_factory=list)
    cycles: list[int] = field(default_factory=list)


class StreamBench:
    """A component under test with a source or a sink on each of its streams; ``run`` ends when all sinks have ended."""

    def __init__(self, dut: Elaboratable) -> None:
        self.dut = dut
        self.simulator = Simulator(dut)
        self.simulator.add_clock(1e-9)
        self._pending = 0
        self.accepted: dict[str, list[int]] = {}

    def source(self, name: str, payloads: Sequence[Any], pause: Pause = never) -> None:
        """Sends ``payloads`` on the stream ``name``; the cycles of acceptance are in ``accepted[name]``."""
        stream = getattr(self.dut, name)
        self.accepted[name] = []

        async def process(ctx: Any) -> None:
            cycle = 0
            for payload in payloads:
                while pause():
                    await ctx.tick()
                    cycle += 1
                ctx.set(stream.payload, payload)
                ctx.set(stream.valid, 1)
                while True:
                    _, _, ready = await ctx.tick().sample(stream.ready)
                    cycle += 1
                    if ready:
                        break
                self.accepted[name].append(cycle - 1)
                ctx.set(stream.valid, 0)

        self.simulator.add_process(process)

    def sink(self, name: str, convert: Callable[[Any], bool], pause: Pause = never) -> None:
        """Receives on the stream ``name``; hands each cycle and payload to ``convert`` until that returns true."""
        stream = getattr(self.dut, name)
        self._pending += 1

        async def testbench(ctx: Any) -> None:
            cycle = 0
            held = None
            done = False
            while not done:
                ready = not pause()
                ctx.set(stream.ready, ready)
                _, _, valid, payload = await ctx.tick().sample(stream.valid, stream.payload)
                cycle += 1
                if held is not None:
                    assert valid, f"{name} retracted its payload in cycle {cycle - 1}"
                    assert payload == held, f"{name} changed its payload in cycle {cycle - 1}"
                held = payload if valid and not ready else None
                if valid and ready:
                    done = convert((cycle - 1, payload))
            ctx.set(stream.ready, 0)
            self._pending -= 1

        self.simulator.add_process(testbench)

    def packets(self, name: str, number: int, pause: Pause = never) -> list[Packet]:
        """Receives ``number`` packets in the list that it returns, and checks that only last beats are partial."""
        received = [Packet()]
        lanes = len(getattr(self.dut, name).payload.keep)

        def take(transfer: Any) -> bool:
            cycle, beat = transfer
            count = int(beat.keep).bit_count()
            assert beat.keep == (1 << count) - 1, f"{name} has a hole in cycle {cycle}: {beat.keep:b}"
            assert beat.last or count == lanes, (
                f"{name} has a partial beat that is not the last in cycle {cycle}"
            )
            received[-1].words += [int(word) for word in beat.data][:count]
            received[-1].cycles.append(cycle)
            if beat.last:
                if len(received) == number:
                    return True
                received.append(Packet())
            return False

        self.sink(name, take, pause)
        return received

    def collect(self, name: str, number: int, pause: Pause = never) -> list[tuple[int, Any]]:
        """Receives ``number`` payloads, each with its cycle, in the list that it returns."""
        received: list[tuple[int, Any]] = []

        def take(transfer: Any) -> bool:
            received.append(transfer)
            return len(received) == number

        self.sink(name, take, pause)
        return received

    def run(self, limit: int) -> None:
        """Runs until all sinks have ended, or fails after ``limit`` cycles."""

        async def watch(ctx: Any) -> None:
            for _ in range(limit):
                if not self._pending:
                    return
                await ctx.tick()
            raise AssertionError(f"{self._pending} sinks still wait after {limit} cycles")

        self.simulator.add_testbench(watch)
        self.simulator.run()
