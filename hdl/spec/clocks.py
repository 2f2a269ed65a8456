"""Which parts of an engine have a clock of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cdma.base.errors import ParameterError

from .settings import setting

__all__ = [
    "ACLK",
    "NO_CLOCKS",
    "PARTS",
    "Clocks",
    "check_clocks",
    "clocks_setting",
    "need_one_clock",
    "reset_of",
]

NO_CLOCKS = "none"
#: The clock of what has none of its own.
ACLK = "aclk"
#: What may have a clock of its own, and the port of that.
PARTS = {"device": "dev_aclk", "host": "host_aclk", "registers": "s_axil_aclk"}


@dataclass(frozen=True)
class Clocks:
    """The clocks of an engine: ``core`` is that of the device ports, the codecs and all that is not at another port."""

    core: str = ACLK
    host: str = ACLK
    registers: str = ACLK

    @classmethod
    def of(cls, value: str) -> Clocks:
        """Those that the parameter names."""
        named = value.split(",")
        return cls(*(clock if part in named else ACLK for part, clock in PARTS.items()))

    @property
    def host_crosses(self) -> bool:
        """Whether the host port has another clock than the core."""
        return self.host != self.core

    @property
    def registers_cross(self) -> bool:
        """Whether the registers have another clock than the core."""
        return self.registers != self.core


def reset_of(clock: str) -> str:
    """The port of the reset that is synchronous to a clock."""
    return clock.replace("aclk", "aresetn")


def need_one_clock(config: object, what: str) -> None:
    """Refuses an engine with several clocks for what drives one."""
    if (value := getattr(config, "clocks", NO_CLOCKS)) != NO_CLOCKS:
        raise ParameterError(
            f"clocks is {value!r}; it must be {NO_CLOCKS!r} for {what}, which drives one clock"
        )


def clocks_setting() -> Any:
    """The field of the parameter."""
    return setting(
        NO_CLOCKS,
        f"parts with a clock and a reset of their own: {NO_CLOCKS} (the default), or any of {', '.join(PARTS)}, with commas "
        "between them",
        metavar="PARTS",
    )


def check_clocks(value: object) -> None:
    """Refuses what names no parts."""
    named = value.split(",") if isinstance(value, str) else []
    if value != NO_CLOCKS and named != [part for part in PARTS if part in named]:
        raise ParameterError(
            f"clocks is {value!r}; it must be {NO_CLOCKS!r}, or some of {','.join(PARTS)} in this order, which are what "
            "may have a clock of its own"
        )
