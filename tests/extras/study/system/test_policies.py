"""Policies of offloading, on small networks worked out by hand and on the real ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cdma.study.system.density_table import DensityTable, LayerRecord
from cdma.study.system.feature_maps import Compression
from cdma.study.system.machine import Link, load_machine
from cdma.study.system.networks import Network, load_network
from cdma.study.system.planner import StepPlanner
from cdma.study.system.policies import KernelTimes, Situation, plan
from tests.extras.study.small_networks import BASE, CHAIN, RECORDED, situation


def over(link: Link, network: Network = CHAIN, machine: str = "titan_xp") -> Situation:
    """A network with that link in the middle of its training."""
    planner = StepPlanner(network, load_machine(machine).with_link(link), BASE)
    return Situation(planner, Compression(network, RECORDED, "zv", RECORDED), 0.5)


def seconds(policy: str, here: Situation) -> float:
    return here.planner.run(plan(policy, here)).seconds


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


def test_a_kernel_takes_some_copies_and_a_launch() -> None:
    times = KernelTimes(replace(BASE.kernels, dram_share=0.5, launch_us=10.0), 400e9)
    # A copy of a gigabyte moves two, at half of 400 GB/s; half of the words are not zero.
    assert times.seconds("compress", 1e9, 0.5) == pytest.approx(0.993 * 10e-3 + 10e-6)
    cost = times.cost("decompress", 1e9, 0.45, 5e8)
    assert cost.seconds == pytest.approx((0.722 + 0.797) / 2 * 10e-3 + 10e-6), "between two densities"
    assert cost.dram_bytes == 1.5e9
