"""``cdma study model``: rows, tables, files, traces and refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cdma.app import main
from cdma.study.real.record import recorded
from cdma.study.system.machine import default_assumptions_path
from cdma.study.system.policies import POLICIES
from tests.support.commands import Printed, Refused, Shown
from tests.support.documents import MACHINE, written

COLUMNS = {
    *("network", "machine", "policy", "algorithm", "ratio", "traffic_bytes", "step_s", "speedup_over_vdnn")
}


@pytest.fixture
def quick(tmp_path: Path) -> list[str]:
    """Options with which a model is quick to evaluate."""
    path = tmp_path / "quick.toml"
    path.write_text("[training]\nmoments = 1\n")
    return ["--assumptions", str(path), "--network", "alexnet"]


def test_json_rows(quick: list[str], shown: Shown) -> None:
    asked = ["--policy", "none", "cdma", "--link", "pcie3", "pcie4", "--json"]
    rows = json.loads(shown("study", "model", "step", *quick, *asked))
    assert len(rows) == 2 * (1 + 3)
    assert all(set(row) >= COLUMNS for row in rows)
    assert {row["verdict"]["action"] for row in rows} == {"do not offload"}
    assert rows[0]["verdict"]["changes_at"]["batch"]["action"] == "offload, compress in the engine"


def test_tables(quick: list[str], shown: Shown, printed: Printed) -> None:
    out = shown("study", "model", "step", *quick, "--batch", "8")
    assert all(policy in out for policy in POLICIES)
    assert "\nalexnet on titan_xp, batch 8: do not offload: it fits" in out
    assert "norm1" in shown("study", "model", "tensors", *quick, "--algorithm", "zv")
    policies = {row["policy"] for row in printed("study", "model", "step", *quick, "--algorithm", "rl")}
    assert policies == set(POLICIES) - {"vdnn++", "static", "cswap"}


def test_own_files(
    quick: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], printed: Printed
) -> None:
    network = tmp_path / "net.toml"
    network.write_text(
        'name = "[net]"\ninput = [3, 32, 32]\nbatch = 8\ndensities = "vgg"\nlayers = [\n'
        '{name = "a", kind = "conv", filters = 8, kernel = 3, relu = true},\n'
        '{name = "b", kind = "conv", filters = 8, kernel = 3},\n]\n'
    )
    machine = written(tmp_path, MACHINE)
    asked = ["--network", str(network), "--machine", machine, "--densities", "slides", "--policy", "cdma"]
    asked = ["study", "model", "step", *quick[:2], *asked, "--algorithm", "zv"]
    (row,) = printed(*asked)
    assert (row["network"], row["machine"]) == ("[net]", "mine")
    assert row["ratio"] == pytest.approx(1 / (1 / 32 + 0.49))
    network.write_text(network.read_text().replace('"vgg"', '"hand"'))
    (run,) = printed(*asked, "--densities", "recorded")
    first = next(tensor for tensor in recorded("hand").tensors if tensor.kind == "after a ReLU")
    assert run["ratio"] == pytest.approx(1 / (1 / 32 + first.density))
    assert main(asked) == 0
    assert "\n[net]    mine" in capsys.readouterr().out, "a name is no markup"


def test_names_and_assumptions_are_shown(shown: Shown) -> None:
    assert "vgg16" in shown("study", "model", "list", "--quiet")
    assert shown("study", "model", "assumptions", "--quiet") == default_assumptions_path().read_text()


def test_several_devices_and_links(
    quick: list[str], capsys: pytest.CaptureFixture[str], printed: Printed
) -> None:
    asked = ["study", "model", "several", *quick, "--devices", "1", "2", "--links", "1", "4"]
    rows = printed(*asked, "--policy", "cdma", "--algorithm", "zv")
    assert [(row["devices"], row["links"]) for row in rows] == [(1, 1), (1, 4), (2, 1), (2, 4)]
    assert all(row["bottleneck"] != row["next_bottleneck"] for row in rows)
    assert main(asked) == 0
    out = capsys.readouterr().out
    assert "vdnn_all" in out
    assert "host port" in out


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("step --network vgg", "network is 'vgg'"),
        ("step --machine mine", "machine is 'mine'"),
        ("step --link wire", "link is 'wire'"),
        ("step --batch 0", "batch is 0; it must be a whole number, 1 or more"),
        ("step --policy best", "policy is 'best'"),
        ("step --policy cdma --algorithm zv zip", "algorithm is 'zip'; it must be one of zv, rl"),
        ("step --algorithm zip", "algorithm is 'zip'; it must be one of zv, rl"),
        ("step --policy cswap --algorithm rl", "policy cswap is given with rl; it compresses with zv"),
        ("step --densities none.json", "cannot read none.json"),
        ("step --module math:sin", "module is given without input"),
        ("several --devices 0", "devices is 0; it must be from 1 to 64"),
        ("several --links 65", "links is 65; it must be from 1 to 64"),
        ("several --links 2 --policy vdnn++", "how several devices share these is not modelled"),
        ("several --links 2 --policy cswap --algorithm rl", "it compresses with zv only"),
    ],
)
def test_refused(asked: str, message: str, refused: Refused) -> None:
    (line,) = refused("study", "model", *asked.split()).splitlines()
    assert message in line
