"""Training within ``cdma.torch.offload``: gradients bit for bit, and what is where when."""

from __future__ import annotations

import json
import weakref
from itertools import pairwise

import pytest
import torch
from torch import nn

from cdma.base.errors import ParameterError
from cdma.torch import Cdma, Cswap, Lms, Recompute, Vdnn, VdnnPlusPlus, offload
from cdma.torch.bench.swap_training import Paced
from cdma.torch.coded import Codec
from cdma.torch.swapping.context import Offload, Settings
from cdma.torch.transport import WrongReturn
from tests.extras.pytorch.clockwork_link import ClockworkLink, HeldLink
from tests.support.training import gradients, images, same

POLICIES = [
    Cdma(),
    Vdnn(),
    Vdnn("conv"),
    Vdnn("dynamic"),
    VdnnPlusPlus(),
    Lms(16, 0.3),
    Cswap(),
    Recompute(),
    Recompute(("3", "4")),
]


pytestmark = pytest.mark.usefixtures("one_thread")


def network() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.Conv2d(16, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Dropout(0.5),
        nn.Flatten(),
        nn.Linear(16 * 8 * 8, 10),
    )


def over(link, model, policy, *, device_bytes=None, ahead=64 << 20, debug=False, trace=False) -> Offload:
    """An offload over a link whose copies end when the test has them end."""
    return Offload(model, policy, link(1e9, 1e9), Settings(None, device_bytes, ahead, debug, trace))


def settle(context) -> None:
    """Waits for what is on its way from the device."""
    while context._device.leaving:
        for leaving in list(context._device.leaving):
            leaving.event.synchronize()
        context.report  # noqa: B018


