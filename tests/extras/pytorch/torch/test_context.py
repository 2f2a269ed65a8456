"""Training within ``cdma.torch.saved``: what backward is given back, what is held, and what is left alone."""

from __future__ import annotations

import contextlib
import gc

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from cdma.base.errors import ParameterError
from cdma.torch import AcGc, Bound, Comet, Lossless, saved
from cdma.torch.context import Saved
from cdma.torch.ledger import Ledger
from tests.support.training import gradients, images, same

pytestmark = pytest.mark.usefixtures("one_thread")


def network() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.Dropout(0.5),
        nn.Flatten(),
        nn.Linear(8 * 8 * 8, 10),
    )


@pytest.mark.parametrize("inside", [False, True])
def test_without_loss_training_is_the_same_bit_for_bit(inside):
    model, inputs = network(), images()
    expected = gradients(model, inputs)
    context = saved(model)
    assert same(expected, gradients(model, inputs, context, inside))
    report = context.report
    assert report.passes == 1
    assert report.error == 0
    assert 1 < report.ratio < 4
    assert report.held < report.raw
    assert report.ratio_conv > 1
    assert context.now == (0, 0)


def test_a_block_that_calls_parts_of_the_model_is_a_pass_unless_it_calls_the_model():
    model = network()
    context = saved(model)
    for number in range(1, 4):
        with context:
            loss = model[1](model[0](images())).sum()
        loss.backward()
        assert context.report.passes == number
        # The same tensors have the same places in every pass.
        assert len(context._readers) == 2
    for _ in range(3):
        with context:
            loss = model[0](images()).sum() + model(images()).sum()
        loss.backward()
    # The first of these blocks could not know that the model would be called.
    assert context.report.passes == 6 + 1


def test_a_hook_that_fails_before_those_of_the_context_leaves_names_what_they_are():
    inner = nn.Sequential(nn.Linear(32, 32), nn.Tanh())

    def fail(module, inputs):
        raise ValueError

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = inner, nn.Linear(32, 32)

        def forward(self, inputs):
            with contextlib.suppress(ValueError):
                self.first(inputs)
            # What the module itself keeps has its own name.
            return self.second(inputs).exp()

    model = Outer()
    failing = inner.register_forward_pre_hook(fail)
    with saved(model) as context:
        model(torch.randn(32, 32)).sum().backward()
    failing.remove()
    assert set(context.report.layers) == {"second", "model"}


def test_the_report_counts_the_bytes_that_are_in_memory():
    """Bytes in the objects that autograd has, counted by the collector, are those that the report says."""
    from cdma.torch.context import _Kept

    model = network()
    context = saved(model)
    with context:
        loss = model(images()).square().mean()
    there = [item for item in gc.get_objects() if type(item) is _Kept]
    held = 0
    for item in there:
        what = item._what
        held += what.nbytes if isinstance(what, torch.Tensor) else len(what.restored.stream)
    table = 3
    assert context.now[1] - table * len(there) <= held <= context.now[1]
    assert context.now[0] == context.report.peak_raw == context.report.raw
    loss.backward()
    del there, item, what
    assert context.now == (0, 0)


def test_what_convolutions_read_counts_with_the_size_that_it_has_in_the_end():
    ledger, things = Ledger(), [Thing(), Thing(), Thing()]
    early, late, other = (ledger.keep(thing, "layer", 100, 100) for thing in things)
    ledger.read_by_convolution(early)
    for entry, held in ((early, 40), (late, 30), (other, 20)):
        ledger.size(entry, held)
    ledger.read_by_convolution(late)
    report = ledger.report
    assert (report.conv_raw, report.conv_held, report.held) == (200, 40 + 30, 90)
    # One that is not kept small after all.
    ledger.size(early, 100)
    assert report.ratio_conv == 200 / 130


class Thing:
    """What is kept."""


def test_a_tensor_that_is_kept_twice_is_compressed_once():
    """A ReLU keeps its result, the pooling and the convolution behind it their input."""
    model = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 3))
    context = saved(model)
    gradients(model, images(), context)
    report = context.report
    assert report.shared == 1
    assert report.layers["1"].tensors == 1
    assert "2" not in report.layers
    # The input and the ReLU's result are what convolutions read; the result is in no other account twice.
    assert report.conv_raw == report.layers["0"].raw + report.layers["1"].raw


def test_memory_that_is_used_again_is_not_mistaken():
    """The compressed tensor is gone, and the next one has its address."""

    def sums(inputs):
        return sum((inputs - number / 10).relu().square().sum() for number in range(20))

    inputs = torch.randn(1 << 18, requires_grad=True)
    (expected,) = torch.autograd.grad(sums(inputs), inputs)
    with saved(nn.Module()) as context:
        result = sums(inputs)
    (found,) = torch.autograd.grad(result, inputs)
    assert torch.equal(expected, found)
    assert (context.report.tensors, context.report.shared) == (20, 20)


@pytest.mark.parametrize("policy", [Lossless(), Bound(relative=-3)], ids=["lossless", "bound"])
def test_beside_autocast(policy):
    model, inputs = network(), images()
    with torch.autocast("cpu", torch.bfloat16):
        expected = gradients(model, inputs)
        context = saved(model, policy)
        found = gradients(model, inputs, context)
    assert same(expected, found) == isinstance(policy, Lossless)
    # The weights in bfloat16, which autocast makes, are not among what is compressed.
    linear = context.report.layers.get("8")
    assert linear is None or linear.raw == 8 * 512 * 2


