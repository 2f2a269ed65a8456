"""The points of a sweep: every combination of the values of some parameters."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cdma.hdl.spec.codec import CodecConfig
from cdma.synth.asic.recipe import Options
from cdma.synth.errors import MeasureError

__all__ = ["AXES", "Point", "parse_axis", "points"]

_FORMAT_AXES = ("word_bits", "window", "code_bits")
_CODEC_AXES = ("lanes", "runtime_values", "pipelined")

#: What can be swept: the codec's parameters, and the clock period to size gates for.
AXES = (*_CODEC_AXES, *_FORMAT_AXES, "period")


@dataclass(frozen=True)
class Point:
    """One combination; ``reason`` says why it is invalid, and is empty if it is valid."""

    axes: dict[str, Any]
    config: CodecConfig
    options: Options
    reason: str = ""


def parse_axis(text: str) -> tuple[str, tuple[Any, ...]]:
    """Returns the name and the values of an axis such as ``lanes=2,4,8``."""
    name, _, values = text.partition("=")
    name = name.strip().replace("-", "_")
    if name not in AXES or not values.strip():
        raise MeasureError(
            f"the sweep {text!r} must be NAME=VALUE,VALUE… with one of the names {', '.join(AXES)}"
        )
    read: Callable[[str], Any]
    if name == "period":
        read = float
    elif name in ("runtime_values", "pipelined"):
        read = _boolean
    else:
        read = int
    try:
        result = tuple(read(value.strip()) for value in values.split(","))
    except (KeyError, ValueError):
        raise MeasureError(f"the sweep {text!r} has a value that {name} cannot have") from None
    if len(set(result)) != len(result):
        raise MeasureError(f"the sweep {text!r} has a value twice")
    return name, result


def _boolean(text: str) -> bool:
    return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}[text.lower()]


def points(base: CodecConfig, options: Options, axes: Mapping[str, Sequence[Any]]) -> Iterator[Point]:
    """Yields every combination of the values of the axes; other parameters are those of ``base`` and ``options``.

    An invalid combination, such as more lanes than the window has words, has its reason.
    """
    for values in itertools.product(*axes.values()):
        chosen = dict(zip(axes, values, strict=True))
        at = replace(options, target_ns=chosen["period"]) if "period" in chosen else options
        try:
            parameters = {name: value for name, value in chosen.items() if name != "period"}
            config = CodecConfig.from_settings(base.settings() | parameters)
        except ValueError as error:
            yield Point(chosen, base, at, str(error))
        else:
            yield Point(chosen, config, at)
