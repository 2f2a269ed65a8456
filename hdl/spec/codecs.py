"""The codecs that there are, and what describes one: everything else takes a codec from its description."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

from cdma.base.errors import ParameterError

from .stream_format import StreamFormat

__all__ = ["BLOCKS", "CODECS", "DEFAULT", "Codec", "Shape", "codec_named", "codec_of"]

#: The two blocks of a codec.
BLOCKS = ("compressor", "decompressor")

#: The codec where none is named.
DEFAULT = "frequent-value"

#: Codecs of a user's own, which need no change of this package: ``name=module:attribute``, separated by commas.
VARIABLE = "CDMA_CODECS"


def _of_the_user(text: str) -> dict[str, str]:
    """The codecs that the environment names."""
    lines = {}
    for line in filter(None, text.split(",")):
        name, equals, reference = line.partition("=")
        if not equals or ":" not in reference:
            raise ParameterError(
                f"{VARIABLE} has {line!r}; it must be name=module:attribute, separated by commas"
            )
        lines[name.strip()] = reference.strip()
    return lines


#: Each codec by name: the module and the name of its :class:`Codec`. A new codec is a line here.
CODECS: dict[str, str] = {
    DEFAULT: "cdma.hdl.spec.frequent_value:CODEC",
    **_of_the_user(os.environ.get(VARIABLE, "")),
}


class Shape(Protocol):
    """What the hardware of a codec is to be built for. A :class:`~cdma.hdl.spec.codec.CodecConfig` is one."""

    @property
    def format(self) -> StreamFormat: ...

    @property
    def lanes(self) -> int: ...

    @property
    def beats(self) -> int: ...

    @property
    def units(self) -> int: ...

    @property
    def header_reads(self) -> int: ...

    @property
    def runtime_values(self) -> bool: ...

    @property
    def pipelined(self) -> bool: ...


@dataclass(frozen=True)
class Codec:
    """One codec: its format, its hardware, its model, and what its tests need to know.

    What stands above plain data is named as ``module:name`` and loaded where it is needed: software loads no
    hardware, and hardware no model.

    ``name``
        The name in :data:`CODECS`.
    ``summary``
        What it does, in a phrase.
    ``format``
        The class of its formats, whose :func:`~.settings.setting` fields the command line offers.
    ``runtime_table``
        Whether its hardware can take its table on a port. An engine then has a table per channel.
    ``pipelined``
        Whether its hardware can be built for FPGAs.
    ``small_queue``
        Whether its codecs can be built smaller, with a queue of less than two beats.
    ``check``
        Refuses a :class:`Shape` that the hardware cannot be built for.
    ``compressor``, ``decompressor``
        Components made from a :class:`~cdma.hdl.spec.codec.CodecConfig`, with the ports of
        ``cdma.hdl.codec.parts.interface``. Each packet has one report: the words that came in and went out, the
        literals and an error, in packet order.
    ``model``
        The :class:`cdma.sim.codec.codec_model.CodecModel` that its hardware must agree with.
    ``bench``
        The :class:`cdma.verif.stream.codec.codec_bench.CodecBench` of its regression: stimuli and limits.
    """

    name: str
    summary: str
    format: type[StreamFormat]
    runtime_table: bool
    pipelined: bool
    small_queue: bool
    check: Callable[[Shape], None]
    compressor: str
    decompressor: str
    model: str
    bench: str

    def load(self, part: str) -> Any:
        """What the field ``part`` names: the class or object itself."""
        return _load(getattr(self, part))


def _load(reference: str) -> Any:
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)


def codec_named(name: object) -> Codec:
    """The codec of that name in :data:`CODECS`."""
    if not isinstance(name, str) or name not in CODECS:
        raise ParameterError(f"codec is {name!r}; it must be one of {', '.join(CODECS)}")
    codec: Codec = _load(CODECS[name])
    return codec


def codec_of(format: StreamFormat) -> Codec:
    """The codec that a format belongs to."""
    return codec_named(format.codec)