@pytest.mark.parametrize("reentrant", [pytest.param(False, marks=pytest.mark.slow), True])
def test_beside_checkpoints(reentrant):
    class Checked(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = network()[:3], network()[3:6]

        def forward(self, inputs):
            return self.second(checkpoint(self.first, inputs, use_reentrant=reentrant))

    model, inputs = Checked(), images().requires_grad_()
    expected = gradients(model, inputs)
    for inside in (False, True):
        context = saved(model)
        assert same(expected, gradients(model, inputs, context, inside))
        assert context.report.passes == 1


def test_whole_numbers_and_flags_have_no_loss():
    inputs = torch.randn(8, 1000, requires_grad=True)
    with saved(nn.Module(), Bound(relative=-1)) as context:
        places = inputs.argsort(dim=1, descending=True)
        result = torch.where(inputs > 0, inputs, 0).gather(1, places)[:, :500].sum()
    result.backward()
    assert context.report.ratio > 2
    assert torch.equal(inputs.grad, torch.zeros(8, 1000).scatter(1, places[:, :500], 1.0) * (inputs > 0))


class Recorded(Saved):
    """Says of each tensor by how much what comes back is off, and its largest number."""

    def __init__(self, model, policy):
        super().__init__(model, policy)
        self.found = []

    def _keep(self, tensor):
        packed = super()._keep(tensor)
        if tensor.is_floating_point():
            error = (self._give_back(packed) - tensor).abs().max()
            self.found.append((float(error), float(tensor.abs().max())))
        return packed


@pytest.mark.parametrize("exponent", [-2, -6])
def test_the_bound_is_kept(exponent):
    """In every tensor, and made use of in some; with ``keep_nonzero`` a number may be twice as far off."""
    model, inputs = network(), images()
    for keep_nonzero in (False, True):
        bits = (4, 8, 16)
        absolute = Recorded(model, Bound(absolute=exponent, bits=bits, keep_nonzero=keep_nonzero))
        relative = Recorded(model, Bound(relative=exponent, bits=bits, keep_nonzero=keep_nonzero))
        for context in (absolute, relative):
            gradients(model, inputs, context)
        allowed = (1 + keep_nonzero) * 2.0**exponent
        most = max(error for error, _ in absolute.found)
        assert 0.9 * allowed < most <= allowed
        assert absolute.report.error == most
        shares = [error / peak for error, peak in relative.found if peak]
        # The power of two that is not above the bound may be half of it.
        assert 0.5 * allowed < max(shares) <= allowed
        assert relative.report.error == max(error for error, _ in relative.found)
    # A coarse bound takes few bits.
    assert relative.report.bits in (4, 8)
    assert relative.report.ratio_conv > 5 or exponent == -6


@pytest.mark.parametrize("value", [float("nan"), -float("inf")])
def test_tensors_out_of_range_are_kept_without_loss(value):
    model, inputs = nn.Linear(64, 8), torch.randn(64, 64)
    inputs[3, 5] = value
    (expected,) = torch.autograd.grad(model(inputs).sum(), model.weight)
    with saved(model, Bound(relative=-3)) as context:
        result = model(inputs).sum()
    (found,) = torch.autograd.grad(result, model.weight)
    assert (context.report.out_of_range, context.report.bits) == (1, 0)
    assert torch.equal(expected.view(torch.int32), found.view(torch.int32))


@pytest.mark.parametrize(
    ("policy", "squared", "layers"),
    [
        # Of the last layer alone: what arrives at the others has the errors of normalisations. The rule's 0.32 is 0.58 for
        # errors that are spread evenly, and the mean of the gradients' squares is above the square of their mean.
        (Comet(part=0.01, others=Bound(relative=-7)), 2 * 0.01**2 * (0.58 / 0.32) ** 2, ["8"]),
        (Comet(part=0.02, others=Bound(relative=-7)), 2 * 0.02**2 * (0.58 / 0.32) ** 2, ["8"]),
        # Half of what the rule allows: its form has the errors of all layers together.
        (AcGc(tightness=1, others=Bound(relative=-7)), 2.0**-1 / 2, ["0", "3", "8"]),
        (AcGc(tightness=3, others=Bound(relative=-7)), 2.0**-3 / 2, ["0", "3", "8"]),
    ],
    ids=["comet", "comet, coarser", "acgc", "acgc, finer"],
)
def test_rules_learn_from_the_first_pass_and_keep_what_they_allow(policy, squared, layers):
    """COMET's is the square of the errors' deviation, to that of the gradient's mean; AC-GC's, that of sums of squares."""
    model, inputs = network(), images()
    context = saved(model, policy)
    plain = gradients(model, inputs)
    assert same(plain, gradients(model, inputs, context))
    assert context.report.bits == 0
    first = context.report.held
    names = [name for name, _ in model.named_parameters()]
    exact = dict(zip(names, plain, strict=True))
    found = dict(zip(names, gradients(model, inputs, context), strict=True))
    assert context.report.held - first < 0.3 * first
    for layer in layers:
        gradient, other = exact[f"{layer}.weight"], found[f"{layer}.weight"]
        size = gradient.abs().mean().square() if isinstance(policy, Comet) else gradient.square().mean()
        share = float((gradient - other).square().mean() / size)
        assert squared / 16 < share < squared
    # The gradient of a bias needs nothing that is kept.
    assert torch.equal(exact["8.bias"], found["8.bias"])


@pytest.mark.parametrize(
    ("refused", "message"),
    [
        (lambda: saved(3), r"must be a torch\.nn\.Module"),
        (lambda: saved(network(), "lossless"), "must be one of cdma"),
        (Bound, "either relative or absolute"),
        (lambda: Bound(relative=-3, bits=(8, 4)), "rising"),
        (lambda: Comet(refresh=0), "refresh"),
    ],
)
def test_refusals(refused, message):
    with pytest.raises(ParameterError, match=message):
        refused()
    with saved(network()) as context, pytest.raises(ParameterError, match="twice"):
        context.__enter__()
