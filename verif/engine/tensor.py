"""A whole tensor: one that software outside of a simulation moves, and the way of any through the engine under Verilator."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from cdma.base.errors import ParameterError
from cdma.hdl.spec.engine import EngineConfig
from cdma.sim.codec.model import compress_words
from cdma.sim.codec.words import word_dtype, words_of, words_to_bytes
from cdma.verif.simulator.simulate import run_test

from .design import EngineDesign

__all__ = ["MOST_BYTES", "RoundTrip", "round_trip", "sparse_tensor"]

#: The largest tensor that the simulated memories can hold.
MOST_BYTES = 1 << 21
#: Bytes of the sparse tensor, and the share of its words that are not zero.
_BYTES, _DENSITY = 12 << 10, 0.3


def sparse_tensor(config: EngineConfig) -> tuple[bytes, bytes]:
    """A sparse tensor, and its stream in mode zvc of an engine, by the golden model."""
    form, rng = config.codec.format, np.random.default_rng(1)
    dtype = word_dtype(form)
    count = _BYTES // dtype.itemsize
    words = rng.integers(1, 1 << min(form.word_bits, 31), count, dtype=np.uint32).astype(dtype)
    words[rng.random(count) >= _DENSITY] = 0
    return words_to_bytes(words), words_to_bytes(compress_words(words, form))


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
