"""Formats with a name, and what each is for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cdma.base.errors import ParameterError

__all__ = ["EXPONENTS", "PRESETS", "Preset", "preset_named"]

#: Exponents of bf16 and fp32 that serve numbers of magnitudes from 2^-7 to 2^-1, as trained weights and many activations
#: have; a table that is fitted to the data serves better.
EXPONENTS = (125, 124, 123, 122, 121, 120)


@dataclass(frozen=True)
class Preset:
    """A format that has a name.

    ``parameters``
        Those of the format that differ from their defaults.
    ``summary``
        What it is for, in a phrase.
    """

    parameters: Mapping[str, Any]
    summary: str


_EXPONENT = {"code_bits": 3, "values": EXPONENTS, "field_bits": 8, "rotate": 1, "zero": True}

#: Every preset by name, in the order in which people see them. A new preset is a line here.
PRESETS: dict[str, Preset] = {
    "zvc32": Preset({"word_bits": 32}, "sparse fp32 and int32: a mask bit per word"),
    "zvc16": Preset({"word_bits": 16}, "sparse fp16, bf16 and int16: a mask bit per word"),
    "zvc8": Preset({"word_bits": 8}, "sparse int8 and fp8: a mask bit per word"),
    "bf16": Preset(
        {"word_bits": 16, **_EXPONENT}, "bf16, sparse or dense: codes of zero and of six exponents"
    ),
    "fp32": Preset(
        {"word_bits": 32, **_EXPONENT}, "fp32, sparse or dense: codes of zero and of six exponents"
    ),
    "aie-ml": Preset({"word_bits": 8, "align": 4}, "the DMA of AMD's AIE-ML (Phoenix, npu1)"),
    "aie2p": Preset({"word_bits": 8, "window": 64, "align": 4}, "the DMA of AMD's AIE2P (Strix, npu2)"),
}


def preset_named(name: object) -> Preset:
    """The preset of that name."""
    if not isinstance(name, str) or name not in PRESETS:
        raise ParameterError(f"format is {name!r}; it must be one of {', '.join(PRESETS)}")
    return PRESETS[name]
