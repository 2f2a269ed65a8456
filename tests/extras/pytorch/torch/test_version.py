"""A tensor that was written to after autograd kept it is refused on the way back, as torch refuses it."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from cdma.torch import Bound, Policy, saved

MODIFIED = "one of the variables needed for gradient computation has been modified by an inplace operation"


#: Writes to a tensor: itself, what shares its memory, a part of it, and a lazy view.
WRITES = {
    "fill": lambda tensor: tensor.fill_(3),
    "detached": lambda tensor: tensor.detach().fill_(3),
    "part": lambda tensor: tensor.view(-1)[7:9].fill_(3),
    "conjugate": lambda tensor: tensor.conj().mul_(2),
}

#: Tensors that shrink, that do not, that are small, and that are kept as they are.
TENSORS = {
    "sparse": lambda: torch.eye(64),
    "dense": lambda: torch.randn(64, 64),
    "small": lambda: torch.randn(3, 3),
    "complex": lambda: torch.eye(64, dtype=torch.complex64),
    "conjugated": lambda: torch.eye(64, dtype=torch.complex64).conj(),
    "strided": lambda: torch.eye(64)[:, ::2],
    "half complex": lambda: torch.eye(64).to(torch.complex32),
    "subclass": lambda: torch.eye(64).as_subclass(Subclass),
}


class Subclass(Tensor):
    """A class of a program's own."""


@pytest.mark.filterwarnings("ignore:ComplexHalf")
@pytest.mark.parametrize("policy", [None, Bound(relative=-3)], ids=["lossless", "bound"])
@pytest.mark.parametrize("tensor", TENSORS)
def test_a_tensor_that_was_written_to_is_refused(tensor: str, policy: Policy | None) -> None:
    for write in WRITES.values():
        kept = TENSORS[tensor]()
        weight = torch.ones((), dtype=kept.dtype, requires_grad=True)
        with saved(nn.Module(), policy):
            result = (kept * weight).real
        write(kept)
        with pytest.raises(RuntimeError, match=MODIFIED):
            result.backward(torch.ones_like(result))


def test_tensors_written_to_are_kept_anew() -> None:
    """The second product's input is of a newer version, and is no longer what was kept for the first."""
    weight, inputs = torch.ones(1024, requires_grad=True), torch.arange(1024.0) % 2
    before = inputs.clone()
    with saved(nn.Module()) as context:
        first = inputs * weight
        # An operation may write what it keeps as long as no other one keeps anything.
        other = weight * weight
        inputs.add_(1)
        second = inputs * weight
    assert (context.report.tensors, context.report.shared) == (3, 1)
    assert other.requires_grad
    (found,) = torch.autograd.grad(second.sum(), weight)
    assert torch.equal(found, before + 1)
    with pytest.raises(
        RuntimeError,
        match=r"FloatTensor \[1024\]\], which was kept outside the model and is at version 1; expected version 0 instead",
    ):
        first.sum().backward()


def test_writes_that_torch_allows_are_allowed() -> None:
    """In place before it is kept, to what nobody reads, and of running means."""
    model = nn.Sequential(nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(inplace=True))
    inputs = torch.randn(4, 1, 16, 16)
    expected = model(inputs).sum() + model(inputs).sum()
    with saved(model):
        loss = model(inputs).sum() + model(inputs).sum()
    assert torch.equal(expected, loss)
    loss.backward()


def test_a_watch_holds_no_memory() -> None:
    inputs = torch.eye(512)
    weight = torch.ones(512, requires_grad=True)
    reference = torch.multiprocessing.reductions.StorageWeakRef(inputs.untyped_storage())
    with saved(nn.Module()) as context:
        result = (inputs * weight).sum()
    del inputs
    assert reference.expired()
    assert 0 < context.now[1] < context.now[0] / 20
    result.backward()
