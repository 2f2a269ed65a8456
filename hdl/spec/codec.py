"""What one compressor or decompressor is generated from."""

from __future__ import annotations

from dataclasses import dataclass

from .checks import check_choice, check_flag
from .errors import ParameterError
from .format import Format

__all__ = ["CodecConfig"]


_LANES = (1, 2, 4, 8, 16, 32, 64)
#: Beats of a window of a pipelined codec, at least.
_PIPELINE_BEATS = 4


@dataclass(frozen=True)
class CodecConfig:
    """What one compressor or decompressor is generated from: a format and the shape of its datapath.

    ``lanes``
        Words of one bus beat: a power of two from 1 to 64, at most the window.
    ``runtime_values``
        The table of frequent values is an input port with ``2**code_bits - 1`` entries instead of constants;
        ``format.values`` then only says what a bench drives.
    ``pipelined``
        For FPGAs: more registers and memories, so that a cycle has time for wires. It takes some cycles more from the
        first beat in to the first beat out, and a window of at least four beats.
    """

    format: Format = Format()
    lanes: int = 8
    runtime_values: bool = False
    pipelined: bool = False

    def __post_init__(self) -> None:
        check_choice("lanes", self.lanes, _LANES, "a beat has a power of two of words, at most 64")
        check_flag("runtime_values", self.runtime_values)
        check_flag("pipelined", self.pipelined)
        if self.lanes > self.format.window:
            raise ParameterError(
                f"lanes is {self.lanes}; it must not exceed the window of {self.format.window} words, "
                "because a beat never spans two windows"
            )
        check_flag("runtime_values", self.runtime_values)
        check_flag("pipelined", self.pipelined)
        if self.pipelined and self.beats < _PIPELINE_BEATS:
            raise ParameterError(
                f"lanes is {self.lanes} with a window of {self.format.window} words; a pipelined codec needs windows of "
                f"at least {_PIPELINE_BEATS} beats, because it takes so many cycles from one header to the next"
            )

    @property
    def beats(self) -> int:
        """Beats of a whole window of raw words."""
        return self.format.window // self.lanes

    @property
    def data_bits(self) -> int:
        """Bits of one beat."""
        return self.lanes * self.format.word_bits

    @property
    def table_size(self) -> int:
        """Entries of the frequent-value table that the hardware compares with."""
        return self.format.literal_code if self.runtime_values else len(self.format.values)
