"""Training small networks; skipped where torch is not installed."""

import math

import numpy as np
import pytest

from cdma import ParameterError
from cdma.sim.study.system.density_table import load_densities
from cdma.sim.study.training.schedule import Schedule
from cdma.sim.study.training.train import NETWORKS, train

torch = pytest.importorskip("torch")
pytest.importorskip("sklearn")

QUICK = Schedule(epochs=1, batch=500, probe=4, points=3)


@pytest.mark.parametrize("network", NETWORKS)
def test_every_network_shows_its_layers(network):
    snapshots = list(train(network, QUICK))
    assert [snapshot.step for snapshot in snapshots] == [0, 1, 3]
    assert math.isnan(snapshots[0].loss)
    assert all(math.isfinite(snapshot.loss) for snapshot in snapshots[1:])
    assert [snapshot.accuracy is None for snapshot in snapshots] == [True, True, False]
    recorded = load_densities().networks[network]
    assert [layer.name for layer in recorded] == list(snapshots[0].activations)
    for layer in recorded:
        tensor = snapshots[0].activations[layer.name]
        assert tensor.shape == (4, *layer.shape)
        assert tensor.dtype == np.float32
        assert (tensor >= 0).all()


@pytest.mark.slow
def test_is_the_same_again_whatever_the_caller_does():
    first = [snapshot.activations for snapshot in train("alexnet", QUICK)]
    second = []
    for snapshot in train("alexnet", QUICK):
        second.append(snapshot.activations)
        torch.manual_seed(99)
        torch.rand(5)
    for one, other in zip(first, second, strict=True):
        for name in one:
            assert one[name].tobytes() == other[name].tobytes()


def test_seed():
    one, other = (next(train("vgg", Schedule(seed=seed, probe=2))).activations for seed in (1, 2))
    assert (one["relu0"] != other["relu0"]).any()


def test_leaves_torch_as_it_was():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    threads = torch.get_num_threads()
    list(train("alexnet", QUICK))
    assert torch.equal(torch.rand(3), expected)
    assert torch.get_num_threads() == threads
    assert not torch.are_deterministic_algorithms_enabled()


@pytest.mark.slow
def test_density_falls_in_training():
    snapshots = list(train("alexnet", Schedule(epochs=2, probe=16, points=2)))
    first, last = (np.count_nonzero(shot.activations["relu1"]) for shot in (snapshots[0], snapshots[-1]))
    assert last < 0.7 * first


def test_unknown_network():
    with pytest.raises(ParameterError, match="network is 'lenet'; it must be one of alexnet, vgg"):
        next(train("lenet"))
