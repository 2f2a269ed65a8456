"""The model of an engine between two memories, with a driver. Sources and sinks for streams in Amaranth's own simulator,
with pauses; they note the cycle of every transfer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from amaranth.hdl import Elaboratable
from amaranth.sim import Simulator

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.options import Sideband
from cdma.sim.engine.driver import Driver, Mode, RingMemory
from cdma.sim.engine.memory import Memory
from cdma.sim.engine.model import EngineModel

from .c_driver_library import CDriver, built
from .stimuli import Pause, never

FVC = EngineConfig(
    format=Format(word_bits=16, code_bits=2, values=(0, 7)),
    dev_data_bits=128,
    host_data_bits=64,
    burst_beats=4,
    dev_address_bits=40,
    host_address_bits=34,
    ring_entries=16,
)
#: Codes of a field, padding, a CRC, and an error-bounded stage.
FIELDS = EngineConfig(
    format=Format(16, 32, 3, (127, 126), field_bits=8, rotate=1, zero=True, align=4),
    ring_entries=16,
    crc=True,
    lossy="fp32",
    keep_nonzero=True,
    sideband=Sideband(axuser_bits=5),
    sideband_registers=True,
    register_protection="secure",
    memories_protect="secded",
)
#: The engines that the driver is tried on.
CONFIGS = {"default": EngineConfig(ring_entries=16), "fvc": FVC, "fields": FIELDS}

#: Where the memories are, and where transfers write in them.
DEV = 0x1000_0000
HOST = 0x2_0000_0000
OUT = HOST + 0x8000
BACK = DEV + 0x8000
SIZE = 1 << 16
#: Both memories, as drivers open them.
WINDOWS = {"dev": (DEV, DEV + SIZE - 1), "host": (HOST, HOST + SIZE - 1)}
#: Bytes of both rings of a channel.
RINGS = 8192
#: What memory holds where nobody has written.
GUARD = 0xA5


class GuardedModel:
    """A model of an engine between two memories full of guard bytes."""

    def __init__(self, config: EngineConfig) -> None:
        self.config = config
        self.dev_bytes = bytearray([GUARD]) * SIZE
        self.host_bytes = bytearray([GUARD]) * SIZE
        self.dev, self.host = Memory(self.dev_bytes, DEV), Memory(self.host_bytes, HOST)
        self.model = EngineModel(config, self.dev, self.host)
        self.irq_waits = 0

    def wait_irq(self, timeout: object) -> None:
        """Steps until the interrupt is asserted."""
        self.irq_waits += 1
        for _ in range(1000):
            if self.model.irq:
                return
            self.model.step()

    def peek(self, memory: Memory, address: int, count: int) -> bytes:
        """Bytes of a memory."""
        return bytes(memory.buffer[address - memory.base : address - memory.base + count])


class ModelBench(GuardedModel):
    """A model with a driver on it: that in Python, or that in C, which has the same methods here."""

    def __init__(
        self, config: EngineConfig, driver: str = "python", windows: Mapping[str, tuple[int, int]] = WINDOWS
    ) -> None:
        super().__init__(config)
        make = Driver if driver == "python" else partial(CDriver, built())
        self.driver: Any = make(self.model, windows=windows, idle=self.model.step, wait_irq=self.wait_irq)
        self.rings = {
            "offload": RingMemory(HOST, memoryview(self.host_bytes)[:RINGS]),
            "prefetch": RingMemory(HOST + RINGS, memoryview(self.host_bytes)[RINGS : 2 * RINGS]),
        }

    def start(self, entries: int = 4, **options) -> None:
        """Starts both channels with rings."""
        self.driver.offload.start(self.rings["offload"], entries, **options)
        self.driver.prefetch.start(self.rings["prefetch"], entries, **options)


def tensor(config: EngineConfig, words: int, seed: int = 1) -> bytes:
    """Words of which about half are 0."""
    rng = np.random.default_rng(seed)
    values = rng.integers(1, 200, words) * (rng.random(words) < 0.5)
    return values.astype(f"u{config.format.word_bits // 8}").tobytes()


def stream_format(config: EngineConfig, mode: Mode) -> Format:
    """The format of the streams of a mode, with the table of the configuration."""
    form = config.format
    return form if mode is Mode.FVC else form.with_table((0,))


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
