"""What every context that keeps for autograd must get right: strides, noise, one tensor for one that is kept, sparse and
dual tensors, and copies of the model within a block.
"""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.autograd import forward_ad
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from cdma.torch import Cdma, Recompute, Vdnn, VdnnPlusPlus, offload, saved
from cdma.torch.keeping import Keeping
from cdma.torch.memory import layout_of
from tests.support.training import same

pytestmark = pytest.mark.usefixtures("one_thread")

CONTEXTS: dict[str, Callable[[nn.Module], Keeping]] = {
    "saved": saved,
    "vdnn": lambda model: offload(model, Vdnn(), debug=True),
    "cdma": lambda model: offload(model, Cdma(), debug=True),
    "recompute": lambda model: offload(model, Recompute(), debug=True),
}
each_context = pytest.mark.parametrize("context", CONTEXTS.values(), ids=CONTEXTS)


def gradients(
    model: nn.Module,
    loss: Callable[[], Tensor],
    context: Callable[[nn.Module], Keeping] | None = None,
) -> list[Tensor]:
    """Gradients of one step, and then of another one within the same block."""
    model.zero_grad()
    torch.manual_seed(3)
    if context is None:
        for _ in range(2):
            loss().backward()
    else:
        with context(model):
            for _ in range(2):
                loss().backward()
    return [weight.grad.clone() for weight in model.parameters() if weight.grad is not None]


GAPS = {
    "a part of rows": lambda: torch.randn(4, 50, 128).transpose(1, 2)[:, :64],
    "every other": lambda: torch.randn(6, 8, 10).permute(2, 0, 1)[::2],
    "repeated": lambda: torch.randn(6, 1, 10).transpose(0, 2)[:, :, :4].expand(10, 7, 4),
    "channels last": lambda: torch.randn(2, 8, 5, 5).contiguous(memory_format=torch.channels_last)[:, :3],
}


@pytest.mark.parametrize("tensor", GAPS.values(), ids=GAPS)
def test_what_has_gaps_has_the_strides_of_a_clone(tensor: Callable[[], Tensor]) -> None:
    kept = tensor()
    _, size, stride = layout_of(kept)
    once = kept[tuple(slice(None) if step else slice(0, 1) for step in kept.stride())].clone()
    assert size == kept.shape
    assert stride == tuple(own if step else 0 for step, own in zip(kept.stride(), once.stride(), strict=True))