class Fading(nn.Module):
    """Its buffer is another one in each pass, and gradients are made of it."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("scale", torch.ones(10))

    def forward(self, inputs):
        self.scale.mul_(0.5)
        return inputs * self.scale.clone()


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_buffers_are_those_of_plain_training(policy):
    """What is computed again has been counted before."""

    def trained(policy):
        torch.manual_seed(1)
        model = network().append(nn.Sequential(Fading()))
        found = []
        for _ in range(3):
            found += gradients(model, inputs, policy and offload(model, policy, device_bytes=1 << 30))
        return [*found, *(buffer.clone() for buffer in model.buffers())]

    inputs = images()
    assert same(trained(None), trained(policy))


@pytest.mark.parametrize("device_bytes", [100_000, 1 << 30], ids=["little", "much"])
@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_every_policy_gives_the_gradients_of_plain_training(policy, device_bytes):
    model, inputs = network(), images()
    expected = gradients(model, inputs)
    context = offload(model, policy, device_bytes=device_bytes, debug=True)
    for _ in range(4):
        assert same(expected, gradients(model, inputs, context))
    report = context.report
    assert report.passes == 4
    assert report.full == report.elsewhere == 0
    # What tensors had is returned when they go, and when a copy that nobody needs any more has ended.
    settle(context)
    assert (context._device.now, context._pool.taken) == (0, 0)


def test_policies_move_the_tensors_of_their_papers():
    model, inputs = network(), images()
    raw = 8 * 16 * 16 * 16 * 4

    def actions(policy, passes=1, **settings):
        context = offload(model, policy, **settings)
        for _ in range(passes):
            gradients(model, inputs, context)
        return context.report.rows

    everything = actions(Vdnn())
    assert everything["1"].actions == {"raw": 1}
    assert everything["2"].moved == everything["2"].raw == raw
    # What the model is called with is the caller's.
    assert "0" not in everything
    # The batch normalisation's input is not what a convolution reads; the second pass knows what reads the ReLU's.
    convolutions = actions(Vdnn("conv"), passes=2)
    assert convolutions["1"].actions == {"keep": 2}
    assert convolutions["2"].actions == {"keep": 1, "raw": 1}
    compressed = actions(Cdma())
    assert compressed["2"].actions == {"compressed": 1}
    assert 1.5 < compressed["2"].ratio < 2.2
    # What does not become smaller goes as it is.
    assert compressed["1"].actions == {"raw": 1}
    on_the_host = actions(VdnnPlusPlus())
    assert on_the_host["2"].moved == raw
    # All of a pass has room, what no convolution reads has, or nothing has.
    total = sum(row.raw for row in everything.values())
    assert "raw" in actions(Vdnn("dynamic"), device_bytes=total)["1"].actions
    assert actions(Vdnn("dynamic"), 2, device_bytes=3 * total)["2"].actions == {"raw": 1, "keep": 1}
    assert actions(Vdnn("dynamic"), 2, device_bytes=raw // 4)["1"].actions == {"raw": 2}
    # Only what is large moves, and only once there is little room.
    lms = actions(Lms(raw >> 10, 0), device_bytes=1 << 30)
    assert lms["2"].actions == {"raw": 1}
    assert lms["5"].actions == {"keep": 1}
    assert all("raw" not in row.actions for row in actions(Lms(0, 1), device_bytes=1 << 30).values())


def test_the_host_codec_makes_what_the_host_holds_smaller():
    model, inputs = network(), images()
    peaks = []
    for policy in (Vdnn(), VdnnPlusPlus()):
        context = offload(model, policy)
        with context:
            loss = model(inputs).square().mean()
            for reference in list(context._order.values()):
                swapped = reference()
                if swapped is not None and swapped.hold.host is not None:
                    swapped.hold.host.ready.synchronize()
        peaks.append(context._pool.taken)
        loss.backward()
    assert peaks[1] < 0.9 * peaks[0]


def test_a_full_host_keeps_tensors_on_the_device_and_counts_them():
    model, inputs = network(), images()
    expected = gradients(model, inputs)
    context = offload(model, Vdnn(), host_bytes=200_000, debug=True)
    for _ in range(3):
        assert same(expected, gradients(model, inputs, context))
    report = context.report
    assert report.full > 0
    assert 0 < report.peak_host <= 200_000
    assert report.actions["keep"] > report.full


def test_the_bound_of_the_device_is_kept():
    """Copies end when they are awaited: without a bound everything waits on the device, with one the forward pass waits."""
    model, inputs = network(), images()
    largest = 8 * 16 * 16 * 16 * 4
    peaks = {}
    for bound in (None, 2 * largest + 4096):
        context = over(HeldLink, model, Vdnn(), device_bytes=bound)
        gradients(model, inputs, context)
        peaks[bound] = context.report.peak_device
        assert context.report.over == 0
    assert peaks[None] > 3 * largest
    assert peaks[2 * largest + 4096] <= 2 * largest + 4096


def test_the_bound_of_the_device_is_kept_by_streams():
    """A stream is made in memory that any has room in, which is more than its elements have."""
    model = nn.Sequential(*(layer for _ in range(5) for layer in (nn.Linear(256, 256), nn.ReLU())))
    inputs = torch.randn(256, 256)
    # Less than two streams take, and more than one and its elements.
    bound = (2 << 18) + (3 << 12)
    context = over(HeldLink, model, Cdma(), device_bytes=bound)
    gradients(model, inputs, context)
    assert context.report.actions["compressed"] >= 4
    assert context.report.over == 0
    assert context.report.peak_device <= bound


def test_copies_come_back_ahead_by_bytes():
    model = nn.Sequential(*(nn.Sequential(nn.Linear(256, 256), nn.Tanh()) for _ in range(6)))
    inputs = torch.randn(2048, 256)
    context = over(ClockworkLink, model, Vdnn(), ahead=4 << 20)
    with context:
        loss = model(inputs).square().mean()
    references = [one() for one in context._order.values()]
    away = [one for one in references if one is not None and one.is_away]
    away[-1].restored()
    # Two of 2 MiB are 4 MiB.
    assert [one.hold.coming is not None for one in away[-4:]] == [False, True, True, False]
    loss.backward()


@pytest.mark.parametrize("policy", [Vdnn(), Cdma(), Cswap(refresh=2)], ids=repr)
@pytest.mark.parametrize("trace", [False, True])
def test_what_came_back_is_gone_when_it_was_read(policy, trace, monkeypatch):
    """Neither blocks of the host, nor what is learnt, nor a trace keeps memory of the device."""
    came: list[weakref.ref] = []

    def back(self, source, after=None):
        copy = coming(self, source, after)
        came.append(weakref.ref(copy.target.untyped_storage()))
        return copy

    coming = ClockworkLink.back
    monkeypatch.setattr(ClockworkLink, "back", back)
    most = 0

    def count(gradient):
        nonlocal most
        most = max(most, sum(one() is not None for one in came))

    model = nn.Sequential(*(nn.Sequential(nn.Linear(64, 64), nn.ReLU()) for _ in range(12)))
    for layer in model:
        layer.register_forward_hook(lambda module, inputs, output: output.register_hook(count) and None)
    context = over(ClockworkLink, model, policy, device_bytes=1, ahead=0, trace=trace)
    for _ in range(5):
        gradients(model, torch.randn(64, 64), context)
    assert len(came) > 40
    assert most <= 2
    assert not any(one() is not None for one in came)


def test_passes_that_are_over_cost_nothing():
    """Numbers begin anew, and those of a graph that is still there come first."""
    model, inputs = network(), images()
    context = offload(model, Vdnn(), debug=True)
    expected = gradients(model, inputs)
    with context:
        torch.manual_seed(3)
        kept = model(inputs).square().mean()
    for _ in range(3):
        assert same(expected, gradients(model, inputs, context))
    there = [one for reference in context._order.values() if (one := reference()) is not None]
    assert [one.number for one in there] == list(range(len(there)))
    assert context._count < 3 * len(there)
    model.zero_grad()
    kept.backward()
    assert same(expected, [weight.grad for weight in model.parameters()])


def test_a_stream_of_the_last_pass_that_was_not_whole_is_an_error_once():
    """What a GPU says of streams is looked at when the next pass begins, and by who reads the report."""
    context = offload(model := network(), Cdma())
    gradients(model, images(), context)
    context._codec = Codec(torch.device("cpu"), kernels=True)
    context._codec._fault.fill_(1)
    with pytest.raises(WrongReturn, match="not what was made on the GPU"):
        context.report  # noqa: B018
    assert context.report.passes == 1


def test_a_graph_can_be_read_twice_and_dropped_unread():
    model, inputs = network(), images()
    context = over(ClockworkLink, model, Cdma(), debug=True)
    with context:
        loss = model(inputs).square().mean()
        dropped = model(inputs).square().mean()
    del dropped
    first = torch.autograd.grad(loss, list(model.parameters()), retain_graph=True)
    second = torch.autograd.grad(loss, list(model.parameters()))
    assert same(first, second)
    del loss
    # What came back for the first time is there for the second one.
    assert 0 < context.report.back <= context.report.moved / 2
    assert (context._device.now, context._pool.taken) == (0, 0)


def test_the_trace_has_lanes_and_the_report_a_table(tmp_path):
    model, inputs = network(), images()
    context = over(lambda *_: Paced(1e9, 1e9), model, Cdma(), trace=True)
    with context:
        loss = model(inputs).square().mean()
    # What has not left when it is read does not come back.
    settle(context)
    loss.backward()
    report = context.report
    report.trace(tmp_path / "x.json")
    events = json.loads((tmp_path / "x.json").read_text())["traceEvents"]
    lanes = {event["tid"]: event["args"]["name"] for event in events if event["ph"] == "M"}
    spans = [event for event in events if event["ph"] == "X"]
    assert {lanes[span["tid"]] for span in spans} == {"compute", "codec", "out", "back", "wait"}
    assert all(span["dur"] >= 0 and span["ts"] >= -1 for span in spans)
    # Copies in one direction are one behind the other, at the rate of the link.
    for lane in ("out", "back"):
        copies = sorted(
            (span["ts"], span["dur"], span["args"]["bytes"]) for span in spans if lanes[span["tid"]] == lane
        )
        assert sum(size for _, _, size in copies) == (report.moved if lane == "out" else report.back)
        assert all(dur * 1e-6 >= size / 1e9 * 0.99 for _, dur, size in copies)
        assert all(this[0] + this[1] <= after[0] + 1 for this, after in pairwise(copies))
    text = str(report)
    assert "compressed" in text
    assert "at most" in text
    assert json.loads(json.dumps(report.as_dict()))["rows"]["2"]["actions"] == {"compressed": 1}
    with pytest.raises(ParameterError, match="trace=True"):
        offload(model).report.trace(tmp_path / "y.json")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"policy": "cdma"}, "must be one of cdma.torch"),
        ({"host_bytes": -1}, "host_bytes"),
        ({"policy": Lms()}, "give device_bytes"),
        ({"policy": Vdnn("dynamic")}, "give device_bytes"),
    ],
)
def test_bad_settings_are_refused(arguments, message):
    policy = arguments.pop("policy", None)
    with pytest.raises(ParameterError, match=message):
        offload(network(), policy, **arguments)


def test_bad_policies_and_models_are_refused():
    with pytest.raises(ParameterError, match="moves is 'some'"):
        Vdnn("some")
    with pytest.raises(ParameterError, match="fraction is 2"):
        Lms(1, 2)
    with pytest.raises(ParameterError, match=r"torch\.nn\.Module"):
        offload(lambda inputs: inputs)
    with pytest.raises(ParameterError, match="no module 'x'"):
        offload(network(), Recompute(("x",)))
    with pytest.raises(ParameterError, match="no module 'xy'"):
        offload(network(), Recompute("xy"))


def test_a_module_has_its_own_forward_again_behind_the_block():
    model = network()
    own = model[3].forward = model[3].forward
    with offload(model, Recompute(("3", "4"))):
        assert model[3].forward is not own
        model(images())
    assert model[3].forward is own
    assert "forward" not in vars(model[4])


def test_the_blocks_of_a_list_are_computed_again():
    class Blocks(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.blocks = nn.ModuleList(
                nn.Sequential(nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 64)) for _ in range(3)
            )
            self.blocks.append(self.blocks[0])

        def forward(self, inputs):
            for block in self.blocks:
                inputs = block(inputs)
            return inputs

    model, inputs = Blocks(), torch.randn(64, 64)
    expected = gradients(model, inputs)
    for policy in (Recompute(), Recompute(("blocks",)), Recompute(("blocks.0", "blocks.1", "blocks.2"))):
        context = offload(model, policy)
        assert same(expected, gradients(model, inputs, context))
        # Nothing but the inputs of blocks, and what the loss is made of.
        assert context.report.tensors == 4


@pytest.mark.parametrize("begins", [nn.ReLU(True), nn.Sequential(nn.ReLU6(True), nn.Linear(64, 64))])
def test_what_begins_in_place_is_not_computed_again(begins):
    """What it was called with is gone: PyTorch's own checkpoint of it is an error, too."""
    model, inputs = nn.Sequential(nn.Linear(64, 64), nn.BatchNorm1d(64), begins), torch.randn(64, 64)
    expected = gradients(model, inputs)
    assert same(expected, gradients(model, inputs, offload(model, Recompute())))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_on_a_card_every_policy_gives_the_gradients_of_plain_training(policy):
    torch.use_deterministic_algorithms(True)
    model, inputs = network().cuda(), images().cuda()
    expected = gradients(model, inputs)
    context = offload(model, policy, device_bytes=1 << 20, debug=True)
    for _ in range(4):
        assert same(expected, gradients(model, inputs, context))
