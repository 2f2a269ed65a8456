"""Policies of offloading, on small networks worked out by hand and on the real ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from cdma.study.system.assumptions import Cpu
from cdma.study.system.density_table import DensityTable, LayerRecord
from cdma.study.system.engine_rate import measured_engine_laws
from cdma.study.system.feature_maps import Compression, FeatureMap
from cdma.study.system.machine import Link, load_machine
from cdma.study.system.networks import Network, load_network
from cdma.study.system.planner import StepPlanner
from cdma.study.system.policies import POLICIES, KernelTimes, Situation, plan
from cdma.study.system.roofline import Cost
from cdma.study.system.step import Transfer
from cdma.torch.swapping.policies import CostModel
from tests.extras.study.small_networks import BASE, CHAIN, RECORDED, situation


# One network with joined maps; chains and sums are in the tests below.
@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_computes_as_long_and_moves_its_transfers(policy: str) -> None:
    here = situation(load_network("squeezenet"))
    step = here.planner.run(plan(policy, here))
    transfers = plan(policy, here)
    computed = here.planner.run({}).seconds
    assert step.seconds >= computed * (1 - 1e-9)
    if policy != "oracle":
        assert step.seconds >= step.link_bytes / 2 / min(here.planner.link_rates)
    assert step.link_bytes == pytest.approx(2 * sum(item.link_bytes for item in transfers.values()))
    assert set(transfers) <= {item.name for item in here.planner.offloadable}
    assert step.busy("compute") >= computed * (1 - 1e-9)


def over(link: Link, network: Network = CHAIN, machine: str = "titan_xp") -> Situation:
    """A network with that link in the middle of its training."""
    planner = StepPlanner(network, load_machine(machine).with_link(link), BASE)
    return Situation(planner, Compression(network, RECORDED, "zv", RECORDED), 0.5)


def seconds(policy: str, here: Situation) -> float:
    return here.planner.run(plan(policy, here)).seconds


def test_order_of_policies() -> None:
    here = situation(load_network("googlenet"))
    times = {policy: seconds(policy, here) for policy in POLICIES}
    assert times["none"] <= times["oracle"] * (1 + 1e-9)
    assert times["oracle"] < times["cdma"] < times["vdnn_all"] < times["vdnn++"]
    assert times["cdma"] < times["cswap"] < times["vdnn_all"]
    assert times["vdnn_conv"] < times["vdnn_all"]


def test_conv_policy_takes_what_convolutions_read() -> None:
    here = situation(load_network("alexnet"))
    assert set(plan("vdnn_conv", here)) == {"pool0", "pool1", "conv2", "conv3"}
    assert set(plan("vdnn_all", here)) == {item.name for item in here.planner.offloadable}
    assert "fc0" not in plan("vdnn_all", here)
    assert "pool4" not in plan("vdnn_all", here), "only the classifier reads it"


def test_lms_threshold_and_fraction() -> None:
    network = load_network("vgg16")

    def chosen(threshold: float, fraction: float) -> set[str]:
        lms = replace(BASE.lms, threshold_KB=threshold, fraction=fraction)
        return set(plan("lms", situation(network, lms=lms)))

    everything = set(plan("vdnn_all", situation(network)))
    assert chosen(0, 0.0) == everything
    assert chosen(1e12, 0.0) == set()
    assert chosen(0, 1.0) == set(), "it fits"
    some = chosen(1000, 0.5)
    assert set() < some < everything
    planner = situation(network).planner
    sizes = {item.name: planner.bytes_of(item) for item in planner.maps}
    # Memory is spoken for in the order of the forward computation: the images, then map after map.
    capacity = planner.machine.gpu.memory_bytes
    before_conv1 = planner.always_bytes + sizes["input"] + sizes["conv0"]
    assert "conv1" in chosen(0, (before_conv1 + sizes["conv1"] - 1) / capacity)
    assert "conv1" not in chosen(0, (before_conv1 + sizes["conv1"] + 1) / capacity)
    assert "conv0" not in chosen(0, (before_conv1 + 1) / capacity)
    sizes = {item.name: sizes[item.name] for item in planner.offloadable}
    assert chosen(300_000, 0.0) == {name for name, size in sizes.items() if size > 300e6}


def test_engine_is_slowed_by_its_read_bandwidth_and_its_buffer() -> None:
    network, machine = load_network("squeezenet"), load_machine("titan_xp")

    def with_engine(**changes: float) -> float:
        slower = replace(machine, engine=replace(machine.engine, **changes))
        planner = StepPlanner(network, slower, BASE)
        return seconds("cdma", Situation(planner, Compression(network, RECORDED, "zv", RECORDED), 0.5))

    usual = with_engine()
    assert with_engine(read_bytes_per_s=10e9) > usual
    assert with_engine(buffer_bytes=3.5e3) == pytest.approx(with_engine(read_bytes_per_s=10e9))
    assert with_engine(units=1, clock_hz=0.3e9) > usual
    assert with_engine(read_bytes_per_s=400e9, buffer_bytes=1e6) <= usual


def test_transfers_by_hand() -> None:
    here = situation(CHAIN, cpu=Cpu(4.0, 8.0))
    item = here.planner.offloadable[0]
    raw, link, latency = here.planner.bytes_of(item), 16e9 * 0.8, 10e-6
    fraction = here.compression.fraction(item, 0.5)
    assert here.plain(item).offload == Cost(pytest.approx(raw / link + latency), raw)
    host = here.by_host(item)
    assert host.link_bytes == raw
    assert host.host_bytes == pytest.approx(raw * fraction)
    assert host.offload.seconds == pytest.approx(raw / 4e9 + latency)
    assert host.prefetch.seconds == pytest.approx(raw / 8e9 + latency)
    kernel = here.by_kernel(item)
    assert kernel.offload == Cost(
        pytest.approx(raw * fraction / link + latency), pytest.approx(raw * fraction)
    )
    engine = here.by_engine(item)
    assert engine.link_bytes == pytest.approx(raw * fraction)
    start = measured_engine_laws()["compress"].start_up(350) / 1e9
    assert engine.offload == Cost(pytest.approx(raw * fraction / link + latency + start), raw)


@pytest.mark.parametrize(
    "make", [Situation.plain, Situation.by_engine, Situation.by_kernel, Situation.by_host]
)
def test_each_way_over_the_link_has_its_rate(make: Callable[[Situation, FeatureMap], Transfer]) -> None:
    def transfer(d2h: float, h2d: float) -> Transfer:
        here = over(Link("uneven", d2h, h2d))
        return make(here, here.planner.offloadable[0])

    even, slow_out, slow_back = transfer(2e9, 2e9), transfer(1e9, 2e9), transfer(2e9, 1e9)
    assert slow_out.offload.seconds > 1.9 * even.offload.seconds
    assert slow_out.prefetch == even.prefetch
    assert slow_back.prefetch.seconds > 1.9 * even.prefetch.seconds
    assert slow_back.offload == even.offload


def test_cswaps_equations_have_both_rates() -> None:
    here = over(Link("uneven", 8e9, 2e9), machine="v100")
    planner = here.planner
    item = planner.offloadable[0]
    forward, backward = planner.hidden({one.name for one in planner.offloadable})[item.name]
    raw, part = planner.bytes_of(item), BASE.link.efficiency
    plain = max(raw / (8e9 * part) - forward, 0) + max(raw / (2e9 * part) - backward, 0)
    assert here.exposed()[0][1] == pytest.approx(plain)


def test_slow_zlib_is_slower_than_none() -> None:
    network = load_network("squeezenet")
    assert seconds("cdma", situation(network, "zl")) < seconds("vdnn_all", situation(network))
    assert seconds("cdma", situation(network, "zl_hw")) > seconds("vdnn_all", situation(network))


def test_cswap_leaves_dense_maps_alone_and_compresses_large_sparse_ones() -> None:
    here = situation(load_network("resnet50"), machine="v100")
    transfers = plan("cswap", here)
    assert transfers["stage0/0/conv1"].compress is None, "batch normalisation reads it, and it is dense"
    assert transfers["stage0/1"].compress is not None
    assert seconds("cswap", here) < seconds("static", here)


def test_slow_kernels_are_not_worth_it() -> None:
    kernels = replace(BASE.kernels, dram_share=0.005)
    here = situation(load_network("alexnet"), kernels=kernels)
    assert all(item.compress is None for item in plan("cswap", here).values())
    assert seconds("cswap", here) == pytest.approx(seconds("vdnn_all", here))


def test_engine_takes_dense_maps_as_they_are() -> None:
    here = situation(load_network("resnet50"))
    chosen, everything = plan("cdma_select", here), plan("cdma", here)
    assert chosen["stage0/0/conv1"].link_bytes < everything["stage0/0/conv1"].link_bytes
    assert chosen["stage0/1"] == everything["stage0/1"]


def test_engine_does_not_expand_what_is_hidden_anyway() -> None:
    here = over(Link("light", 1e15, 1e15), load_network("resnet50"))
    (item,) = [item for item in here.planner.offloadable if item.name == "stage0/0/conv1"]
    assert plan("cdma_select", here)["stage0/0/conv1"] == here.plain(item)


def test_decisions_hold_for_an_epoch() -> None:
    """Everything is dense at first, and empty at last."""
    layer = LayerRecord("relu", "relu", np.array([0.0, 1.0]), np.array([1.0, 0.0]))
    table = DensityTable("here", {"vgg": [layer]})
    kernels = replace(BASE.kernels, epochs=2)
    here = situation(load_network("vgg16"), kernels=kernels)
    here = replace(here, compression=replace(here.compression, densities=table))

    def compressed(progress: float) -> set[str]:
        transfers = plan("cswap", here.at(progress))
        return {name for name, item in transfers.items() if item.compress is not None}

    assert compressed(0.5) == compressed(0.99)
    assert compressed(0.0) == compressed(0.49)
    assert compressed(0.0) < compressed(0.5)


def test_cswaps_equations_by_hand() -> None:
    model = CostModel(1000.0, 0.25, 10.0, 20.0, hidden_forward=30.0, hidden_backward=10.0)
    assert model.plain == pytest.approx((100 - 30) + (50 - 10))
    assert model.compressed(4.0, 5.0) == pytest.approx(4 + 5 + 0 + (12.5 - 10))
    hidden = CostModel(1000.0, 0.25, 10.0, 20.0, hidden_forward=200.0, hidden_backward=200.0)
    assert (hidden.plain, hidden.compressed(3.0, 0.0)) == (0, 3)


def test_a_kernel_takes_some_copies_and_a_launch() -> None:
    times = KernelTimes(replace(BASE.kernels, dram_share=0.5, launch_us=10.0), 400e9)
    # A copy of a gigabyte moves two, at half of 400 GB/s; half of the words are not zero.
    assert times.seconds("compress", 1e9, 0.5) == pytest.approx(0.993 * 10e-3 + 10e-6)
    cost = times.cost("decompress", 1e9, 0.45, 5e8)
    assert cost.seconds == pytest.approx((0.722 + 0.797) / 2 * 10e-3 + 10e-6), "between two densities"
    assert cost.dram_bytes == 1.5e9
