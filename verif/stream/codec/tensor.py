"""Sends a whole tensor through a compressor or a decompressor, under Verilator, against the golden model."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from cdma.sim.codec.model import analyse
from cdma.sim.codec.words import words_of
from cdma.verif.simulator.run import run_test

from .design import CodecDesign

__all__ = ["TensorRun", "run_tensor"]


@dataclass(frozen=True)
class TensorRun:
    """What one block did with one tensor; every bit of its output was the model's."""

    block: str
    raw_bytes: int
    stream_bytes: int
    cycles: int
    in_beats: int
    out_beats: int

    @property
    def bytes_per_cycle(self) -> float:
        """Raw bytes per clock cycle, from the first beat in to the last beat out."""
        return self.raw_bytes / self.cycles


def run_tensor(
    design: CodecDesign,
    array: ArrayLike,
    *,
    verilog: str | None = None,
    trace: bool = False,
    short: bool = False,
) -> TensorRun:
    """Runs the tensor through the block as one packet; raises where any bit differs from the golden model.

    ``trace`` takes the build that can write waves, and ``short`` the one that is there sooner.
    """
    form = design.config.format
    words = words_of(array, form)
    with tempfile.TemporaryDirectory(prefix="cdma-") as directory:
        path = Path(directory) / "words.npy"
        np.save(path, words)
        module = "cdma.verif.stream.codec.tests.single"
        outcome = run_test(
            design, module, "tensor", verilog=verilog, trace=trace, short=short, words=str(path)
        )
    found = analyse(words, form)
    return TensorRun(design.block, found.words * form.word_bits // 8, found.compressed_bytes, **outcome.notes)
