"""Tensors in every form that torch has come back as they were, and the model's own memory is left alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from cdma.torch import Bound, Comet, Policy, saved
from cdma.torch.ledger import Report
from cdma.torch.memory import is_plain


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


class Keeping(torch.autograd.Function):
    """Keeps a tensor, and is the identity for another one; a test looks at what comes back."""

    @staticmethod
    def forward(context: Any, value: Tensor, kept: Tensor, seen: list[Tensor]) -> Tensor:
        context.save_for_backward(kept)
        context.seen = seen
        return value.clone()

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        context.seen += context.saved_tensors
        return gradient, None, None


def given_back(kept: Tensor) -> tuple[Tensor, int]:
    """What the backward pass gets in place of a tensor, and how many tensors the account has."""
    seen: list[Tensor] = []
    value = torch.ones((), requires_grad=True)
    with saved(nn.Module()) as context:
        result = Keeping.apply(value, kept, seen)
    result.backward()
    return seen[0], context.report.tensors


def same_gradients(
    function: Callable[[], Tensor],
    inputs: Sequence[Tensor],
    model: nn.Module | None = None,
    policy: Policy | None = None,
) -> Report:
    """Holds the gradients of a function within a context against those of torch, and returns the context's report."""
    expected = torch.autograd.grad(function(), inputs)
    with saved(model or nn.Module(), policy) as context:
        result = function()
    found = torch.autograd.grad(result, inputs)
    for one, other in zip(expected, found, strict=True):
        pairs = zip(one.unbind(), other.unbind(), strict=True) if one.is_nested else [(one, other)]
        assert all(torch.equal(*pair) for pair in pairs)
    return context.report


