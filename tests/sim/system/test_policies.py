"""Feature maps, steps and policies, on small networks worked out by hand and on the real ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cdma.sim.support.toml_table import Table
from cdma.sim.system.assumptions import load_assumptions
from cdma.sim.system.compression import Compression
from cdma.sim.system.cswap import CostModel, KernelTimes, learn
from cdma.sim.system.density_table import DensityTable, LayerRecord, bundled_densities, load_densities
from cdma.sim.system.engine_rate import measured_engine_laws
from cdma.sim.system.feature_maps import copied_parts, feature_maps
from cdma.sim.system.machine import Link, load_machine
from cdma.sim.system.networks import Network, load_network, read_network
from cdma.sim.system.planner import StepPlanner
from cdma.sim.system.policies import POLICIES, Situation, plan
from cdma.sim.system.roofline import Cost

ASSUMPTIONS = load_assumptions()
RECORDED = load_densities()


def small(*layers: dict[str, object]) -> Network:
    return read_network(
        Table("small", {"name": "small", "input": [3, 32, 32], "batch": 64, "layers": list(layers)})
    )


CONV = {"kind": "conv", "filters": 16, "kernel": 3, "padding": 1}
CHAIN = small(
    {"name": "a", **CONV, "relu": True},
    {"name": "b", **CONV, "relu": True},
    {"name": "p", "kind": "pool", "kernel": 2},
    {"name": "c", **CONV, "relu": True},
    {"name": "f", "kind": "fc", "units": 10},
)


def situation(
    network: Network, algorithm: str = "zv", machine: str = "titan_xp", **changes: object
) -> Situation:
    assumptions = replace(ASSUMPTIONS, **changes)  # type: ignore[arg-type]
    planner = StepPlanner(network, load_machine(machine), assumptions)
    return Situation(planner, Compression(network, RECORDED, algorithm, RECORDED), 0.5)


# ------------------------------------------------------------------------------ feature maps


def names(network: Network, places: tuple[int, ...]) -> list[str]:
    return [network.layers[place].name for place in places]


def test_maps_of_a_chain() -> None:
    maps = {item.name: item for item in feature_maps(CHAIN)}
    assert list(maps) == ["input", "a", "b", "p", "c", "f"]
    assert names(CHAIN, maps["b"].writers) == ["b", "b/relu"]
    assert names(CHAIN, maps["b"].readers) == ["p"]
    assert names(CHAIN, maps["b"].backward_users) == ["b/relu", "p"]
    assert names(CHAIN, maps["p"].backward_users) == ["p", "c"]
    assert not maps["f"].kept
    assert [(part.kind, part.depth) for part in maps["a"].sources] == [("relu", 0.0)]
    assert [(part.kind, part.depth) for part in maps["b"].sources] == [("relu", 0.5)]
    assert [part.kind for part in maps["p"].sources] == ["pool"]


def test_batch_normalisation_keeps_its_dense_input() -> None:
    network = small({"name": "a", **CONV, "batchnorm": True, "relu": True}, {"name": "b", **CONV})
    maps = {item.name: item for item in feature_maps(network)}
    assert [part.kind for part in maps["a"].sources] == ["dense"]
    assert names(network, maps["a"].backward_users) == ["a/batchnorm"]
    assert names(network, maps["a/batchnorm"].writers) == ["a/batchnorm", "a/relu"]
    assert [part.kind for part in maps["a/batchnorm"].sources] == ["relu"]


def test_normalisation_across_channels_leaves_zeros() -> None:
    """Maximum pooling of a dense map is dense, too."""
    network = small(
        {"name": "d", **CONV},
        {"name": "q", "kind": "pool", "kernel": 3, "stride": 1, "padding": 1},
        {"name": "a", **CONV, "relu": True},
        {"name": "n", "kind": "lrn"},
        {"name": "p", "kind": "pool", "kernel": 2},
        {"name": "m", "kind": "pool", "kernel": 2, "mode": "average"},
        {"name": "c", **CONV},
    )
    kinds = {item.name: [part.kind for part in item.sources] for item in feature_maps(network)}
    assert kinds["n"] == kinds["a"] == ["relu"]
    assert kinds["p"] == ["pool"]
    assert kinds["q"] == kinds["m"] == kinds["d"] == ["dense"]


def test_joined_maps_lie_in_the_joint_one_unless_others_read_them() -> None:
    rows = [
        {"name": "a", **CONV, "relu": True},
        {"name": "b", **CONV, "from": "a", "relu": True},
        {"name": "c", **CONV, "from": "a", "relu": True, "dropout": 0.5},
        {"name": "j", "kind": "concat", "from": ["b", "c"]},
        {"name": "d", **CONV},
    ]
    network = small(*rows)
    (joint,) = [item for item in feature_maps(network) if item.name == "j"]
    assert names(network, joint.writers) == ["b", "b/relu", "c", "c/relu", "c/dropout", "j"]
    assert [(part.depth, part.kept) for part in joint.sources] == [(0.5, 1.0), (1.0, 0.5)]
    assert copied_parts(network) == {"j": 0.0}
    shared = small(*rows, {"name": "e", **CONV, "from": "b"})
    assert copied_parts(shared) == {"j": 0.5}
    assert {"b", "j"} <= {item.name for item in feature_maps(shared)}


def test_a_density_in_the_table_wins() -> None:
    network = small({"name": "a", **CONV, "relu": True, "density": 0.125}, {"name": "b", **CONV})
    compression = Compression(network, RECORDED, "zv", RECORDED)
    (item,) = [item for item in feature_maps(network) if item.name == "a"]
    assert compression.density(item, 0.3) == 0.125
    assert compression.fraction(item, 0.3) == 0.125 + 1 / 32


@pytest.mark.parametrize("name", ["vgg16", "resnet50", "googlenet"])
def test_every_map_but_the_images_has_a_writer_before_its_readers(name: str) -> None:
    for item in feature_maps(load_network(name))[1:]:
        assert item.writers
        assert max(item.writers) < min(item.readers, default=10**9)
        assert sum(part.elements for part in item.sources) == item.elements


# ------------------------------------------------------------------------------ compression


def test_dense_maps_do_not_shrink() -> None:
    network = small({"name": "a", **CONV}, {"name": "b", **CONV})
    (item,) = [item for item in feature_maps(network) if item.name == "a"]
    fractions = {
        name: Compression(network, RECORDED, name, RECORDED).fraction(item, 0.5) for name in ("zv", "rl")
    }
    assert fractions == {"zv": 33 / 32, "rl": 1.0}


def test_recorded_ratios_are_taken_where_there_are_any() -> None:
    compression = Compression(CHAIN, RECORDED, "zl", RECORDED)
    first = feature_maps(CHAIN)[1]
    (record, *_) = [layer for layer in RECORDED.networks["vgg"] if layer.kind == "relu"]
    assert compression.fraction(first, 0.37) == pytest.approx(record.at(0.37, "zl"))
    slides = load_densities(bundled_densities()["slides"])
    base, slope = RECORDED.line("zl")
    guessed = Compression(CHAIN, slides, "zl", RECORDED).fraction(first, 0.37)
    assert guessed == pytest.approx(base + slope * 0.49)


# ------------------------------------------------------------------------------ steps


def test_no_offload_is_computation_without_a_wait() -> None:
    here = situation(CHAIN)
    planner = here.planner
    step = planner.run({})
    computed = sum(cost.seconds for cost in (*planner.forward, *planner.backward, planner.update))
    assert step.seconds == pytest.approx(computed)
    assert step.link_bytes == 0


def test_offloaded_memory_is_freed_and_taken_again() -> None:
    network = load_network("vgg16")
    here = situation(network)
    free, vdnn = here.planner.run({}), here.planner.run(plan("vdnn_all", here))
    assert vdnn.peak_bytes < free.peak_bytes
    always = network.parameters * 4 * 3 + 256 * 2**20
    for step in (free, vdnn):
        levels = [used for _, used in step.memory]
        assert levels[-1] == always, "what is taken is given back"
        assert min(levels) == always


def test_peak_without_offload_by_hand() -> None:
    """All kept maps at once, and no more gradients than there are maps."""
    planner = situation(CHAIN).planner
    sizes = {item.name: planner.bytes_of(item) for item in planner.maps}
    always = CHAIN.parameters * 4 * 3 + 256 * 2**20
    kept = sizes["input"] + sizes["a"] + sizes["b"] + sizes["p"] + sizes["c"]
    step = planner.run({})
    assert step.peak_bytes >= always + kept
    assert step.peak_bytes <= always + kept + sizes["a"] + sizes["b"] + sizes["c"] + sizes["f"]


def test_prefetched_maps_take_memory_until_they_are_used() -> None:
    here = situation(CHAIN)
    step = here.planner.run(plan("vdnn_all", here))
    spans = {task.name: span for task, span in zip(step.tasks, step.spans, strict=True)}
    sizes = {item.name: here.planner.bytes_of(item) for item in here.planner.maps}
    always = CHAIN.parameters * 4 * 3 + 256 * 2**20 + sizes["input"]

    def used(task: str) -> float:
        middle = (spans[task].start + spans[task].end) / 2
        return [level for time, level in step.memory if time <= middle][-1]

    # The map of a is fetched from when p needs those of b and p; a gradient lives from reader to writer.
    assert used("backward b/relu") == always + sizes["a"] + sizes["b"] + sizes["b"]
    assert used("backward b") == always + 2 * sizes["a"] + sizes["b"]
    # The map of a has left beside b, before which it was alone with the images.
    assert used("forward a") == always + sizes["a"]
    assert used("forward p") == always + sizes["b"] + sizes["p"]


def test_one_offload_at_a_time_by_default() -> None:
    here = situation(load_network("alexnet"))
    step = here.planner.run(plan("vdnn_all", here))
    spans = {task.name: span for task, span in zip(step.tasks, step.spans, strict=True)}
    # norm0 offloads conv0, pool0 offloads norm0: the second waits for the first.
    assert spans["forward pool0"].start >= spans["offload conv0"].end
    assert spans["offload conv0"].start == spans["forward norm0"].start
    assert spans["backward norm0"].start >= spans["prefetch conv0"].end
    deeper = situation(load_network("alexnet"), training=replace(ASSUMPTIONS.training, lookahead=3))
    assert deeper.planner.run(plan("vdnn_all", deeper)).seconds < step.seconds


def test_hidden_time_is_the_computation_beside_a_transfer() -> None:
    """With offloads alone on a link, a step's wait is what the equations say is exposed."""
    here = situation(load_network("alexnet"))
    planner = here.planner
    hidden = planner.hidden({item.name for item in planner.offloadable})
    exposed = 0.0
    for item in planner.offloadable:
        transfer, (forward, backward) = here.plain(item), hidden[item.name]
        exposed += max(transfer.offload.seconds - forward, 0) + max(transfer.prefetch.seconds - backward, 0)
    computed = planner.run({}).seconds
    waiting = planner.run(plan("vdnn_all", here)).seconds - computed
    assert waiting == pytest.approx(exposed, rel=0.05)


