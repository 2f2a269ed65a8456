"""The papers' figures beside ours. Several devices on several links: the bounds, and what one device on one link has to
do with them.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from cdma.base.errors import ParameterError
from cdma.study.real.record import recorded, recorded_names
from cdma.study.system.density_table import load_densities
from cdma.study.system.figures import model_files
from cdma.study.system.headlines import CSWAP_MACHINES, CSWAP_POLICIES, Band, Span, best_ratio
from cdma.study.system.machine import load_assumptions, load_machine
from cdma.study.system.model import Model
from cdma.study.system.networks import load_network
from cdma.study.system.papers import comet_figures, pages, relus_of
from cdma.study.system.study import Several, compare, several, study
from tests.extras.study.small_networks import BASE, QUICK, RECORDED
from tests.support.paths import ROOT

RECORDS = [recorded(name) for name in recorded_names()]
MEASURED = comet_figures(RECORDS)


@pytest.fixture(scope="module")
def studied() -> Any:
    return study(QUICK, RECORDED, RECORDED)


@pytest.mark.slow
def test_figures_are_drawn_and_drawn_alike(studied: Any) -> None:
    comparisons = compare(studied, QUICK, MEASURED)
    found = {one.quantity: Band(one.ours, ()) for one in comparisons if one.paper in ("cdma", "cswap")}
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
    written = pages(studied, comparisons, found, RECORDS, load_densities())
    assert list(written) == [f"paper_{name}.md" for name in ("cdma", "vdnn", "cswap", "comet")]
    assert "| 1.4 … 1.7 |" in written["paper_cdma.md"]
    assert "| 16 of 38 | 18 | 20 |" in written["paper_cswap.md"]
    assert "theirs, quoted | ours, measured | why" in written["paper_comet.md"]
    for one in comparisons:
        assert (
            f"| {one.what} ({one.source}) | {one.theirs:g} | {one.ours:.3g} |"
            in written[f"paper_{one.paper}.md"]
        )
    for row in json.loads(files["model-headlines.json"]):
        assert row["least"] == row["ours"] == row["most"]
        assert row["rests_on"] == "recorded activations"
    for name, text in files.items():
        assert text.startswith({"svg": "<svg", "json": "["}[name.rpartition(".")[2]])
        assert not name.endswith(".svg") or f"({name})" in "".join(written.values())


def _model(network: str, machine: str) -> Model:
    return Model(load_network(network), load_machine(machine), BASE, RECORDED, RECORDED)


def test_the_pages_of_the_documents_are_what_a_run_makes() -> None:
    """Some rows of them, which are quick; the others come from the same run."""
    folder = ROOT / "docs/figures"
    texts = [
        folder.joinpath(f"paper_{name}.md").read_text(encoding="utf-8")
        for name in ("cdma", "vdnn", "cswap", "comet")
    ]
    page = "".join(texts)
    # The picture of several devices is that of another command.
    pictures = {file.name for file in folder.glob("model-*.svg")}
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
    assert f"| vgg19 | 16 of 38 | 18 | {len(last)} | {sum(last)} | " in page
    for record in RECORDS:
        density = relus_of(record)[0].density if relus_of(record) else None
        row = f"| {record.name} | measured, in use | {density:.2f} |" if density else ""
        assert row in page
    for quantity, value in MEASURED.items():
        assert f"{value:.3g}" in texts[3], quantity


def test_ours_come_out_of_the_densities_and_theirs_stay(studied: Any) -> None:
    ratio = {name: dict.fromkeys(by, 32.0) for name, by in studied.ratio_maximum.items()}
    here = compare(studied, QUICK, MEASURED)
    there = compare(replace(studied, ratio_maximum=ratio), QUICK, MEASURED)
    assert [one.theirs for one in here] == [one.theirs for one in there]
    moved = {one.quantity: two.ours for one, two in zip(here, there, strict=True) if one.ours != two.ours}
    assert moved == {"ratio_maximum": 32, "read_bandwidth_needed": pytest.approx(32 * 12.8)}
    assert all(one.ours != one.theirs and one.reason for one in here)


# One policy of each kind: no compression, by the engine map by map, by kernels.
_POLICIES = ("vdnn_all", "cdma_select", "static")


@cache
def model(machine: str = "titan_xp") -> Model:
    assumptions = load_assumptions(None)
    assumptions = replace(assumptions, training=replace(assumptions.training, moments=2))
    densities = load_densities()
    return Model(load_network("alexnet"), load_machine(machine), assumptions, densities, densities)


@cache
def step(policy: str, devices: int, links: int) -> Several:
    return several(model(), policy, "zv", devices, links)


@pytest.mark.parametrize("policy", [*_POLICIES, "none"])
def test_one_device_on_one_link_is_the_model(policy: str) -> None:
    one, known = several(model(), policy, "zv", 1, 1), model().evaluate(policy)
    assert one.step_s == pytest.approx(known.step_s, rel=1e-12)
    assert one.traffic_bytes == pytest.approx(known.traffic_bytes, rel=1e-12)
    assert one.efficiency == pytest.approx(known.compute_s / known.step_s)


def test_a_narrow_part_is_found() -> None:
    narrow = model().machine
    for part, machine in (
        ("host port", replace(narrow, engine=replace(narrow.engine, port_bytes_per_s=4e9))),
        ("crossbar", replace(narrow, gpu=replace(narrow.gpu, crossbar_bytes_per_s=4e9))),
        ("codec units", replace(narrow, engine=replace(narrow.engine, clock_hz=2e7, port_bytes_per_s=32e9))),
        ("device memory", narrow.with_read_bandwidth(1e10)),
    ):
        here = model()
        slow = Model(here.network, machine, here.planner.assumptions, load_densities())
        assert several(slow, "cdma", "zv", 1, 4).bottleneck == part


@pytest.mark.parametrize(
    ("policy", "devices", "links", "message"),
    [
        ("cdma", 0, 1, "devices is 0; it must be from 1 to 64"),
        ("cdma", 1, 65, "links is 65; it must be from 1 to 64"),
        ("vdnn++", 1, 1, "it compresses by the processors of the host"),
        ("zip", 1, 1, "policy is 'zip'"),
    ],
)
def test_refusals(policy: str, devices: int, links: int, message: str) -> None:
    with pytest.raises(ParameterError) as caught:
        several(model(), policy, "zv", devices, links)
    assert message in str(caught.value)
