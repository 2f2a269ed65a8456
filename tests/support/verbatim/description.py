"""The codec described: its format, and where its other parts are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cdma.hdl.spec.codec import Codec, CodecConfig
from cdma.hdl.spec.format import StreamFormat
from cdma.hdl.spec.settings import check_choice, check_settings, setting

#: The line of the list of codecs: the name, and where the description is.
LINE = {"verbatim": "tests.support.verbatim.description:CODEC"}


@dataclass(frozen=True)
class Verbatim(StreamFormat):
    """The words of a packet, one after the other, without headers."""

    codec: ClassVar[str] = "verbatim"

    word_bits: int = setting(32, "bits of a word: 8, 16 or 32", allowed=(8, 16, 32), why="memory has bytes")
    window: int = 32

    def __post_init__(self) -> None:
        check_settings(self)
        check_choice(
            "window", self.window, (32, 64), "the bench sends packets of so many words and of parts of it"
        )


def _check(config: CodecConfig) -> None:
    """Every number of lanes will do."""


CODEC = Codec(
    name="verbatim",
    summary="every word is sent as it is",
    format=Verbatim,
    runtime_table=False,
    pipelined=False,
    small_queue=False,
    check=_check,
    compressor="tests.support.verbatim.hardware:VerbatimCompressor",
    decompressor="tests.support.verbatim.hardware:VerbatimDecompressor",
    model="tests.support.verbatim.model:MODEL",
    bench="tests.support.verbatim.bench:BENCH",
)
