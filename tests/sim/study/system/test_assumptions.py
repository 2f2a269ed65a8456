"""Assumptions that a user changes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cdma.base.toml_table import TableError
from cdma.sim.study.system.assumptions import default_assumptions_path, load_assumptions
from tests.support.small_networks import BASE
from tests.support.toml_files import written


def test_assumptions_may_be_given_in_part(tmp_path: Path) -> None:
    assumptions = load_assumptions(Path(written(tmp_path, "[link]\nefficiency = 0.5\n")))
    assert assumptions.link.efficiency == 0.5
    assert assumptions.link.latency_us == BASE.link.latency_us
    assert replace(assumptions, link=BASE.link) == BASE
    assert load_assumptions(default_assumptions_path()) == BASE


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "[link]\nefficiency = 1.5",
            "link has efficiency = 1.5; it must be a finite number and more than 0 and at",
        ),
        ("[link]\nspeed = 1", "link has the unknown key 'speed'; it may have efficiency, latency_us"),
        ("[links]\nefficiency = 0.5", "has the unknown key 'links'; it may have codecs, compute"),
        ("[training]\nmoments = 0", "moments = 0; it must be a whole number, 1 or more"),
        ("[training]\noffload_input = 1", "offload_input = 1; it must be true or false"),
    ],
)
def test_refused_assumptions(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(TableError) as caught:
        load_assumptions(Path(written(tmp_path, text)))
    assert message in str(caught.value)
