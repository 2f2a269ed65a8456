"""Training small networks; skipped where torch is not installed. Training the small transformer; skipped where torch is
not installed.
"""

from __future__ import annotations

import math
from hashlib import sha256

import numpy as np
import pytest

from cdma import ParameterError
from cdma.study.compare.comparison import load_data
from cdma.study.system.density_table import load_densities
from cdma.study.training.observations import load_ratios, record
from cdma.study.training.train import Schedule, train
from cdma.study.training.transformer import SAMPLE_WORDS, SAMPLES, train_transformer
from cdma.torch.networks import NETWORKS
from cdma.torch.networks.digits import digits

torch = pytest.importorskip("torch")
pytest.importorskip("sklearn")


QUICK = Schedule(epochs=1, batch=250, probe=4, points=3)


@pytest.fixture
def several_threads():
    """More threads than the one that training takes, which is what tests have otherwise."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield 2
    torch.set_num_threads(before)


# One with poolings and one with sums; the test of records has vgg.
@pytest.mark.slow
@pytest.mark.parametrize(
    "network",
    [
        name if name in ("alexnet", "resnet") else pytest.param(name, marks=pytest.mark.thorough)
        for name in NETWORKS
    ],
)
def test_every_network_shows_its_layers(network):
    training = train(network, QUICK)
    first = next(training)
    rest = [(shot.step, math.isfinite(shot.loss), shot.accuracy is None) for shot in training]
    assert (first.step, math.isnan(first.loss), first.accuracy) == (0, True, None)
    assert rest == [(2, True, True), (6, True, False)]
    recorded = load_densities().networks[network]
    assert [layer.name for layer in recorded] == list(first.activations)
    for layer in recorded:
        tensor = first.activations[layer.name]
        assert tensor.shape == (4, *layer.shape)
        assert tensor.dtype == np.float32
        assert (tensor >= 0).all()


@pytest.mark.slow
def test_is_the_same_again_whatever_the_caller_does_and_leaves_torch_as_it_was(several_threads):
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    first = [_digests(snapshot) for snapshot in train("alexnet", QUICK)]
    assert torch.equal(torch.rand(3), expected)
    assert torch.get_num_threads() == several_threads
    assert not torch.are_deterministic_algorithms_enabled()
    second = []
    for snapshot in train("alexnet", QUICK):
        second.append(_digests(snapshot))
        torch.manual_seed(99)
        torch.rand(5)
    assert first == second


def _digests(snapshot):
    """The activations of a network are hundreds of megabytes."""
    return {name: sha256(tensor.tobytes()).digest() for name, tensor in snapshot.activations.items()}


def test_seed():
    one, other = (next(train("vgg", Schedule(seed=seed, probe=2))).activations for seed in (1, 2))
    assert (one["relu0"] != other["relu0"]).any()


def test_unknown_network():
    with pytest.raises(ParameterError, match="network is 'lenet'; it must be one of alexnet, vgg"):
        next(train("lenet"))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epochs": 0}, "epochs is 0; it must be a whole number, 1 or more"),
        ({"points": 1}, "points is 1; it must be a whole number, 2 or more"),
        ({"batch": 1501}, "batch is 1501; there are 1500 training images"),
        ({"learning_rate": math.nan}, "learning_rate is nan; it must be more than 0"),
    ],
)
def test_schedules_that_are_refused(settings, message):
    with pytest.raises(ParameterError, match=message):
        Schedule(**settings)


def test_the_images_are_normalised():
    images, classes = digits()
    assert images.shape == (1797, 1, 32, 32)
    assert images[:1500].mean() == pytest.approx(0, abs=1e-5)
    assert images[:1500].std() == pytest.approx(1, abs=1e-5)
    assert set(classes.tolist()) == set(range(10))


@pytest.mark.slow
def test_a_record_is_what_the_readers_read(tmp_path):
    from cdma.torch.networks.networks import build, stored_weights

    said = []
    schedule = Schedule(epochs=1, batch=500, probe=4, points=3)
    records = record(schedule, ["vgg"], lambda what, part: said.append((what, part)), weights=True)
    for name, data in records.items():
        (tmp_path / name).write_bytes(data)
    table = load_densities(tmp_path / "densities.json")
    assert list(table.networks) == ["vgg"]
    rows = load_ratios(tmp_path / "ratios.json")
    assert len(rows) == 15 * len(table.networks["vgg"])
    # The weights are those of a network that the benches of swapping train on.
    stored = stored_weights("vgg", tmp_path, "cpu")
    build("vgg").load_state_dict(stored)
    parts = [part for _, part in said]
    assert parts == sorted(parts)
    assert parts[-1] == pytest.approx(1)


@pytest.mark.slow
@pytest.mark.thorough
def test_learns_and_gives_every_sample():
    said = []
    trained = train_transformer(epochs=1, progress=said.append)
    # Grey values by themselves have 3.0 bits; one epoch is enough to use what came before.
    assert trained.loss < 3.0
    assert list(trained.samples) == list(SAMPLES) == [data.name for data in load_data()[: len(SAMPLES)]]
    for name, sample in trained.samples.items():
        assert (sample.dtype, sample.shape) == (np.uint16, (SAMPLE_WORDS,)), name
        assert sample.any(), name
    # Half of the attention is to the future, which has none.
    assert np.mean(trained.samples["attention.softmax"] == 0) == pytest.approx(0.49, abs=0.01)
    assert said == sorted(said)
    assert said[-1] == 1


def test_refuses_no_training():
    with pytest.raises(ParameterError, match="epochs is 0; it must be a whole number, 1 or more"):
        train_transformer(epochs=0)