@pytest.mark.parametrize("network", ["alexnet", "squeezenet", "resnet50"])
@pytest.mark.parametrize("policy", POLICIES)
def test_what_holds_for_every_policy(network: str, policy: str) -> None:
    here = situation(load_network(network))
    step = here.planner.run(plan(policy, here))
    transfers = plan(policy, here)
    computed = here.planner.run({}).seconds
    assert step.seconds >= computed * (1 - 1e-9)
    if policy != "oracle":
        assert step.seconds >= step.link_bytes / 2 / here.link_bytes_per_s
    assert step.link_bytes == pytest.approx(2 * sum(item.link_bytes for item in transfers.values()))
    assert set(transfers) <= {item.name for item in here.planner.offloadable}
    assert step.busy("compute") >= computed * (1 - 1e-9)


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
        lms = replace(ASSUMPTIONS.lms, threshold_KB=threshold, fraction=fraction)
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
        planner = StepPlanner(network, slower, ASSUMPTIONS)
        return seconds("cdma", Situation(planner, Compression(network, RECORDED, "zv", RECORDED), 0.5))

    usual = with_engine()
    assert with_engine(read_bytes_per_s=10e9) > usual
    assert with_engine(buffer_bytes=3.5e3) == pytest.approx(with_engine(read_bytes_per_s=10e9))
    assert with_engine(units=1, clock_hz=0.3e9) > usual
    assert with_engine(read_bytes_per_s=400e9, buffer_bytes=1e6) <= usual