class Sliced(nn.Module):
    """A part of the channels, which lie last in memory; sums over them are taken in the order of strides."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.norm = nn.Linear(64, 128), nn.BatchNorm1d(64)

    def forward(self, inputs: Tensor) -> Tensor:
        return self.norm(self.inner(inputs).transpose(1, 2)[:, :64]).exp()


@each_context
def test_sums_over_what_has_gaps_round_as_without(context) -> None:
    model, inputs = Sliced(), torch.randn(4, 50, 64)
    step = lambda: model(inputs).square().mean()  # noqa: E731
    assert same(gradients(model, step), gradients(model, step, context))


#: Every activation, normalisation, dropout and pooling that is called with a tensor of (8, 16, 16), by its arguments.
MODULES: dict[type[nn.Module], tuple[Any, ...]] = {
    **dict.fromkeys(
        (
            *(nn.CELU, nn.ELU, nn.GELU, nn.GLU, nn.Hardshrink, nn.Hardsigmoid, nn.Hardswish, nn.Hardtanh),
            *(nn.LeakyReLU, nn.LogSigmoid, nn.Mish, nn.PReLU, nn.RReLU, nn.ReLU, nn.ReLU6, nn.SELU, nn.SiLU),
            *(nn.Sigmoid, nn.Softplus, nn.Softshrink, nn.Softsign, nn.Tanh, nn.Tanhshrink),
            *(nn.Dropout, nn.Dropout1d, nn.AlphaDropout, nn.FeatureAlphaDropout, nn.Flatten, nn.Identity),
        ),
        (),
    ),
    **dict.fromkeys((nn.LogSoftmax, nn.Softmax, nn.Softmin), (-1,)),
    **dict.fromkeys(
        (nn.BatchNorm1d, nn.InstanceNorm1d, nn.LayerNorm, nn.RMSNorm, nn.LocalResponseNorm), (16,)
    ),
    **dict.fromkeys((nn.AvgPool1d, nn.MaxPool1d, nn.AdaptiveAvgPool1d, nn.AdaptiveMaxPool1d), (4,)),
    nn.LPPool1d: (2, 4),
    nn.Threshold: (0.1, 20.0),
    nn.GroupNorm: (4, 16),
}
LOSSES = (
    *(nn.BCEWithLogitsLoss, nn.HuberLoss, nn.L1Loss, nn.MSELoss, nn.PoissonNLLLoss),
    *(nn.SmoothL1Loss, nn.SoftMarginLoss, nn.MultiLabelSoftMarginLoss),
)
#: Operations of which no module is the only caller.
FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "kl_div": lambda x: functional.kl_div(x, torch.full_like(x, 0.25), reduction="sum"),
    "rrelu": lambda x: functional.rrelu(x, training=True),
    "rrelu in place": lambda x: functional.rrelu(x * 1, training=True, inplace=True),
    "gumbel": lambda x: functional.gumbel_softmax(x, dim=-1),
    "fractional": lambda x: functional.fractional_max_pool2d(x[:, None], 2, output_size=4),
    "attention": lambda x: functional.scaled_dot_product_attention(x, x, x, dropout_p=0.5),
    "bernoulli": lambda x: x * torch.empty_like(x).bernoulli_(0.5),
    "normal": lambda x: torch.normal(x, 1.0).exp(),
}
SCENARIOS: dict[str, Callable[[Tensor], Tensor]] = {
    **{kind.__name__: kind(*arguments) for kind, arguments in MODULES.items()},
    **{kind.__name__: lambda x, kind=kind: kind()(x, torch.full_like(x, 0.25)) for kind in LOSSES},
    **FUNCTIONS,
}


class Between(nn.Module):
    """Layers around an operation, whose inputs are large enough to be compressed and moved."""

    def __init__(self, operation: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.first, self.operation, self.last = nn.Linear(16, 16), operation, nn.LazyLinear(4)

    def forward(self, inputs: Tensor) -> Tensor:
        middle = self.operation(self.first(inputs))
        return middle.sum() if middle.dim() == 0 else self.last(middle).square().mean()


@pytest.mark.parametrize(
    "context",
    [CONTEXTS["saved"], pytest.param(CONTEXTS["vdnn"], marks=pytest.mark.thorough)],
    ids=["saved", "vdnn"],
)
@pytest.mark.parametrize("name", SCENARIOS)
def test_operations_keep_what_they_have_written(name: str, context) -> None:
    """An operation may keep a tensor before it writes it: RReLU its noise."""
    model, inputs = Between(SCENARIOS[name]), torch.randn(8, 16, 16)
    model(inputs)
    step = lambda: model(inputs)  # noqa: E731
    assert same(gradients(model, step), gradients(model, step, context))


def test_no_activation_and_no_normalisation_is_forgotten() -> None:
    """Those that a new PyTorch brings belong into the list above."""
    found = {
        kind
        for module in (nn.modules.activation, nn.modules.dropout)
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, nn.Module) and kind.__module__ == module.__name__
    }
    others = {nn.MultiheadAttention, nn.Softmax2d, nn.Dropout2d, nn.Dropout3d, nn.modules.dropout._DropoutNd}
    assert found - others <= set(MODULES)


@each_context
def test_noise_is_kept_as_the_operation_wrote_it(context) -> None:
    """Of these sizes memory is new, and all zero before it is written."""
    model = nn.Sequential(nn.Linear(64, 4096), nn.RReLU(), nn.Linear(4096, 4))
    inputs = torch.randn(256, 64)
    step = lambda: model(inputs).square().mean()  # noqa: E731
    assert same(gradients(model, step), gradients(model, step, context))


class Noisy(nn.Linear):
    """Calls the function, of which no module says anything."""

    def forward(self, inputs: Tensor) -> Tensor:
        return functional.rrelu(super().forward(inputs), training=True)


@each_context
def test_noise_of_a_function_is_as_that_of_a_module(context) -> None:
    """A checkpoint stops where all is kept again, which is before the noise is written."""
    model, inputs = nn.Sequential(Noisy(64, 512), nn.Linear(512, 4)), torch.randn(256, 64)
    step = lambda: model(inputs).square().mean()  # noqa: E731
    assert same(gradients(model, step), gradients(model, step, context))


@pytest.mark.parametrize("context", [CONTEXTS[name] for name in ("saved", "vdnn", "cdma")])
def test_what_is_written_to_behind_its_operation_is_refused(context) -> None:
    """What waits for the end of the operation that keeps it is not held as somebody wrote it later."""
    model, weight = nn.Linear(64, 64), torch.ones(64, 64, requires_grad=True)
    with context(model):
        other = torch.randn(64, 64)
        loss = (weight * other).sum()
        other.add_(1)
        model(other)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


@pytest.mark.parametrize("policy", [Vdnn(), VdnnPlusPlus(), Cdma()], ids=repr)
def test_graphs_of_several_batches_are_there_at_once(policy) -> None:
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.Tanh())
    batches = [torch.randn(size, 64) for size in (200, 70, 130)]

    def step() -> Tensor:
        return sum(model(batch).square().mean() for batch in batches)

    for device_bytes in (20_000, 1 << 30):
        context = lambda model, size=device_bytes: offload(model, policy, device_bytes=size, debug=True)  # noqa: E731
        assert same(gradients(model, step), gradients(model, step, context))


class Attended(nn.Module):
    """Attention of one tensor to itself, which asks whether its three inputs are one."""

    def __init__(self, *, checkpointed: bool) -> None:
        super().__init__()
        self.attention, self.checkpointed = nn.MultiheadAttention(16, 2, batch_first=True), checkpointed

    def forward(self, inputs: Tensor) -> Tensor:
        if self.checkpointed:
            return checkpoint(self.attention, inputs, inputs, inputs, use_reentrant=False)[0]
        return self.attention(inputs, inputs, value=inputs)[0]


@each_context
def test_a_tensor_that_is_kept_several_times_comes_back_as_one(context) -> None:
    """Of tensors with gradients PyTorch makes several behind every hook; computing again needs none of these."""
    recomputes = context is CONTEXTS["recompute"]
    model = Attended(checkpointed=not recomputes)
    inputs = torch.randn(2, 50, 16, requires_grad=recomputes)
    step = lambda: model(inputs).square().mean()  # noqa: E731
    assert same(gradients(model, step), gradients(model, step, context))


class Stolen(torch.autograd.Function):
    """Its gradient is what it kept."""

    @staticmethod
    def forward(context: Any, weight: Tensor, kept: Tensor) -> Tensor:
        context.save_for_backward(kept)
        return weight.sum() * 1

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return context.saved_tensors[0], None


@each_context
@pytest.mark.parametrize("size", [64, 4096])
def test_a_gradient_that_is_what_was_kept_is_its_own(size: int, context) -> None:
    model = nn.Module()
    model.weight, model.other = nn.Parameter(torch.ones(size)), nn.Parameter(torch.ones(size))
    inputs = torch.randn(size)

    def step() -> Tensor:
        kept = inputs * 1
        return Stolen.apply(model.weight, kept) + (kept * model.other).sum()

    assert same(gradients(model, step), gradients(model, step, context))


KEPT = {
    "sparse": lambda x: torch.sparse.mm(torch.eye(64).to_sparse(), x).sum(),
    "rows": lambda x: torch.sparse.mm(torch.eye(64).to_sparse_csr(), x).sum(),
    "jagged": lambda x: (
        torch.nested.nested_tensor_from_jagged(x, torch.tensor([0, 20, 64])).sin().values().sum()
    ),
}


@pytest.mark.filterwarnings("ignore:Sparse CSR")
@pytest.mark.parametrize("function", KEPT.values(), ids=KEPT)
@each_context
def test_tensors_without_strides_are_kept_as_they_are(context, function) -> None:
    model, inputs = nn.Linear(64, 64), torch.randn(64, 64)
    step = lambda: function(model(inputs))  # noqa: E731
    assert same(gradients(model, step), gradients(model, step, context))


@pytest.mark.filterwarnings("ignore:.torch.jit.script")
@pytest.mark.parametrize("name", ["saved", "vdnn", "cdma"])
def test_beside_forward_derivatives(name: str) -> None:
    """Of what is computed again PyTorch makes none."""
    context = CONTEXTS[name]
    model, inputs, tangent = (
        nn.Sequential(nn.Linear(64, 64), nn.Tanh()),
        torch.randn(64, 64),
        torch.randn(64, 64),
    )

    def step() -> Tensor:
        with forward_ad.dual_level():
            found = forward_ad.unpack_dual(model(forward_ad.make_dual(inputs, tangent)))
            return found.primal.sum() + found.tangent.square().sum()

    assert same(gradients(model, step), gradients(model, step, context))


COPIES: dict[str, Callable[[nn.Module], nn.Module]] = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "torch.save": lambda model: _loaded(model),
}


def _loaded(model: nn.Module) -> nn.Module:
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
@each_context
def test_a_copy_of_the_model_within_a_block_is_a_plain_model(context, copied) -> None:
    model, inputs = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8)), torch.randn(64, 64)
    expected = gradients(model, lambda: model(inputs).sum())
    model.zero_grad()
    with context(model) as kept:
        other = copied(model)
        passes = kept.report.passes
        assert same(expected, gradients(other, lambda: other(inputs).sum()))
        # Its calls are those of another model.
        assert kept.report.passes <= passes + 1
        with torch.no_grad():
            other[0].weight.zero_()
        assert same(expected, gradients(model, lambda: model(inputs).sum()))
    for module in (*model.modules(), *other.modules()):
        assert not any((module._forward_hooks, module._forward_pre_hooks))
        assert vars(module).get("_compiled_call_impl") is None
    plain = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8))
    assert vars(model[0]).keys() == vars(plain[0]).keys()


class Copied(nn.Linear):
    """Copies all its attributes, and not what it would pickle, as some models do."""

    def __deepcopy__(self, memo: dict[int, Any]) -> nn.Module:
        copied = memo[id(self)] = object.__new__(type(self))
        copied.__dict__ = copy.deepcopy(self.__dict__, memo)
        return copied


@each_context
def test_a_copy_that_a_module_makes_of_its_attributes_is_plain(context) -> None:
    model, inputs = nn.Sequential(Copied(64, 64), nn.Tanh()), torch.randn(64, 64)
    expected = gradients(model, lambda: model(inputs).sum())
    with context(model):
        other = copy.deepcopy(model)
        assert same(expected, gradients(other, lambda: other(inputs).sum()))
        assert same(expected, gradients(model, lambda: model(inputs).sum()))


class Layers(nn.Module):
    """Blocks, of which PyTorch computes some again."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(nn.TransformerEncoderLayer(32, 4, 64, batch_first=True) for _ in range(3))

    def forward(self, tokens):
        for number, block in enumerate(self.blocks):
            tokens = checkpoint(block, tokens, use_reentrant=False) if number else block(tokens)
        return tokens


