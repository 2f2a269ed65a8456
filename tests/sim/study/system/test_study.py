"""The papers' figures beside ours."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

from cdma.base.toml_table import read_toml
from cdma.sim.study.system.assumptions import default_assumptions_path
from cdma.sim.study.system.figures import model_files
from cdma.sim.study.system.headlines import CSWAP_MACHINES, CSWAP_POLICIES, Band, Span
from cdma.sim.study.system.study import compare, study
from tests.support.small_networks import QUICK, RECORDED, flat


@pytest.fixture(scope="module")
def studied() -> Any:
    return study(QUICK, RECORDED, RECORDED)


def test_figures_are_drawn_and_drawn_alike(studied: Any) -> None:
    comparisons = compare(studied, QUICK)
    found = {one.quantity: Band(one.ours, ()) for one in comparisons}
    found |= {f"speedup/{name}": Band(1.5, (Span("link: x", False, 1.4, 1.7),)) for name in studied.speedup}
    for name in studied.cswap:
        for machine in CSWAP_MACHINES:
            found[f"gain/{machine}/{name}"] = Band(2.5, (Span("link: x", False, 2.25, 2.75),))
        for policy in CSWAP_POLICIES:
            found[f"step/{policy}/{name}"] = Band(0.8, (Span("link: x", False, 0.75, 0.85),))
    files = model_files(studied, comparisons, found)
    assert files == model_files(studied, comparisons, found)
    assert "<title>1.4 to 1.7</title>" in files["model-speedup.svg"]
    networks = len(studied.cswap)
    assert files["model-cswap-gain.svg"].count("<title>2.25 to 2.75</title>") == 2 * networks
    # A step of vDNN is 1, whatever is assumed.
    assert files["model-cswap-policies.svg"].count("<title>0.75 to 0.85</title>") == 3 * networks
    assert "| 1.4 … 1.7 |" in files["model.md"]
    for row in json.loads(files["model-headlines.json"]):
        assert row["least"] == row["ours"] == row["most"]
        assert row["rests_on"] == "recorded activations"
    for name, text in files.items():
        starts = {"svg": "<svg", "json": "[", "md": "# The papers' figures and ours"}
        assert text.startswith(starts[name.rpartition(".")[2]])
    for name in files:
        assert not name.endswith(".svg") or f"({name})" in files["model.md"]


def test_reference_figures_are_not_ours(studied: Any) -> None:
    """Ours come out of the densities: with others they are others, and theirs stay."""
    here = compare(studied, QUICK)
    there = compare(study(QUICK, flat(0.0), RECORDED), QUICK)
    assert [one.theirs for one in here] == [one.theirs for one in there]
    assert [one.what for one in there if one.what.startswith("compression ratio")]
    for one in there:
        if one.what.startswith("compression ratio, ZV, the tensor"):
            assert one.ours == pytest.approx(32)
    assert all(mine.ours != other.ours for mine, other in zip(here[:5], there[:5], strict=True))
    assert all(one.ours != one.theirs and one.reason for one in here)


def test_more_read_bandwidth_helps_until_the_link_is_full(studied: Any) -> None:
    for points in studied.provision.values():
        speeds = [speed for _, speed in points]
        assert all(after >= before * 0.999 for before, after in pairwise(speeds))
        assert speeds[-1] == pytest.approx(speeds[-2], rel=0.01)
    assert studied.provision["alexnet"][0][1] < studied.provision["alexnet"][-1][1]


def test_cswap_never_loses_much_and_leaves_maps_alone(studied: Any) -> None:
    for by_machine in studied.cswap.values():
        for rows in by_machine.values():
            assert rows["cswap"].step_s <= rows["static"].step_s * 1.01
    for choices in studied.choices.values():
        for choice in choices:
            assert choice.compressed + len(choice.left_alone) == choice.maps


def test_reference_table_is_read_strictly() -> None:
    table = read_toml(default_assumptions_path().with_name("paper.toml"))
    for row in table.rows("figure"):
        assert row.number("theirs", above=0)
        assert {row.text(key) for key in ("quantity", "what", "source", "reason")}
        row.done()
