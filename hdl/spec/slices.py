"""Register slices at the ports of a block, a parameter that codecs and engines share."""

from __future__ import annotations

from typing import Any

from cdma.base.errors import ParameterError

from .settings import setting

__all__ = ["NO_SLICES", "check_slices", "has_slices", "slices_row", "slices_setting"]

NO_SLICES = "none"
_CHOICES = (NO_SLICES, "in", "out", "in,out")


def slices_setting() -> Any:
    """The field of the parameter."""
    return setting(
        NO_SLICES,
        "handshakes with a register slice, by the direction of their data: none (the default), in, out, or in,out, after "
        "which no combinational path crosses the block",
        metavar="PORTS",
    )


def check_slices(value: object) -> None:
    """Refuses what names no ports."""
    if value not in _CHOICES:
        raise ParameterError(
            f"register_slices is {value!r}; it must be {', '.join(map(repr, _CHOICES[:-1]))} or {_CHOICES[-1]!r}: "
            "the handshakes that get a slice, by the direction of their data"
        )


def has_slices(value: str, direction: str) -> bool:
    """Whether the handshakes whose data go ``in`` or ``out`` have a slice."""
    return direction in value.split(",")


def slices_row(value: str) -> dict[str, object]:
    """The row for the head of generated files."""
    return {} if value == NO_SLICES else {"register slices": value}
