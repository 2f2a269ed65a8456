"""Training whose tensors go through the driver's file, where the golden model is the engine."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest
import torch

from cdma.base.errors import ParameterError
from cdma.torch import Vdnn, offload
from cdma.torch.swapping import driven, driven_step
from cdma_linux import DeviceError, device
from tests.extras.linux.linux_file import LinuxFile

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LinuxFile:
    made = LinuxFile(tmp_path, monkeypatch)
    monkeypatch.setattr(driven, "Device", lambda path: device.Device(str(tmp_path / Path(path).name)))
    return made


def test_gradients_are_those_of_plain_training(file: LinuxFile) -> None:
    model = driven_step._network()
    loss, gradients = driven_step.step(model, nullcontext())
    context = offload(model, backend="cdma0")
    loss_there, gradients_there = driven_step.step(model, context)
    assert torch.equal(loss, loss_there)
    assert all(map(torch.equal, gradients, gradients_there))
    report = context.report
    assert report.moved < report.raw
    assert report.back == report.moved
    assert report.raw == sum(row.raw for row in report.rows.values()) > 10_000
    assert report.actions == {"compressed": report.tensors}
    assert len(file.done) >= 2 * report.tensors


def test_a_second_pass_is_in_the_account(file: LinuxFile) -> None:
    model = driven_step._network()
    context = offload(model, backend="cdma0")
    _, first = driven_step.step(model, context)
    once = context.report.moved
    _, second = driven_step.step(model, context)
    assert all(map(torch.equal, first, second))
    assert (context.report.passes, context.report.moved) == (2, 2 * once)


def test_options_that_a_backend_does_not_take_are_refused(file: LinuxFile) -> None:
    model = driven_step._network()
    with pytest.raises(
        ParameterError, match="the backend is 'gpu'; it must be an engine of the driver for Linux"
    ):
        offload(model, backend="gpu")
    with pytest.raises(ParameterError, match="policy is given with a backend"):
        offload(model, Vdnn(), backend="cdma0")
    with pytest.raises(ParameterError, match="the model is on meta"):
        offload(driven_step._network().to("meta"), backend="cdma0")


def test_without_the_device_one_sentence_says_so() -> None:
    with pytest.raises(DeviceError, match=r"^/dev/cdma99 is not there: load cdma\.ko"):
        offload(driven_step._network(), backend="cdma99")
