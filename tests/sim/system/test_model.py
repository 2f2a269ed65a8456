"""The system model from end to end: rows, the papers' figures, machines, assumptions, and the command."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cdma.app import main
from cdma.hdl.spec.errors import ParameterError
from cdma.sim.support.toml_table import TableError, read_toml
from cdma.sim.system.assumptions import default_assumptions_path, load_assumptions
from cdma.sim.system.density_table import DensityTable, LayerRecord, bundled_densities, load_densities
from cdma.sim.system.figures import model_files
from cdma.sim.system.machine import link_names, load_link, load_machine, machine_names
from cdma.sim.system.model import Model, moments
from cdma.sim.system.networks import load_network
from cdma.sim.system.policies import POLICIES
from cdma.sim.system.study import compare, study
from cdma.sim.system.trace import trace_events

COLUMNS = {
    "network",
    "machine",
    "policy",
    "algorithm",
    "ratio",
    "traffic_bytes",
    "step_s",
    "speedup_over_vdnn",
}
BASE = load_assumptions()
QUICK = replace(
    BASE, training=replace(BASE.training, moments=2), kernels=replace(BASE.kernels, epochs=3, samples=40)
)
RECORDED = load_densities()


def flat(density: float) -> DensityTable:
    """Every layer at one density, always."""
    layer = LayerRecord("relu", "relu", np.array([0.0]), np.array([density]))
    return DensityTable("flat", {"vgg": [layer]}, "vgg")


def model(network: str = "vgg16", machine: str = "titan_xp", densities: DensityTable = RECORDED) -> Model:
    return Model(load_network(network), load_machine(machine), QUICK, densities, RECORDED)


# ------------------------------------------------------------------------------ rows


def test_rows_have_their_columns_and_add_up() -> None:
    rows = model("alexnet").evaluate_all(tuple(POLICIES), ("zv", "rl"))
    assert {row.policy for row in rows} == set(POLICIES)
    for row in rows:
        assert set(row.as_dict()) >= COLUMNS
        assert row.step_s >= row.compute_s * (1 - 1e-9)
        assert row.speedup_over_vdnn == pytest.approx(model("alexnet").vdnn_seconds / row.step_s)
    by_name = {(row.policy, row.algorithm): row for row in rows}
    vdnn, cdma = by_name["vdnn_all", "none"], by_name["cdma", "zv"]
    assert vdnn.speedup_over_vdnn == 1
    assert vdnn.traffic_bytes / cdma.traffic_bytes == pytest.approx(cdma.ratio)
    assert by_name["none", "none"].traffic_bytes == 0
    assert ("cdma", "rl") in by_name
    assert ("cswap", "rl") not in by_name


@pytest.mark.parametrize(("density", "ratio"), [(0.0, 32.0), (0.353, 2.6), (1.0, 32 / 33)])
def test_ratio_follows_from_density(density: float, ratio: float) -> None:
    """Of a network in which every map that is offloaded is behind a ReLU: 2.6 is the papers' 35.3 %."""
    assert model("vgg16", densities=flat(density)).evaluate("cdma").ratio == pytest.approx(ratio, rel=2e-3)


def test_sparser_is_never_slower_and_expansion_never_helps() -> None:
    times = [
        model("squeezenet", densities=flat(density)).evaluate("cdma").step_s for density in (0, 0.2, 0.6, 1)
    ]
    assert times == sorted(times)
    assert times[0] < times[-1]
    assert model("squeezenet", densities=flat(1.0)).evaluate("cdma").speedup_over_vdnn < 1


def test_faster_links_leave_less_to_win() -> None:
    machine = load_machine("titan_xp")
    network = load_network("squeezenet")
    rows = [
        Model(network, machine.with_link(load_link(name)), QUICK, RECORDED).evaluate("cdma")
        for name in ("pcie3", "pcie4", "pcie5")
    ]
    assert [row.machine for row in rows] == ["titan_xp/pcie3", "titan_xp/pcie4", "titan_xp/pcie5"]
    assert rows[0].step_s > rows[1].step_s > rows[2].step_s
    assert rows[0].speedup_over_vdnn > rows[2].speedup_over_vdnn


def test_it_fits_or_it_does_not() -> None:
    network = replace(load_network("vgg16"), batch=256)
    large = Model(network, load_machine("titan_xp"), QUICK, RECORDED)
    assert not large.evaluate("none").fits
    assert large.evaluate("none").peak_bytes > large.machine.gpu.memory_bytes
    assert Model(network, load_machine("a100"), QUICK, RECORDED).evaluate("none").fits


