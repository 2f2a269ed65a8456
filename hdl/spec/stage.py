"""What one quantiser or dequantiser is generated from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .quantisation import Quantisation
from .settings import check_settings, own_settings, setting, split_settings

__all__ = ["STAGES", "StageConfig"]

#: The blocks of an error-bounded stage: towards the codec, and back.
STAGES = ("quantiser", "dequantiser")


@dataclass(frozen=True)
class StageConfig:
    """What one quantiser or dequantiser is generated from: what becomes of a number, and how many come at once.

    ``form``
        The numbers and the integers.
    """

    form: Quantisation = Quantisation()
    lanes: int = setting(
        8,
        "numbers of one beat: a power of two, 1 to 64",
        allowed=(1, 2, 4, 8, 16, 32, 64),
        why="a beat has a power of two of numbers, at most 64",
    )

    def __post_init__(self) -> None:
        check_settings(self)

    @property
    def number_bytes(self) -> int:
        """Bytes of one beat of numbers."""
        return self.lanes * self.form.number_type.bits // 8

    def settings(self) -> dict[str, Any]:
        """All parameters as plain values; :meth:`from_settings` reads them back."""
        return own_settings(self.form) | own_settings(self)

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> StageConfig:
        """The configuration that :meth:`settings` describes; what is left out has its default."""
        form, rest = split_settings(settings, Quantisation)
        return cls(Quantisation(**form), **rest)

    def describe(self) -> dict[str, object]:
        """The rows for the head of generated files, in the order in which one reads them."""
        rows: dict[str, object] = {
            "numbers": self.form.number,
            "integers": f"{self.form.bits} bits",
            "lanes": self.lanes,
        }
        return rows | ({"keep_nonzero": "yes"} if self.form.keep_nonzero else {})
