"""The rows of the system model, those of ``rows.json`` among them: ``python -m tests.extras.study.system.test_model`` writes
these anew.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cdma.base.errors import ParameterError
from cdma.study.system.density_table import with_run, with_transformer
from cdma.study.system.machine import Link, load_machine
from cdma.study.system.model import Model
from cdma.study.system.networks import load_network
from cdma.study.system.policies import POLICIES
from cdma.study.system.study import several
from tests.extras.study.small_networks import QUICK, RECORDED, flat, model

#: Of every kind of layer, of machine, of algorithm and of policy some.
CASES = (
    ("alexnet", "v100/uneven", ("zv",)),
    ("llama1b", "h200", ("zv", "fields")),
    ("squeezenet", "titan_xp", ("zv", "rl", "zl", "zl_hw")),
    ("googlenet", "titan_x_maxwell", ("zv",)),
    ("resnet50", "v100", ("zv",)),
    ("bert_base", "a100", ("zv", "fields")),
    ("gpt2", "a100", ("zv", "fields")),
    ("crepe", "h100", ("zv", "fields")),
)
ROWS = Path(__file__).with_name("rows.json")
NUMBERS = ("ratio", "traffic_bytes", "step_s", "compute_s", "peak_bytes", "host_bytes")


def rows_of(network: str, machine: str, algorithms: tuple[str, ...]) -> dict[str, list[float]]:
    """The numbers of each row."""
    recorded, reference = with_run(with_transformer(RECORDED)), with_transformer(RECORDED)
    on = load_machine(machine.partition("/")[0])
    on = on.with_link(Link("uneven", 16e9, 4e9)) if machine.endswith("/uneven") else on
    one = Model(load_network(network), on, QUICK, recorded, reference)
    return {
        f"{network} {machine} {row.policy} {row.algorithm}": [getattr(row, name) for name in NUMBERS]
        for row in one.evaluate_all(tuple(POLICIES), algorithms)
    }


#: A policy of each kind: no compression, by the engine map by map, by kernels.
SHARED = [
    (policy, devices, links)
    for policy in ("vdnn_all", "cdma_select", "static")
    for devices, links in ((1, 1), (4, 1), (4, 2), (4, 16))
]


def shared_row(policy: str, devices: int, links: int) -> dict[str, list[object]]:
    """What several devices on several links take, and what makes them wait."""
    row = several(model("alexnet"), policy, "zv", devices, links)
    told = [row.step_s, row.traffic_bytes, row.link_use, row.bottleneck, row.next_bottleneck]
    return {f"{policy} of {devices} on {links}": told}


@pytest.mark.parametrize(("network", "machine", "algorithms"), CASES)
def test_rows_are_those_that_were_worked_out(network: str, machine: str, algorithms: tuple[str, ...]) -> None:
    kept = json.loads(ROWS.read_text(encoding="utf-8"))
    found = rows_of(network, machine, algorithms)
    assert found.keys() == {name for name in kept if name.startswith(f"{network} ")}
    for name, numbers in found.items():
        assert numbers == pytest.approx(kept[name], rel=1e-6), name


@pytest.mark.parametrize(("policy", "devices", "links"), SHARED)
def test_devices_share_links_as_was_worked_out(policy: str, devices: int, links: int) -> None:
    kept = json.loads(ROWS.read_text(encoding="utf-8"))
    ((name, (*numbers, first, then)),) = shared_row(policy, devices, links).items()
    assert [*numbers, first, then] == [
        *(pytest.approx(one, rel=1e-6) for one in kept[name][:3]),
        *kept[name][3:],
    ]


def test_rows_have_their_columns_and_add_up() -> None:
    rows = model("alexnet").evaluate_all(tuple(POLICIES), ("zv", "rl"))
    assert {row.policy for row in rows} == set(POLICIES)
    for row in rows:
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
    """Of a network in which every map that is offloaded comes after a ReLU: 2.6 is the papers' 35.3 %."""
    assert model("vgg16", densities=flat(density)).evaluate("cdma").ratio == pytest.approx(ratio, rel=2e-3)


def test_unknown_policy_or_algorithm() -> None:
    with pytest.raises(ParameterError, match="policy is 'all'; it must be one of none, vdnn_all"):
        model().evaluate("all")
    with pytest.raises(ParameterError, match="algorithm is 'zip'; it must be one of zv, rl, zl, zl_hw"):
        model().evaluate("cdma", "zip")


def test_nothing_to_offload_is_told(tmp_path: Path) -> None:
    path = tmp_path / "net.toml"
    path.write_text(
        'name = "net"\ninput = [3, 8, 8]\nbatch = 8\nlayers = [{name = "a", kind = "fc", units = 8}]\n'
    )
    with pytest.raises(ParameterError, match="network net has no feature map that is kept"):
        Model(load_network(str(path)), load_machine("v100"), QUICK, RECORDED)


if __name__ == "__main__":
    written = {name: numbers for case in CASES for name, numbers in rows_of(*case).items()}
    written |= {name: told for case in SHARED for name, told in shared_row(*case).items()}
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(numbers)}" for name, numbers in written.items())
    ROWS.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