def test_moments_are_the_middles() -> None:
    assert moments(2) == [0.25, 0.75]


def test_unknown_policy_or_algorithm() -> None:
    with pytest.raises(ParameterError, match="policy is 'all'; it must be one of none, vdnn_all"):
        model().evaluate("all")
    with pytest.raises(ParameterError, match="algorithm is 'zip'; it must be one of zv, rl, zl, zl_hw"):
        model().evaluate("cdma", "zip")


def test_trace_has_every_task_and_the_memory() -> None:
    step = model().step("cdma", "zv", 0.5)
    events = trace_events(step)["traceEvents"]
    spans = [event for event in events if event["ph"] == "X"]
    assert len(spans) == len(step.tasks)
    assert max(event["ts"] + event["dur"] for event in spans) == pytest.approx(1e6 * step.seconds)
    assert max(event["args"]["bytes"] for event in events if event["ph"] == "C") == step.peak_bytes


# ------------------------------------------------------------------------------ the papers' figures


@pytest.fixture(scope="module")
def studied() -> Any:
    return study(QUICK, RECORDED, RECORDED)


def test_figures_are_drawn_and_drawn_alike(studied: Any) -> None:
    comparisons = compare(studied, 12.8e9)
    files = model_files(studied, comparisons)
    assert files == model_files(studied, comparisons)
    for name, text in files.items():
        assert text.startswith("<svg" if name.endswith(".svg") else "# The papers' figures and ours")
    for name in files:
        assert name == "model.md" or f"({name})" in files["model.md"]


def test_reference_figures_are_not_ours(studied: Any) -> None:
    """Ours come out of the densities: with others they are others, and theirs stay."""
    here = compare(studied, 12.8e9)
    there = compare(study(QUICK, flat(0.0), RECORDED), 12.8e9)
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
            assert choice.right >= 0.8 * choice.maps


# ------------------------------------------------------------------------------ tables that users write


MACHINE = """
name = "mine"
link = {name = "short", GBps = 40.0}
[gpu]
tflops = 10
dram_GBps = 500
memory_GiB = 8
[engine]
units = 4
lanes = 8
clock_GHz = 1.5
read_GBps = 100
buffer_KB = 20
latency_ns = 300
"""


def written(tmp_path: Path, text: str) -> str:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    return str(path)


def test_machine_of_ones_own(tmp_path: Path) -> None:
    machine = load_machine(written(tmp_path, MACHINE))
    assert machine.link.bytes_per_s == 40e9
    assert machine.engine.fetch_bytes_per_s == pytest.approx(20e3 / 300e-9)
    assert machine.with_read_bandwidth(200e9).engine.fetch_bytes_per_s == pytest.approx(200e9)


