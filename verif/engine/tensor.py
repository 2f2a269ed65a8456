"""Sends a whole tensor through the engine, to host memory and back, under Verilator."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from cdma.base.errors import ParameterError
from cdma.sim.codec.words import words_of
from cdma.verif.simulator.run import run_test

from .design import EngineDesign

__all__ = ["MOST_BYTES", "RoundTrip", "round_trip"]

#: The largest tensor that the simulated memories can hold.
MOST_BYTES = 1 << 21


@dataclass(frozen=True)
class RoundTrip:
    """An offload and a prefetch of one tensor; the stream was the model's, and what came back the tensor."""

    raw_bytes: int
    stream_bytes: int
    offload_cycles: int
    prefetch_cycles: int

    @property
    def ratio(self) -> float:
        """Raw bytes per byte in host memory."""
        return self.raw_bytes / self.stream_bytes


def round_trip(
    design: EngineDesign, array: ArrayLike, *, verilog: str | None = None, short: bool = False
) -> RoundTrip:
    """Offloads the tensor and prefetches it from there to another address; raises where a bit differs.

    ``short`` takes the build that is there sooner.
    """
    words = words_of(array, design.config.format)
    if not 0 < words.nbytes <= MOST_BYTES:
        raise ParameterError(f"the tensor has {words.nbytes} bytes; it must have 1 to {MOST_BYTES} here")
    with tempfile.TemporaryDirectory(prefix="cdma-") as directory:
        path = Path(directory) / "words.npy"
        np.save(path, words)
        module = "cdma.verif.engine.measure_tests"
        outcome = run_test(design, module, "round_trip", verilog=verilog, short=short, words=str(path))
    return RoundTrip(raw_bytes=words.nbytes, **outcome.notes)