def test_transfers_by_hand() -> None:
    here = situation(CHAIN)
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


def test_slow_zlib_is_slower_than_none() -> None:
    network = load_network("squeezenet")
    assert seconds("cdma", situation(network, "zl")) < seconds("vdnn_all", situation(network))
    assert seconds("cdma", situation(network, "zl_hw")) > seconds("vdnn_all", situation(network))


# ------------------------------------------------------------------------------ CSWAP


def test_equations_by_hand() -> None:
    model = CostModel(1000.0, 0.25, 10.0, 20.0, hidden_forward=30.0, hidden_backward=10.0)
    assert model.plain == pytest.approx((100 - 30) + (50 - 10))
    assert model.compressed(4.0, 5.0) == pytest.approx(4 + 5 + 0 + (12.5 - 10))
    assert model.worth_it(50.0, 57.0)
    assert not model.worth_it(50.0, 58.0)
    hidden = CostModel(1000.0, 0.25, 10.0, 20.0, hidden_forward=200.0, hidden_backward=200.0)
    assert hidden.plain == 0
    assert not hidden.worth_it(1e-9, 0.0)


def test_regression_learns_the_times_of_the_kernels() -> None:
    kernels = replace(ASSUMPTIONS.kernels, jitter=0.0, half_rate_MiB=0.0)
    times = KernelTimes(kernels, 400e9)
    fraction = 0.5
    predictor = learn(times, 1e6, 1e9, lambda density: fraction, seed=1)
    for size, density in ((1e6, 0.1), (5e7, 0.5), (9e8, 0.9)):
        assert predictor.seconds(size, density) == pytest.approx(
            times.cost(size, density, size * fraction).seconds, rel=1e-6
        )
    rough = learn(KernelTimes(ASSUMPTIONS.kernels, 400e9), 1e6, 1e9, lambda density: fraction, seed=1)
    errors = [
        rough.seconds(size, 0.4) / KernelTimes(ASSUMPTIONS.kernels, 400e9).cost(size, 0.4, size / 2).seconds
        - 1
        for size in np.geomspace(2e6, 9e8, 20).tolist()
    ]
    assert 0 < max(map(abs, errors)) < 0.5