#: Zeros among the numbers, so that they shrink.
def numbers(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(*shape, dtype=dtype) * (torch.rand(*shape) < 0.3)


def spectrum(inputs: Tensor) -> Tensor:
    found = torch.fft.rfft(inputs)
    return (found * found.conj()).real


LAZY = {
    "power spectrum": spectrum,
    "conjugated": lambda x: torch.complex(x, 2 * x).conj() * torch.complex(x, 2 * x),
    "negated": lambda x: torch._neg_view(x) * x,
    "negated, dense": lambda x: torch._neg_view(x * x).exp() * x,
    "imaginary part": lambda x: torch.complex(x, 2 * x).conj().imag * x,
    "both": lambda x: torch._neg_view(torch.complex(x, x * x).conj()) ** 2,
    "adjoint": lambda x: torch.complex(x, x * x).mH @ torch.complex(x, x),
    "every third": lambda x: torch.complex(x, x * x).conj()[:, ::3].exp(),
}


@pytest.mark.parametrize("name", LAZY)
def test_gradients_of_lazy_views_are_those_of_torch(name: str) -> None:
    for inputs in (torch.randn(64, 64), numbers(64, 64)):
        inputs.requires_grad_()
        same_gradients(lambda inputs=inputs: LAZY[name](inputs).abs().sum(), [inputs])


def test_negated_numbers_keep_their_bound() -> None:
    model, inputs = nn.Linear(512, 1), torch.randn(1, 512)
    with saved(model, Bound(relative=-3, keep_nonzero=False)) as context:
        result = model(torch._neg_view(inputs)).sum()
    result.backward()
    assert context.report.bits
    assert 0 < (model.weight.grad + inputs).abs().max() <= 2.0**-3 * inputs.abs().max()


class Subclass(Tensor):
    """A class of a program's own."""


TYPES = (
    *(torch.bool, torch.uint8, torch.int16, torch.int64, torch.float8_e4m3fn, torch.float8_e5m2),
    *(torch.float16, torch.bfloat16, torch.float64, torch.complex64, torch.complex128),
)
COMPRESSED = {
    "strided": lambda: numbers(64, 64)[::2, 1::3],
    "expanded": lambda: numbers(64, 1).expand(64, 64),
    "expanded and strided": lambda: numbers(64, 64)[:, ::2].unsqueeze(1).expand(64, 9, 32),
    "overlapping": lambda: numbers(4096).unfold(0, 64, 1),
    "overlapping with gaps": lambda: numbers(4096).as_strided((30, 64), (128, 3)),
    "in the middle of another": lambda: numbers(8192)[1001:5001],
    **{str(dtype): lambda dtype=dtype: (numbers(64, 64) * 9).to(dtype) for dtype in TYPES},
}
KEPT_AS_THEY_ARE = {
    "without elements": lambda: torch.zeros(0, 5),
    "without memory": lambda: torch._efficientzerotensor((64, 64)),
    "meta": lambda: torch.zeros(64, 64, device="meta"),
    "sparse": lambda: numbers(64, 64).to_sparse(),
    "sparse rows": lambda: numbers(64, 64).to_sparse_csr(),
    "quantised": lambda: torch.quantize_per_tensor(numbers(64, 64), 0.1, 3, torch.qint8),
    "quantised by channel": lambda: torch.quantize_per_channel(
        numbers(64, 64), torch.rand(64), torch.zeros(64), 0, torch.qint8
    ),
    "nested, jagged": lambda: torch.nested.nested_tensor(
        [numbers(40, 8), numbers(30, 8)], layout=torch.jagged
    ),
    "oneDNN": lambda: numbers(64, 64).to_mkldnn(),
    "half complex": lambda: numbers(64, 64).to(torch.complex32),
    "subclass": lambda: numbers(64, 64).as_subclass(Subclass),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("form", [*COMPRESSED, *KEPT_AS_THEY_ARE])
def test_a_tensor_of_any_form_comes_back(form: str) -> None:
    kept = (COMPRESSED | KEPT_AS_THEY_ARE)[form]()
    found, counted = given_back(kept)
    assert counted == (form in COMPRESSED)
    assert (type(found), found.dtype, found.layout) == (type(kept), kept.dtype, kept.layout)
    for one, other in zip(parts(found), parts(kept), strict=True):
        assert one.shape == other.shape
        assert torch.equal(one, other)


def parts(tensor: Tensor) -> list[Tensor]:
    """Tensors that torch can compare."""
    if tensor.is_nested:
        return list(tensor.unbind())
    if tensor.is_meta:
        return [torch.zeros(tensor.shape)]
    if tensor.is_quantized:
        return [tensor.dequantize()]
    if tensor.dtype == torch.complex32:
        return [torch.view_as_real(tensor)]
    return [tensor.float() if tensor.itemsize == 1 else tensor.to_dense()]


def test_views_of_the_same_memory_are_not_mistaken_for_each_other() -> None:
    memory = numbers(8192)
    gaps = memory.as_strided((32, 64), (256, 2))
    views = [
        memory,
        memory[:4096],
        memory[4096:],
        memory[:2048],
        memory[:4096].view(torch.int32),
        gaps,
        gaps.t(),
        memory.as_strided((64, 32), (2, 256)),
        memory[:4096].view(64, 64).t(),
        memory[:4096].unfold(0, 64, 1),
    ]
    seen: list[Tensor] = []
    value = torch.ones((), requires_grad=True)
    with saved(nn.Module()) as context:
        # One adds to the other, so that the backward pass has their order reversed.
        for view in views:
            value = Keeping.apply(value, view, seen)
    value.backward()
    for found, view in zip(reversed(seen), views, strict=True):
        assert found.dtype == view.dtype
        assert torch.equal(found, view)
    # What lies in the order of memory is shared, and so are two views with the same strides.
    assert context.report.shared == 3


def test_windows_that_overlap_are_held_once() -> None:
    inputs = torch.randn(4096, requires_grad=True)
    with saved(nn.Module()) as context:
        result = inputs.unfold(0, 64, 1).square().sum()
    assert context.report.raw == inputs.nbytes
    result.backward()


@pytest.mark.filterwarnings("ignore")
def test_gradients_of_nested_tensors_vmap_forward_mode_and_second_order_are_those_of_torch() -> None:
    nested = torch.nested.nested_tensor([numbers(40, 8), numbers(30, 8)], requires_grad=True)
    same_gradients(lambda: torch.nested.to_padded_tensor((nested * nested).sin(), 0.0).sum(), [nested])
    inputs, tangent = numbers(8, 512).requires_grad_(), torch.ones(8, 512)
    same_gradients(lambda: torch.func.vmap(lambda row: (row.sin() * row).sum())(inputs).sum(), [inputs])

    def forward() -> Tensor:
        with torch.autograd.forward_ad.dual_level():
            dual = torch.autograd.forward_ad.make_dual(inputs, tangent)
            return torch.autograd.forward_ad.unpack_dual(dual.sin() * dual).tangent.sum()

    same_gradients(forward, [inputs])
    model = nn.Linear(512, 512)

    def second() -> Tensor:
        (gradient,) = torch.autograd.grad(model(inputs).sin().sum(), inputs, create_graph=True)
        return gradient.square().sum()

    same_gradients(second, [inputs, model.weight], model)


def test_wrappers_are_no_elements_in_memory() -> None:
    found: list[bool] = []

    def function(row: Tensor) -> Tensor:
        with saved(nn.Module()):
            found.append(is_plain(row))
            return (row.sin() * row).sum()

    inputs = numbers(8, 512).requires_grad_()
    (gradient,) = torch.autograd.grad(torch.func.vmap(function)(inputs).sum(), inputs)
    assert torch.equal(gradient, inputs.cos() * inputs + inputs.sin())
    found.append(is_plain(torch._to_functional_tensor(inputs.detach())))
    assert found == [False, False]
    assert is_plain(inputs)


class Coder(nn.Module):
    """Has a way in beside its call, which uses parameters, buffers and views of them, with modules and without."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(64, 64, bias=False)
        self.weight = nn.Parameter(torch.randn(64, 64))
        self.register_buffer("scale", torch.randn(64, 64))

    def forward(self, inputs: Tensor) -> Tensor:
        return self.encode(inputs)

    def encode(self, inputs: Tensor) -> Tensor:
        self.scale = self.scale.clone()
        inputs = self.first(functional.linear(inputs, self.weight))
        return (inputs @ self.weight[:32].t() @ self.scale[32:]).sum() + (inputs * self.scale).sum()


@pytest.mark.parametrize(
    "policy", [Bound(relative=-3), Comet(others=Bound(relative=-3))], ids=["bound", "comet"]
)
@pytest.mark.parametrize(
    "enter", [Coder.__call__, Coder.encode, Coder.forward], ids=["call", "method", "forward"]
)
def test_parameters_and_buffers_are_left_alone_however_the_model_is_entered(
    policy: Bound | Comet, enter: Callable[[Coder, Tensor], Tensor]
) -> None:
    """The gradient of the input has no other factors."""
    model, inputs = Coder(), torch.randn(64, 64, requires_grad=True)
    for _ in range(3):
        report = same_gradients(lambda: enter(model, inputs), [inputs], model, policy)
        # The input, what the first layer makes of it, what it gives, and the product behind.
        assert report.raw <= 3 * inputs.nbytes + inputs.nbytes // 2


class Scales(nn.Module):
    """Scales by a buffer, without another module."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("scale", torch.randn(64, 64))

    def forward(self, inputs: Tensor) -> Tensor:
        self.scale = self.scale.clone()
        return self.apply_scale(inputs)

    def apply_scale(self, inputs: Tensor) -> Tensor:
        return (inputs * self.scale.t()).sum()


@pytest.mark.parametrize("enter", [Scales.__call__, Scales.apply_scale], ids=["call", "method"])
def test_views_of_buffers_are_left_alone(enter: Callable[[Scales, Tensor], Tensor]) -> None:
    model, inputs = Scales(), torch.randn(64, 64, requires_grad=True)
    with saved(model, Bound(relative=-3)) as context:
        result = enter(model, inputs)
    result.backward()
    assert torch.equal(inputs.grad, model.scale.t())
    assert context.report.raw == 0


def test_memory_that_is_no_longer_the_models_is_compressed() -> None:
    memory = bytearray(4096)
    model, inputs = Scales(), torch.ones(1024, requires_grad=True)
    model.scale = torch.frombuffer(memory, dtype=torch.float32)
    with saved(model) as context:
        model.scale = torch.zeros(())
        result = inputs * torch.frombuffer(memory, dtype=torch.float32)
    assert result.requires_grad
    assert context.report.tensors == 1


def test_parameters_that_are_replaced_within_the_block_are_left_alone() -> None:
    model = Coder()
    inputs = torch.randn(64, 64)
    with saved(model, Bound(relative=-3)) as context:
        model.weight = nn.Parameter(torch.randn(64, 64))
        functional.linear(inputs.requires_grad_(), model.weight)
        torch.zeros(64, 64, requires_grad=True) * model.weight
    # The input, and the zeros.
    assert context.report.raw == 2 * inputs.nbytes
