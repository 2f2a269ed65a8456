"""A parameter is declared once, in its field: everything else reads the declaration."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest

from cdma.base.errors import ParameterError
from cdma.hdl.spec.settings import check_settings, own_settings, setting, settings_of, split_settings


@dataclass(frozen=True)
class _Lamp:
    power: int = setting(40, "watts", allowed=(25, 40, 60), why="bulbs that are sold")
    hours: int = setting(8, "a day", allowed=range(1, 25), why="a day has no more")
    colour: str = setting("white", "of the light", allowed=("white", "red"), metavar="NAME")
    dimmed: bool = setting(False, "with less light", engine=False)
    name: str = ""

    def __post_init__(self) -> None:
        check_settings(self)


def test_a_field_describes_its_parameter() -> None:
    assert [(each.name, each.default, each.kind) for each in settings_of(_Lamp)] == [
        ("power", 40, int),
        ("hours", 8, int),
        ("colour", "white", str),
        ("dimmed", False, bool),
    ]
    assert [each.metavar for each in settings_of(_Lamp)] == ["N", "N", "NAME", "N"]
    assert [each.name for each in settings_of(_Lamp) if not each.engine] == ["dimmed"]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"power": 100}, "power is 100; it must be one of 25, 40, 60: bulbs that are sold"),
        ({"power": "40"}, "power is '40'; it must be one of"),
        ({"power": 40.0}, "power is 40.0; it must be one of"),
        ({"hours": 0}, "hours is 0; it must be a whole number from 1 to 24: a day has no more"),
        ({"hours": 25}, "hours is 25"),
        ({"hours": True}, "hours is True"),
        ({"colour": "blue"}, "colour is 'blue'; it must be one of white, red"),
        ({"dimmed": 1}, "dimmed is 1; it must be true or false"),
    ],
)
def test_a_value_that_the_field_does_not_allow_is_refused(values: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=rf"^{re.escape(message)}"):
        _Lamp(**values)  # type: ignore[arg-type]
    assert _Lamp(hours=24, power=25).hours == 24


def test_settings_go_out_and_come_back() -> None:
    lamp = _Lamp(60, colour="red", name="mine")
    assert own_settings(lamp) == {"power": 60, "hours": 8, "colour": "red", "dimmed": False}
    own, rest = split_settings({**own_settings(lamp), "height": 3}, _Lamp)
    assert (_Lamp(**own, name="mine"), rest) == (lamp, {"height": 3})
