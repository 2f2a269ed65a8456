"""Training small networks and hooking PyTorch models; skipped where torch is not installed."""

import json
import math

import numpy as np
import pytest

from cdma import ParameterError
from cdma.app import main
from cdma.sim.profile.report import NothingToProfile, Settings, record
from cdma.sim.system.density_table import load_densities
from cdma.sim.training import characterise
from cdma.sim.training.training import NETWORKS, Schedule, digits, train

torch = pytest.importorskip("torch")
pytest.importorskip("sklearn")

QUICK = Schedule(epochs=1, batch=500, probe=4, points=3)


class TestTraining:
    @pytest.mark.parametrize("network", NETWORKS)
    def test_every_network_shows_its_layers(self, network):
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
    def test_is_the_same_again_whatever_the_caller_does(self):
        first = [snapshot.activations for snapshot in train("alexnet", QUICK)]
        second = []
        for snapshot in train("alexnet", QUICK):
            second.append(snapshot.activations)
            torch.manual_seed(99)
            torch.rand(5)
        for one, other in zip(first, second, strict=True):
            for name in one:
                assert one[name].tobytes() == other[name].tobytes()

    def test_seed(self):
        one, other = (next(train("vgg", Schedule(seed=seed, probe=2))).activations for seed in (1, 2))
        assert (one["relu0"] != other["relu0"]).any()

    def test_leaves_torch_as_it_was(self):
        torch.manual_seed(5)
        expected = torch.rand(3)
        torch.manual_seed(5)
        threads = torch.get_num_threads()
        list(train("alexnet", QUICK))
        assert torch.equal(torch.rand(3), expected)
        assert torch.get_num_threads() == threads
        assert not torch.are_deterministic_algorithms_enabled()

    @pytest.mark.slow
    def test_density_falls_in_training(self):
        snapshots = list(train("alexnet", Schedule(epochs=2, probe=16, points=2)))
        first, last = (np.count_nonzero(shot.activations["relu1"]) for shot in (snapshots[0], snapshots[-1]))
        assert last < 0.7 * first

    def test_digits(self):
        images, classes = digits()
        assert images.shape == (1797, 1, 32, 32)
        assert images[:1500].mean() == pytest.approx(0, abs=1e-5)
        assert images[:1500].std() == pytest.approx(1, abs=1e-5)
        assert set(classes.tolist()) == set(range(10))

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"epochs": 0}, "epochs is 0; it must be a whole number, 1 or more"),
            ({"points": 1}, "points is 1; it must be a whole number, 2 or more"),
            ({"batch": 1501}, "batch is 1501; there are 1500 training images"),
            ({"learning_rate": math.nan}, "learning_rate is nan; it must be more than 0"),
        ],
    )
    def test_schedule_refusals(self, settings, message):
        with pytest.raises(ParameterError, match=message):
            Schedule(**settings)

    def test_unknown_network(self):
        with pytest.raises(ParameterError, match="network is 'lenet'; it must be one of alexnet, vgg"):
            next(train("lenet"))


class TestRecord:
    def test_makes_what_the_readers_read(self, tmp_path):
        said = []
        records = characterise.record(QUICK, ["vgg"], lambda what, part: said.append((what, part)))
        for name, data in records.items():
            (tmp_path / name).write_bytes(data)
        table = load_densities(tmp_path / "densities.json")
        assert list(table.networks) == ["vgg"]
        rows = characterise.load_ratios(tmp_path / "ratios.json")
        assert len(rows) == 15 * len(table.networks["vgg"])
        samples = characterise.load_samples(tmp_path / "samples.npz")
        assert samples["vgg.pool1"].shape == (4, 32, 8, 8)
        parts = [part for _, part in said]
        assert parts == sorted(parts)
        assert parts[-1] == pytest.approx(1)

    @pytest.mark.slow
    def test_command(self, tmp_path, capsys):
        options = [
            "--train",
            str(tmp_path),
            "--networks",
            "alexnet",
            "--epochs",
            "1",
            "--seed",
            "3",
            "--json",
        ]
        assert main(["characterise", *options]) == 0
        report = json.loads(capsys.readouterr().out)
        assert {row["network"] for row in report["tensors"]} == {"alexnet"}
        schedule = json.loads((tmp_path / "densities.json").read_text(encoding="utf-8"))["schedule"]
        assert (schedule["epochs"], schedule["seed"]) == (1, 3)

    def test_unknown_network(self, tmp_path, capsys):
        assert main(["characterise", "--train", str(tmp_path / "new"), "--networks", "lenet"]) == 2
        assert "network is 'lenet'" in capsys.readouterr().err
        assert not (tmp_path / "new").exists()