def test_bundled_machines_and_links() -> None:
    assert {load_machine(name).name for name in machine_names()} == set(machine_names())
    assert {load_link(name).name for name in link_names()} == set(link_names())
    # The papers' rule: a buffer of bandwidth times latency.
    assert load_machine("titan_x_maxwell").engine.fetch_bytes_per_s == pytest.approx(200e9)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("tflops = 10", "tflops = nan", "gpu has tflops = nan; it must be a finite number and more than 0"),
        ("tflops = 10", "tflops = -1", "gpu has tflops = -1"),
        ("tflops = 10", "", "gpu has no 'tflops', which it needs"),
        ("units = 4", "units = 0", "engine has units = 0; it must be a whole number, 1 or more"),
        ("lanes = 8", "lanes = 7", "lanes is 7; it must be one of 1, 2, 4"),
        ("latency_ns = 300", "latency_ns = -3", "latency_ns = -3; it must be a finite number and at least 0"),
        ("latency_ns = 300", "latncy_ns = 300", "engine has no 'latency_ns', which it needs"),
        ("units = 4", "units = 4\ncolour = 3", "engine has the unknown key 'colour'; it may have buffer_KB"),
        ('{name = "short", GBps = 40.0}', '"pcie9"', "link is 'pcie9'; it must be one of pcie3, pcie4"),
        ("GBps = 40.0", "GBps = inf", "link has GBps = inf; it must be a finite number"),
        ("[gpu]", "[cpu]", "has no 'gpu', which it needs"),
        ('name = "mine"', "name = 3", "has name = 3; it must be a text that is not empty"),
    ],
)
def test_refused_machines(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in MACHINE
    with pytest.raises(ParameterError if "lanes" in old else TableError) as caught:
        load_machine(written(tmp_path, MACHINE.replace(old, new)))
    assert message in str(caught.value)


def test_assumptions_may_be_given_in_part(tmp_path: Path) -> None:
    assumptions = load_assumptions(Path(written(tmp_path, "[link]\nefficiency = 0.5\n")))
    assert assumptions.link.efficiency == 0.5
    assert assumptions.link.latency_us == BASE.link.latency_us
    assert replace(assumptions, link=BASE.link) == BASE
    assert load_assumptions(default_assumptions_path()) == BASE


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty; it must be a TOML file with at least one key"),
        (
            "[link]\nefficiency = 1.5",
            "link has efficiency = 1.5; it must be a finite number and more than 0 and at",
        ),
        ("[link]\nefficiency = nan", "efficiency = nan"),
        ("[link]\nspeed = 1", "link has the unknown key 'speed'; it may have efficiency, latency_us"),
        ("[links]\nefficiency = 0.5", "has the unknown key 'links'; it may have codecs, compute"),
        ("[training]\nmoments = 0", "moments = 0; it must be a whole number, 1 or more"),
        ("[training]\noffload_input = 1", "offload_input = 1; it must be true or false"),
        ("link = 3", "link is 3; it must be a table"),
    ],
)
def test_refused_assumptions(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(TableError) as caught:
        load_assumptions(Path(written(tmp_path, text)))
    assert message in str(caught.value)


LAYER = {"name": "relu0", "kind": "relu", "progress": [0.0, 1.0], "density": [0.5, 0.25]}


@pytest.mark.parametrize(
    ("networks", "message"),
    [
        ({}, "has no network"),
        ({"vgg": {"layers": []}}, "has layers = []; it must be a list of at least one table"),
        ({"vgg": {"layers": [LAYER | {"kind": "conv"}]}}, "kind = 'conv'; it must be one of relu, fc, pool"),
        ({"vgg": {"layers": [LAYER | {"kind": "pool"}]}}, "has no layer of kind 'relu'"),
        ({"vgg": {"layers": [LAYER | {"density": [0.5]}]}}, "has 1 values of density and 2 of progress"),
        ({"vgg": {"layers": [LAYER | {"density": [0.5, 1.5]}]}}, "has a density of 1.5"),
        ({"vgg": {"layers": [LAYER | {"density": [0.5, float("nan")]}]}}, "entry 2 = nan"),
        ({"vgg": {"layers": [LAYER | {"progress": [1.0, 0.0]}]}}, "it must rise and stay within 0 and 1"),
        ({"vgg": {"layers": [LAYER | {"ratio": {"zv": [0.0, 1.0]}}]}}, "has zv with a ratio of 0"),
    ],
)
def test_refused_densities(tmp_path: Path, networks: dict[str, Any], message: str) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({"networks": networks}))
    with pytest.raises(TableError) as caught:
        load_densities(path)
    assert message in str(caught.value)


def test_densities_are_interpolated() -> None:
    table = DensityTable(
        "here",
        {
            "vgg": [
                LayerRecord("a", "relu", np.array([0.0, 1.0]), np.array([0.5, 0.3])),
                LayerRecord("p", "pool", np.array([0.0]), np.array([0.9])),
                LayerRecord("b", "relu", np.array([0.0, 1.0]), np.array([0.1, 0.1])),
            ]
        },
    )
    assert table.look_up("vgg", "relu", 0.0, 0.5) == pytest.approx(0.4)
    assert table.look_up("vgg", "relu", 0.25, 0.5) == pytest.approx(0.325)
    assert table.look_up("vgg", "pool", 0.7, 0.5) == 0.9
    assert table.look_up("vgg", "fc", 1.0, 0.0) == pytest.approx(0.1)
    with pytest.raises(TableError, match="here has no densities of 'alexnet'; it has vgg"):
        table.look_up("alexnet", "relu", 0, 0)
    with pytest.raises(TableError, match="here has no ratio of 'zl'; record it, or choose another algorithm"):
        table.line("zl")


