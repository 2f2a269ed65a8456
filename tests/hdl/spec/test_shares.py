"""Several queue pairs in a configuration: what they make of it, and what they do not go with."""

from __future__ import annotations

import re

import pytest

from cdma.base.errors import ParameterError
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.shares import units_of


def test_only_the_first_pair_knows_of_others() -> None:
    config = EngineConfig(channels=5)
    assert config.of_pair(0) == config
    assert config.of_pair(4) == EngineConfig()
    assert [EngineConfig(channels=count).register_address_bits for count in (1, 2, 5, 8)] == [12, 13, 15, 15]


def test_every_descriptor_costs_a_unit_at_least() -> None:
    assert [units_of(length) for length in (0, 1, 256, 257, 1 << 32)] == [1, 1, 1, 2, 1 << 24]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"channels": 9}, "channels is 9; it must be a whole number from 1 to 8"),
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
