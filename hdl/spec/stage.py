"""What one quantiser or dequantiser is generated from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from .checks import check_choice
from .quantisation import Quantisation

__all__ = ["STAGES", "StageConfig"]

#: The blocks of an error-bounded stage: towards the codec, and back.
STAGES = ("quantiser", "dequantiser")

_LANES = (1, 2, 4, 8, 16, 32, 64)


@dataclass(frozen=True)
class StageConfig:
    """What one quantiser or dequantiser is generated from: what becomes of a number, and how many come at once.

    ``form``
        The numbers and the integers.
    ``lanes``
        Numbers of one bus beat: a power of two from 1 to 64.
    """

    form: Quantisation = Quantisation()
    lanes: int = 8

    def __post_init__(self) -> None:
        check_choice("lanes", self.lanes, _LANES, "a beat has a power of two of numbers, at most 64")

    @property
    def number_bytes(self) -> int:
        """Bytes of one beat of numbers."""
        return self.lanes * self.form.number_type.bits // 8

    def settings(self) -> dict[str, Any]:
        """All parameters as plain values; :meth:`from_settings` reads them back."""
        return {**asdict(self.form), "lanes": self.lanes}

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> StageConfig:
        """The configuration that :meth:`settings` describes; what is left out has its default."""
        names = {field.name for field in fields(Quantisation)}
        form = Quantisation(**{name: value for name, value in settings.items() if name in names})
        return cls(form, **{name: value for name, value in settings.items() if name not in names})

    def describe(self) -> dict[str, object]:
        """The rows for the head of generated files, in the order in which one reads them."""
        rows: dict[str, object] = {
            "numbers": self.form.number,
            "integers": f"{self.form.bits} bits",
            "lanes": self.lanes,
        }
        return rows | ({"keep_nonzero": "yes"} if self.form.keep_nonzero else {})
