"""What the regression must know of a codec: words to send, faults that it notices, and how many cycles it may take."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cdma.hdl.spec.codec import CodecConfig, codec_of
from cdma.hdl.spec.options import has_slices
from cdma.sim.codec.words import Words

__all__ = ["CodecBench", "Limits", "bench_of", "limits_of"]


@dataclass(frozen=True)
class Limits:
    """The performance contract of one block, in cycles; ``docs/verification.md`` explains it.

    ``constant``
        Allowed beyond the sum over a packet's windows.
    ``latency``
        Allowed from the first beat in to the first beat out of a dense window.
    ``back_to_back``
        Allowed for a packet beyond its own sum when it follows another without a gap.
    ``least_window``
        The words that a window counts as at least, however short it is.
    ``whole_beats``
        A window of more stream words than raw words counts whole beats, unless it and the window before have nothing but
        literals.
    ``each_window``
        Allowed for each window beyond the sum, with the same exception.
    ``exact``
        A packet that is alone takes just the cycles allowed, and no fewer.
    """

    constant: int
    latency: int
    back_to_back: int = 1
    least_window: int = 1
    whole_beats: bool = False
    each_window: int = 0
    exact: bool = False


class CodecBench(ABC):
    """One for each codec, named by its description in :mod:`cdma.hdl.spec.codec`."""

    #: The errors of reports that damaged streams must bring up, as :mod:`cdma.sim.codec.model` numbers them; beside
    #: those of padding, where a format has it.
    errors: frozenset[int]

    @abstractmethod
    def fill(self, rng: np.random.Generator, literal: NDArray[np.bool_], config: CodecConfig) -> Words:
        """Words that the stream stores just where ``literal`` says, as far as the codec leaves words out."""

    def fill_covered(
        self,
        rng: np.random.Generator,
        literal: NDArray[np.bool_],
        zeros: NDArray[np.bool_],
        config: CodecConfig,
    ) -> Words:
        """Words of a format with a field: ``literal`` and ``zeros`` say which are literals and which are zero."""
        raise NotImplementedError("the codec has no fields")

    @abstractmethod
    def limits(self, config: CodecConfig, block: str) -> Limits:
        """The contract of the ``compressor`` or ``decompressor`` of ``config``, without register slices."""


def bench_of(config: CodecConfig) -> CodecBench:
    """The bench of the codec that a configuration is for."""
    bench: CodecBench = codec_of(config.format).load("bench")
    return bench


def limits_of(config: CodecConfig, block: str) -> Limits:
    """The contract of a block with its register slices, each of which keeps a beat for a cycle.

    A decompressor takes no beat before its length. A slice does, so that the cycle in which a length comes counts.
    """
    limits = bench_of(config).limits(config, block)
    slices = sum(has_slices(config.register_slices, direction) for direction in ("in", "out"))
    exact = block == "decompressor" and not config.work_conserving
    before_length = exact and has_slices(config.register_slices, "in")
    return replace(
        limits,
        constant=limits.constant + slices + before_length,
        latency=limits.latency + slices + before_length,
    )
