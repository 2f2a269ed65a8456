"""Parameters that are declared once: the field of a frozen dataclass says what it means and what it may be.

The command line, files of ``--config``, checks and reports read the fields. A check refuses a value with a message that
names the value, what is allowed and why.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from operator import index
from typing import Any

from cdma.base.errors import ParameterError


def is_int(value: object) -> bool:
    """Whether a value is a whole number; true and false are none."""
    return isinstance(value, int) and not isinstance(value, bool)


def check_choice(name: str, value: object, allowed: tuple[object, ...], why: str = "") -> None:
    """Refuses what is not one of the whole numbers or texts ``allowed``."""
    if isinstance(value, bool) or not isinstance(value, type(allowed[0])) or value not in allowed:
        choices, reason = ", ".join(map(str, allowed)), f": {why}" if why else ""
        raise ParameterError(f"{name} is {value!r}; it must be one of {choices}{reason}")


def check_flag(name: str, value: object) -> None:
    """Refuses what is neither true nor false."""
    if not isinstance(value, bool):
        raise ParameterError(f"{name} is {value!r}; it must be true or false")


def check_range(name: str, value: object, low: int, high: int, why: str) -> None:
    """Refuses what is not a whole number from ``low`` to ``high``, both included."""
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise ParameterError(f"{name} is {value!r}; it must be a whole number from {low} to {high}: {why}")


def word_count(words: object) -> int:
    """A number of words, whatever type of whole number it has; refuses what is not 0 or more."""
    try:
        count = -1 if isinstance(words, bool) else index(words)  # type: ignore[arg-type]
    except TypeError:
        count = -1
    if count < 0:
        raise ParameterError(f"words is {words!r}; it must be a whole number of words, 0 or more")
    return int(count)


_KEY = "setting"


@dataclass(frozen=True)
class Setting:
    """One parameter.

    ``name``: The name of the field; the option of the command line has hyphens instead of underscores.
    ``default``: Its default, whose type is that of all values: a whole number, a flag, a text, or a tuple of whole
        numbers.
    ``help``: What it means, in a phrase, without the default unless it says "the default".
    ``metavar``: What stands for a value in the help of the command line.
    ``engine``: Whether an engine takes it; what comes in at run time in an engine is no parameter of it.
    """

    name: str
    default: Any
    help: str
    metavar: str
    engine: bool

    @property
    def kind(self) -> type:
        """The type of the values."""
        return type(self.default)


@dataclass(frozen=True)
class _Declared:
    """What a field says of its parameter, and its values with the reason for them."""

    help: str
    metavar: str
    engine: bool
    allowed: tuple[object, ...] | range
    why: str


def setting(
    default: object,
    help: str,
    *,
    allowed: tuple[object, ...] | range = (),
    why: str = "",
    metavar: str = "N",
    engine: bool = True,
) -> Any:
    """The field of one parameter, which :class:`Setting` describes.

    ``allowed``: What it may be, as values or as a range of whole numbers; empty where the class itself checks it.
    ``why``: The reason for that, for the message of :func:`check_settings`.
    """
    return field(default=default, metadata={_KEY: _Declared(help, metavar, engine, allowed, why)})


def settings_of(kind: type) -> list[Setting]:
    """The parameters that a class declares, in the order of its fields."""
    found = []
    for each in fields(kind):
        if (limits := each.metadata.get(_KEY)) is not None:
            found.append(Setting(each.name, each.default, limits.help, limits.metavar, limits.engine))
    return found


def check_settings(config: Any) -> None:
    """Refuses a flag that is none, and a value that its declaration does not allow."""
    for each in fields(config):
        limits, value = each.metadata.get(_KEY), getattr(config, each.name)
        if limits is None:
            continue
        if isinstance(each.default, bool):
            check_flag(each.name, value)
        elif isinstance(limits.allowed, range):
            check_range(each.name, value, limits.allowed[0], limits.allowed[-1], limits.why)
        elif limits.allowed:
            check_choice(each.name, value, limits.allowed, limits.why)


def own_settings(config: Any) -> dict[str, Any]:
    """The parameters that an object's class declares, by name, without those of the objects within it."""
    return {each.name: getattr(config, each.name) for each in settings_of(type(config))}


def split_settings(settings: Mapping[str, Any], *kinds: type) -> list[dict[str, Any]]:
    """The settings that each of the classes declares, and last those that none does."""
    names = [{each.name for each in settings_of(kind)} for kind in kinds]
    parts = [{name: value for name, value in settings.items() if name in own} for own in names]
    known = set().union(*names)
    return [*parts, {name: value for name, value in settings.items() if name not in known}]
