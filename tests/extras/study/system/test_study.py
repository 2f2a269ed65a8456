"""The papers' figures beside ours."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from cdma.study.system.figures import model_files
from cdma.study.system.headlines import CSWAP_MACHINES, CSWAP_POLICIES, Band, Span, best_ratio
from cdma.study.system.machine import load_machine
from cdma.study.system.model import Model
from cdma.study.system.networks import load_network
from cdma.study.system.study import compare, study
from tests.extras.study.small_networks import BASE, QUICK, RECORDED
from tests.support.paths import ROOT


@pytest.fixture(scope="module")
def studied() -> Any:
    return study(QUICK, RECORDED, RECORDED)


@pytest.mark.slow
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


def _model(network: str, machine: str) -> Model:
    return Model(load_network(network), load_machine(machine), BASE, RECORDED, RECORDED)


def test_the_page_of_the_documents_is_what_a_run_makes() -> None:
    """Some rows of it, which are quick; the others come from the same run."""
    folder = ROOT / "docs/figures"
    page = (folder / "model.md").read_text(encoding="utf-8")
    # The picture of several devices is that of another command.
    pictures = {file.name for file in folder.glob("model-*.svg")} - {"model-several.svg"}
    assert set(re.findall(r"\]\((model-.*?\.svg)\)", page)) == pictures
    for name in ("alexnet", "nin"):
        one = _model(name, "titan_xp")
        mine, endless = one.evaluate("cdma"), one.evaluate("oracle")
        values = [mine.ratio, best_ratio(one, "zv"), mine.traffic_bytes / 1e9, mine.speedup_over_vdnn]
        (row,) = re.findall(rf"^\| {name} \| yes \|(.*)\|$", page, re.MULTILINE)
        found = [cell.strip() for cell in row.split("|")]
        assert [*found[:4], found[6]] == [f"{value:.2f}" for value in (*values, endless.speedup_over_vdnn)]
    card = _model("vgg19", "v100")
    last = card.situation("zv", 1 - 1 / BASE.kernels.epochs).kernel_decisions()
    assert f"| vgg19 | {len(last)} | {sum(last)} | " in page


def test_ours_come_out_of_the_densities_and_theirs_stay(studied: Any) -> None:
    ratio = {name: dict.fromkeys(by, 32.0) for name, by in studied.ratio_maximum.items()}
    here, there = compare(studied, QUICK), compare(replace(studied, ratio_maximum=ratio), QUICK)
    assert [one.theirs for one in here] == [one.theirs for one in there]
    moved = {one.quantity: two.ours for one, two in zip(here, there, strict=True) if one.ours != two.ours}
    assert moved == {"ratio_maximum": 32, "read_bandwidth_needed": pytest.approx(32 * 12.8)}
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
