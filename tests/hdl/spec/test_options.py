"""Several queue pairs in a configuration: what they make of it, and what they do not go with. Sideband signals: which
values there are, and which ports they give. Lists of the pages of host memory, as plain data, and what an engine says
of them. A parameter is declared once, in its field: everything else reads the declaration.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest

from cdma.base.errors import ParameterError
from cdma.hdl.engine.pins import engine_ports
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.options import MOST_PAGED, Sideband, packed_pages, paged, units_of
from cdma.hdl.spec.settings import check_settings, own_settings, setting, settings_of, split_settings


def test_only_the_first_pair_knows_of_others() -> None:
    config = EngineConfig(channels=5)
    assert config.of_pair(0) == config
    assert config.of_pair(4) == EngineConfig()
    assert [EngineConfig(channels=count).register_address_bits for count in (1, 2, 5, 8)] == [12, 13, 15, 15]


def test_many_pairs_share_the_places_of_fetched_descriptors() -> None:
    assert [EngineConfig(channels=count).fetched for count in (1, 2, 3, 4, 5, 64)] == [8, 8, 4, 4, 4, 4]


def test_every_descriptor_costs_a_unit_at_least() -> None:
    assert [units_of(length) for length in (0, 1, 256, 257, 1 << 32)] == [1, 1, 1, 2, 1 << 24]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"channels": 65}, "channels is 65; it must be a whole number from 1 to 64"),
        ({"channels": 2, "registers": False}, "channels is 2 without registers; it must be 1"),
        (
            {"channels": 2, "memories_protect": "secded", "units": 2},
            "channels is 2, and memories_protect is secded, with 2 units; units must be 1",
        ),
    ],
)
def test_options_that_do_not_go_with_several_pairs_are_refused_with_the_reason(
    options: dict, says: str
) -> None:
    with pytest.raises(ParameterError, match=f"^{re.escape(says)}"):
        EngineConfig(**options)


def test_settings_come_back():
    config = EngineConfig(sideband=Sideband(ring_axcache=15, axprot=2, axuser_bits=5, axuser=9))
    assert config.settings()["ring_axcache"] == 15
    assert EngineConfig.from_settings(config.settings()) == config


@pytest.mark.parametrize("bits", [0, 1, 64])
@pytest.mark.parametrize("units", [1, 2])
def test_user_ports_are_as_wide_as_asked_for(bits, units):
    config = EngineConfig(units=units, sideband=Sideband(axuser_bits=bits))
    found = {port.name: port.width for port in engine_ports(config) if port.name.endswith("user")}
    names = [f"m_axi_{name}_{way}user" for name in (*config.dev_ports, "host") for way in ("aw", "ar")]
    assert found == (dict.fromkeys(names, bits) if bits else {})


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ({"dev_axcache": 4}, "dev_axcache is 4"),
        ({"ring_axcache": 16}, "ring_axcache is 16"),
        ({"axprot": 8}, "axprot is 8"),
        ({"axqos": -1}, "axqos is -1"),
        ({"axuser_bits": 65}, "axuser_bits is 65"),
        ({"axuser": 1}, "axuser is 1"),
        ({"axuser_bits": 3, "axuser": 8}, "axuser is 8"),
    ],
)
def test_values_that_axi4_does_not_have_are_refused(setting, says):
    with pytest.raises(ParameterError, match=says):
        EngineConfig.from_settings(setting)


def test_runs_of_pages_become_a_list() -> None:
    assert paged([(0x5F00, 16)]) == (0x5F00, 16, [])
    assert paged([(0x5F00, 0x2200)]) == (0x5F00, 0x2200, [0x6000, 0x7000, 0x8000])
    assert paged([(0x5F00, 0x100), (0x2000, 0x2000), (0x9000, 1)]) == (
        0x5F00,
        0x2101,
        [0x2000, 0x3000, 0x9000],
    )
    assert paged([(0x5FE0, MOST_PAGED)])[2][-1] == 0x5000 + MOST_PAGED
    assert packed_pages([0x1000, 1 << 40]) == bytes([0, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0])


@pytest.mark.parametrize(
    ("runs", "says"),
    [
        ([], "has no run of bytes"),
        ([(0x1000, 0)], "run 0 of a list of pages has 0 bytes"),
        ([(0x1000, 0x1000), (0x3010, 8)], "run 1 of a list of pages begins at 0x3010"),
        ([(0x1000, 0x800), (0x3000, 8)], "run 0 of a list of pages ends at 0x1800"),
        ([(0x1000, MOST_PAGED + 1)], "a list of pages has 2097153 bytes; at most 2097152"),
    ],
)
def test_runs_that_are_no_pages_say_why(runs: list, says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        paged(runs)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"registers": False}, "pages is on without registers; it must be off"),
        ({"host_address_bits": 21}, "pages is on, and host_address_bits is 21; it must be 22 at least"),
    ],
)
def test_an_engine_says_why_it_has_no_pages(options: dict, says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        EngineConfig(pages=True, **options)


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