class Recipe:
    """A recipe as torchtune has them: its forward pass is within a context, and its steps may be in the backward pass."""

    def __init__(self, make, fused):
        torch.manual_seed(0)
        self.model, self.fused = Layers(), fused
        self.activations_handling_ctx = nullcontext() if make is None else make(self.model)
        self.optimizer = torch.optim.SGD(self.model.parameters(), 0.1)
        if fused:
            for weight in self.model.parameters():
                step = torch.optim.SGD([weight], 0.1)
                weight.register_post_accumulate_grad_hook(
                    lambda weight, step=step: step.step() or step.zero_grad()
                )

    def loss_step(self, batch):
        with self.activations_handling_ctx:
            logits = self.model(batch)
        return logits.square().mean()

    def train(self):
        for number in range(4):
            for half in range(1 if self.fused else 2):
                self.loss_step(torch.full((4, 16, 32), 0.1 * (number + half))).backward()
            if not self.fused:
                nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
                self.optimizer.step()
                self.optimizer.zero_grad()
        return [weight.detach().clone() for weight in self.model.parameters()]


@pytest.mark.parametrize("fused", [False, True], ids=["steps", "steps in backward"])
@each_context
def test_a_recipe_has_any_of_the_contexts_as_that_of_its_activations(context, fused) -> None:
    expected, recipe = Recipe(None, fused).train(), Recipe(context, fused)
    assert same(recipe.train(), expected)
    assert recipe.activations_handling_ctx.report.passes == (4 if fused else 8)
