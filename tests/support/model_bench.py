"""The model of an engine between two memories, with a driver."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.sideband import Sideband
from cdma.sim.engine.driver import Driver, Mode, RingMemory
from cdma.sim.engine.memory import Memory
from cdma.sim.engine.model import EngineModel

from .c_driver_library import CDriver, built

__all__ = [
    "BACK",
    "CONFIGS",
    "DEV",
    "GUARD",
    "HOST",
    "OUT",
    "RINGS",
    "SIZE",
    "WINDOWS",
    "GuardedModel",
    "ModelBench",
    "stream_format",
    "tensor",
]

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