class Model(torch.nn.Module):
    """A functional ReLU, a tensor kept twice, and a module that is used twice."""

    def __init__(self):
        super().__init__()
        self.conv0 = torch.nn.Conv2d(1, 8, 3, padding=1)
        self.conv1 = torch.nn.Conv2d(8, 8, 3, padding=1)
        self.relu = torch.nn.ReLU()

    def forward(self, image):
        hidden = torch.nn.functional.relu(self.conv0(image))
        return self.relu(self.conv1(self.relu(self.conv1(hidden))))


class TestRecording:
    def test_saved_tensors(self):
        torch.manual_seed(0)
        image = torch.randn(2, 1, 16, 16)
        model = Model()
        with record(model) as recording:
            model(image).sum().backward()
        report = recording.report()
        by_name = {tensor.name: tensor for tensor in report.tensors}
        # The image, the functional ReLU's output (of the model itself), and the module's output, twice.
        assert [tensor.shape for tensor in report.tensors] == [(2, 1, 16, 16), *[(2, 8, 16, 16)] * 3]
        assert {"conv0", "relu", "relu (2)"} <= set(by_name)
        assert 0.2 < by_name["relu"].density < 0.8
        assert "times as fast" in str(report)

    def test_gradients_are_those_without_recording(self):
        torch.manual_seed(0)
        model, image = Model(), torch.randn(2, 1, 16, 16)
        model(image).sum().backward()
        expected = [parameter.grad.clone() for parameter in model.parameters()]
        model.zero_grad()
        with record(model):
            loss = model(image).sum()
        loss.backward()
        for parameter, gradient in zip(model.parameters(), expected, strict=True):
            assert torch.equal(parameter.grad, gradient)

    def test_outputs_without_gradients(self):
        model = Model()
        with record(model, what="outputs") as recording, torch.no_grad():
            model(torch.randn(2, 1, 16, 16))
        names = [tensor.name for tensor in recording.report().tensors]
        assert names == ["conv0", "conv1", "relu", "conv1 (2)", "relu (2)"]

    def test_leaves_nothing_behind(self):
        model = Model()
        with pytest.raises(RuntimeError), record(model):
            model(torch.randn(2, 3, 16, 16))
        assert all(not module._forward_hooks and not module._forward_pre_hooks for module in model.modules())
        with record(model) as recording:
            pass
        model(torch.randn(2, 1, 16, 16)).sum().backward()
        with pytest.raises(NothingToProfile, match="run the model within the block, with gradients enabled"):
            recording.report()

    def test_bfloat16_and_settings(self):
        model = torch.nn.Sequential(torch.nn.Linear(64, 512), torch.nn.ReLU()).to(torch.bfloat16)
        with record(model, Settings(link=1e9)) as recording:
            model(torch.randn(32, 64, dtype=torch.bfloat16))
        tensors = {tensor.name: tensor for tensor in recording.report().tensors}
        assert (tensors["1"].dtype, tensors["1"].zvc.word_bits) == ("bfloat16", 16)
        assert tensors["1"].raw == 32 * 512 * 2
        assert recording.report().settings.link == 1e9
        assert recording.report(Settings(link=2e9)).settings.link == 2e9

    def test_small_tensors_and_parameters_are_left_out(self):
        model = torch.nn.Sequential(torch.nn.Conv2d(1, 64, 5), torch.nn.BatchNorm2d(64))
        with record(model) as recording:
            model(torch.randn(1, 1, 20, 20))
        assert [tensor.name for tensor in recording.report().tensors] == ["0", "1"]

    def test_refusals(self):
        with pytest.raises(ParameterError, match="what is 'all'; it must be 'saved' or 'outputs'"):
            record(torch.nn.ReLU(), what="all")
        with pytest.raises(ParameterError, match=r"the model is str; it must be a torch\.nn\.Module"):
            record("model")