def test_cswap_leaves_dense_maps_alone_and_compresses_large_sparse_ones() -> None:
    here = situation(load_network("resnet50"), machine="v100")
    transfers = plan("cswap", here)
    assert transfers["stage0/0/conv1"].compress is None, "batch normalisation reads it, and it is dense"
    assert transfers["stage0/1"].compress is not None
    assert seconds("cswap", here) < seconds("static", here)


def test_slow_kernels_are_not_worth_it() -> None:
    kernels = replace(ASSUMPTIONS.kernels, dram_share=0.005)
    here = situation(load_network("alexnet"), kernels=kernels)
    assert all(item.compress is None for item in plan("cswap", here).values())
    assert seconds("cswap", here) == pytest.approx(seconds("vdnn_all", here))


def test_engine_takes_dense_maps_as_they_are() -> None:
    here = situation(load_network("resnet50"))
    chosen, everything = plan("cdma_select", here), plan("cdma", here)
    assert chosen["stage0/0/conv1"].link_bytes < everything["stage0/0/conv1"].link_bytes
    assert chosen["stage0/1"] == everything["stage0/1"]


def test_engine_does_not_expand_what_is_hidden_anyway() -> None:
    machine = load_machine("titan_xp").with_link(Link("light", 1e15))
    network = load_network("resnet50")
    planner = StepPlanner(network, machine, ASSUMPTIONS)
    here = Situation(planner, Compression(network, RECORDED, "zv", RECORDED), 0.5)
    assert plan("cdma_select", here)["stage0/0/conv1"] == here.plain(
        next(item for item in planner.offloadable if item.name == "stage0/0/conv1")
    )


def test_decisions_hold_for_an_epoch() -> None:
    """Everything is dense at first, and empty at last."""
    layer = LayerRecord("relu", "relu", np.array([0.0, 1.0]), np.array([1.0, 0.0]))
    table = DensityTable("here", {"vgg": [layer]})
    kernels = replace(ASSUMPTIONS.kernels, epochs=2)
    here = situation(load_network("vgg16"), kernels=kernels)
    here = replace(here, compression=replace(here.compression, densities=table))

    def compressed(progress: float) -> set[str]:
        transfers = plan("cswap", here.at(progress))
        return {name for name, item in transfers.items() if item.compress is not None}

    assert compressed(0.5) == compressed(0.99)
    assert compressed(0.0) == compressed(0.49)
    assert compressed(0.0) < compressed(0.5)


def test_paths_of_bundled_densities_exist() -> None:
    assert all(isinstance(path, Path) and path.is_file() for path in bundled_densities().values())
