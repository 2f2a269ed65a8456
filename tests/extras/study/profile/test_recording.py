"""Profiles of a PyTorch model while it runs; skipped where torch is not installed."""

import gc

import pytest

from cdma import ParameterError
from cdma.sim.codec.fit import NothingToProfile
from cdma.study import Settings, record

torch = pytest.importorskip("torch")


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


def test_saved_tensors():
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


def test_gradients_are_those_without_recording():
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


def test_outputs_without_gradients():
    model = Model()
    with record(model, what="outputs") as recording, torch.no_grad():
        model(torch.randn(2, 1, 16, 16))
    names = [tensor.name for tensor in recording.report().tensors]
    assert names == ["conv0", "conv1", "relu", "conv1 (2)", "relu (2)"]


def test_leaves_nothing_behind():
    model = Model()
    with pytest.raises(RuntimeError), record(model):
        model(torch.randn(2, 3, 16, 16))
    assert all(not module._forward_hooks and not module._forward_pre_hooks for module in model.modules())
    with record(model) as recording:
        pass
    model(torch.randn(2, 1, 16, 16)).sum().backward()
    with pytest.raises(NothingToProfile, match="run the model within the block, with gradients enabled"):
        recording.report()


def test_bfloat16_and_settings():
    model = torch.nn.Sequential(torch.nn.Linear(64, 512), torch.nn.ReLU()).to(torch.bfloat16)
    with record(model, Settings(link=1e9)) as recording:
        model(torch.randn(32, 64, dtype=torch.bfloat16))
    tensors = {tensor.name: tensor for tensor in recording.report().tensors}
    assert (tensors["1"].dtype, tensors["1"].zvc.format.word_bits) == ("bfloat16", 16)
    assert tensors["1"].raw == 32 * 512 * 2
    assert recording.report().settings.link == 1e9
    assert recording.report(Settings(link=2e9)).settings.link == 2e9


def test_refusals():
    with pytest.raises(ParameterError, match="what is 'all'; it must be 'saved' or 'outputs'"):
        record(torch.nn.ReLU(), what="all")
    with pytest.raises(ParameterError, match=r"the model is str; it must be a torch\.nn\.Module"):
        record("model")


def test_indices_of_poolings_count_and_small_tensors_and_parameters_do_not():
    torch.manual_seed(0)
    layers = [torch.nn.Conv2d(1, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.MaxPool2d(2)]
    model = torch.nn.Sequential(*layers)
    with record(model) as recording:
        model(torch.randn(4, 1, 16, 16))
    kept = {(tensor.name, tensor.dtype): tensor.raw for tensor in recording.report().tensors}
    assert [name for name, _ in kept] == ["0", "1", "2", "2 (2)"]
    assert kept["2 (2)", "int64"] == 8 * 4 * 8 * 8 * 8


class Function(torch.nn.Module):
    """A module that computes a function."""

    def __init__(self, function):
        super().__init__()
        self.function, self.weight = function, torch.nn.Parameter(torch.ones(1024))

    def forward(self, *inputs):
        return self.function(*inputs, self.weight)


def test_broadcast_tensors_count_once():
    image, scale = torch.randn(64, 1024, requires_grad=True), torch.randn(1, 1024, requires_grad=True)
    model = Function(lambda image, scale, weight: image * scale.expand(64, 1024))
    with record(model) as recording:
        model(image, scale)
    assert sorted(tensor.raw for tensor in recording.report().tensors) == [4 * 1024, 4 * 64 * 1024]


def test_memory_that_is_written_to_is_another_tensor():
    model = Function(lambda inputs, weight: (inputs * weight, inputs.add_(1) * weight))
    with record(model) as recording:
        kept = model(torch.randn(1024))
    assert len(recording.report().tensors) == len(kept)


def test_several_steps_hold_nothing():
    model, image = Model(), torch.randn(2, 1, 16, 16)

    def tensors() -> int:
        gc.collect()
        return sum(issubclass(type(each), torch.Tensor) for each in gc.get_objects())

    with record(model) as recording:
        model(image).sum().backward()
        before = tensors()
        for _ in range(3):
            model(image).sum().backward()
        assert tensors() == before
    # Every step counts, although each uses the memory of the one before it.
    assert sum(tensor.shape == (2, 8, 16, 16) for tensor in recording.report().tensors) == 4 * 3


def test_a_sample_stands_for_a_large_tensor():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 1024), torch.nn.ReLU())
    images = torch.randn(512, 64)
    reports = []
    for sample in (None, 1 << 16):
        with record(model, sample=sample) as recording:
            model(images)
        reports.append({tensor.name: tensor for tensor in recording.report().tensors})
    whole, part = (report["1"] for report in reports)
    assert (part.raw, part.shape) == (whole.raw, whole.shape)
    assert part.density == pytest.approx(whole.density, abs=0.01)
    assert part.zvc.compressed == pytest.approx(whole.zvc.compressed, rel=0.01)
    with pytest.raises(ParameterError, match=r"^sample is 0; it must be at least 1024 elements"):
        record(model, sample=0)