def test_slides_stand_for_every_network() -> None:
    slides = load_densities(bundled_densities()["slides"])
    assert "slides" in slides.source
    assert slides.look_up("resnet", "relu", 0.0, 0.3) == 0.49
    assert slides.look_up("vgg", "pool", 1.0, 0.9) == 0.31


# ------------------------------------------------------------------------------ the command


@pytest.fixture
def quick(tmp_path: Path) -> list[str]:
    path = tmp_path / "quick.toml"
    path.write_text("[training]\nmoments = 1\n")
    return ["model", "--assumptions", str(path)]


def test_json_rows(quick: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--network", "alexnet", "--policy", "none", "cdma", "--link", "pcie3", "pcie4", "--json"]
    assert main([*quick, *asked]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert len(rows) == 2 * (1 + 3)
    assert all(set(row) >= COLUMNS for row in rows)


def test_tables(quick: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*quick, "--network", "alexnet", "--batch", "8"]) == 0
    out = capsys.readouterr().out
    assert all(policy in out for policy in POLICIES)
    assert main([*quick, "--network", "alexnet", "--tensors", "--algorithm", "zv"]) == 0
    assert "norm1" in capsys.readouterr().out
    assert main([*quick, "--network", "alexnet", "--algorithm", "rl", "--json"]) == 0
    policies = {row["policy"] for row in json.loads(capsys.readouterr().out)}
    assert policies == set(POLICIES) - {"vdnn++", "static", "cswap"}


def test_own_files(quick: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    network = tmp_path / "net.toml"
    network.write_text(
        'name = "net"\ninput = [3, 32, 32]\nbatch = 8\ndensities = "vgg"\nlayers = [\n'
        '{name = "a", kind = "conv", filters = 8, kernel = 3, relu = true},\n'
        '{name = "b", kind = "conv", filters = 8, kernel = 3},\n]\n'
    )
    machine = written(tmp_path, MACHINE)
    asked = ["--network", str(network), "--machine", machine, "--densities", "slides", "--json"]
    assert main([*quick, *asked, "--policy", "cdma", "--algorithm", "zv"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["network"], row["machine"]) == ("net", "mine")
    assert row["ratio"] == pytest.approx(1 / (1 / 32 + 0.49))


def test_trace_file(quick: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "deep" / "trace.json"
    asked = [*quick, "--network", "alexnet", "--trace", str(path)]
    assert main([*asked, "--policy", "cdma"]) == 0
    assert json.loads(path.read_text())["traceEvents"]
    assert main(asked) == 2
    assert "--trace is given with 1 pairs of network and machine and 0 policies" in capsys.readouterr().err


def test_what_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["model", "--list"]) == 0
    assert "vgg16" in capsys.readouterr().out
    assert main(["model", "--show-assumptions"]) == 0
    assert capsys.readouterr().out == default_assumptions_path().read_text()


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (["--network", "vgg"], "network is 'vgg'"),
        (["--machine", "mine"], "machine is 'mine'"),
        (["--link", "wire"], "link is 'wire'"),
        (["--batch", "0"], "batch is 0; it must be a whole number, 1 or more"),
        (["--policy", "best"], "policy is 'best'"),
        (["--policy", "cdma", "--algorithm", "zv", "zip"], "algorithm is 'zip'; it must be one of zv, rl"),
        (["--algorithm", "zip"], "algorithm is 'zip'; it must be one of zv, rl"),
        (
            ["--policy", "cswap", "--algorithm", "rl"],
            "policy cswap is given with rl; it compresses with zv",
        ),
        (["--densities", "none.json"], "cannot read none.json"),
    ],
)
def test_refused_on_the_command_line(
    asked: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["model", *asked]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert "Traceback" not in err


def test_nothing_to_offload_is_told(tmp_path: Path) -> None:
    path = tmp_path / "net.toml"
    path.write_text(
        'name = "net"\ninput = [3, 8, 8]\nbatch = 8\nlayers = [{name = "a", kind = "fc", units = 8}]\n'
    )
    with pytest.raises(ParameterError, match="network net has no feature map that is kept"):
        Model(load_network(str(path)), load_machine("v100"), QUICK, RECORDED)


def test_reference_table_is_read_strictly() -> None:
    table = read_toml(default_assumptions_path().with_name("paper.toml"))
    for row in table.rows("figure"):
        assert row.number("theirs", above=0)
        assert {row.text(key) for key in ("quantity", "what", "source", "reason")}
        row.done()
