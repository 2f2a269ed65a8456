"""Steps of training with what autograd keeps compressed on the GPU, beside plain training and PyTorch's own way."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from statistics import median
from typing import Any

import torch
from torch import Tensor, nn

from cdma.base.errors import CdmaError, ToolError
from cdma.gpu.layout import where
from cdma.torch.context import Saved
from cdma.torch.networks.full_size import of_torchvision
from cdma.torch.networks.gpt_blocks import gpt2, gpt2_batch
from cdma.torch.policies import Comet, Lossless, Policy
from cdma.torch.swapping.recompute import recomputed

#: The way that keeps everything as it is.
PLAIN = "plain"
_ON_CPU, _AGAIN = "save_on_cpu", "checkpoint"
#: Ways that compress, by their policies.
_POLICIES: Mapping[str, Policy] = {"saved": Lossless(), "dense": Lossless(dense=True), "comet": Comet()}
#: The ways to keep what autograd keeps.
WAYS = (PLAIN, _ON_CPU, _AGAIN, *_POLICIES)
#: Steps that do not count: sizes are learnt in them, and memory is found.
_WARM_UP = 4


class WrongGradient(CdmaError):
    """A way that must change nothing changed a gradient."""


@dataclass(frozen=True)
class _Network:
    """A network of the bench.

    ``build``: Makes the network.
    ``inputs``: Makes a batch of so many inputs, and classes for them.
    ``bf16``: Whether autocast has bfloat16; else matrices are multiplied with TF32.
    """

    build: Callable[[], nn.Module]
    inputs: Callable[[int], tuple[Tensor, Tensor]]
    batch: int
    bf16: bool = False
    channels_last: bool = False


@dataclass(frozen=True)
class SavedBench:
    """What is measured; without a batch every network has its own."""

    batch: int | None = None
    rounds: int = 10
    device: str = "cuda"
    seed: int = 1


def _small() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(8 * 16 * 16, 10),
    )


def _images(size: int) -> Callable[[int], tuple[Tensor, Tensor]]:
    def make(batch: int) -> tuple[Tensor, Tensor]:
        return torch.randn(batch, 3, size, size), torch.randint(10, (batch,))

    return make


#: The networks by their names.
BENCHED: Mapping[str, _Network] = {
    "vgg16": _Network(of_torchvision("vgg16"), _images(224), 64),
    "resnet50": _Network(of_torchvision("resnet50"), _images(224), 128, bf16=True, channels_last=True),
    "gpt2": _Network(gpt2, gpt2_batch, 8, bf16=True),
    "small": _Network(_small, _images(32), 8),
}


def saved_rows(network: str, ways: list[str], bench: SavedBench) -> Iterator[dict[str, Any]]:
    """A row for each way, the first of which is plain: medians of steps, and the memory of the GPU.

    Raises :class:`WrongGradient` if one without loss changes any bit of a gradient.
    """
    if bench.device == "cuda" and not torch.cuda.is_available():
        raise ToolError("there is no GPU here that PyTorch can use")
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    training = Training(network, bench)
    plain: dict[str, Any] | None = None
    for way in ways:
        same = None if way == "comet" else training.compare(way)
        row = training.measure(way) | {"same": same}
        plain = plain or row
        row |= {
            "slower": row["ms"] / plain["ms"],
            "after_share": row["after"] / plain["after"] if plain["after"] else None,
            "peak_share": row["peak"] / plain["peak"] if plain["peak"] else None,
        }
        yield row


def _deterministic(on: bool) -> None:
    """Has the same kernels every time, or the fastest."""
    warnings.filterwarnings("ignore", message=".*deterministic")
    torch.use_deterministic_algorithms(on, warn_only=True)
    torch.backends.cudnn.benchmark = not on


class _Checkpointed(AbstractContextManager[None]):
    """Has PyTorch compute the children of a model again in the backward pass."""

    def __init__(self, model: nn.Module) -> None:
        self._again = recomputed(model, ())

    def __enter__(self) -> None:
        for each in self._again:
            each.install()

    def __exit__(self, *error: object) -> None:
        for each in self._again:
            each.remove()


class Training:
    """The training of one network, in any of the ways."""

    def __init__(self, network: str, bench: SavedBench) -> None:
        self._name, self._bench, self._network = network, bench, BENCHED[network]
        torch.manual_seed(bench.seed)
        self.model = self._network.build().to(bench.device)
        if self._network.channels_last:
            self.model = self.model.to(memory_format=torch.channels_last)
        self.resize(bench.batch or self._network.batch)
        self._expected: list[Tensor] | None = None
        self._repeats = True

    def resize(self, batch: int) -> None:
        """Takes a batch of so many inputs from now on."""
        self._batch = batch
        images, classes = self._network.inputs(batch)
        self._images, self._classes = images.to(self._bench.device), classes.to(self._bench.device)
        if self._network.channels_last:
            self._images = self._images.to(memory_format=torch.channels_last)

    def context(self, way: str) -> AbstractContextManager[Any]:
        """A context for one of the ways."""
        if way == PLAIN:
            return nullcontext()
        if way == _ON_CPU:
            return torch.autograd.graph.save_on_cpu(pin_memory=self._bench.device == "cuda")
        if way == _AGAIN:
            return _Checkpointed(self.model)
        return Saved(self.model, _POLICIES[way])

    def forward(self, context: AbstractContextManager[Any]) -> Tensor:
        """The loss of a step, whose gradients are not computed yet."""
        self.model.zero_grad()
        with context, torch.autocast(self._bench.device, torch.bfloat16, enabled=self._network.bf16):
            return nn.functional.cross_entropy(self.model(self._images), self._classes)

    def step(self, context: AbstractContextManager[Any]) -> int:
        """One step without the optimiser; returns the bytes on the GPU after the forward pass."""
        loss = self.forward(context)
        after = torch.cuda.memory_allocated() if self._bench.device == "cuda" else 0
        loss.backward()
        return after

    def compare(self, way: str) -> bool | None:
        """Compares the gradients of three steps with those of plain training, with deterministic kernels.

        None says that those of plain training are not the same in every step, or that PyTorch's own way changed one.
        """
        _deterministic(True)
        context, same = self.context(way), True
        for _ in range(3):
            torch.manual_seed(self._bench.seed)
            self.step(context)
            found = [each.grad.clone() for each in self.model.parameters() if each.grad is not None]
            self._expected = self._expected or found
            same &= all(torch.equal(mine, its) for mine, its in zip(found, self._expected, strict=True))
        _deterministic(False)
        if way == PLAIN:
            self._repeats = same
        # Where PyTorch's own way changes one, kernels differ by where a tensor lies, or what is kept was changed.
        if not self._repeats or (way in (_ON_CPU, _AGAIN) and not same):
            return None
        if not same:
            raise WrongGradient(f"{way} changed a gradient of {self._name}")
        return same

    def measure(self, way: str) -> dict[str, Any]:
        """The row of a way."""
        card = self._bench.device == "cuda"
        expected, self._expected = self._expected, None
        if expected is not None:
            # They would be on the GPU beside what is measured.
            self._expected = [each.cpu() for each in expected]
        del expected
        context = self.context(way)
        for _ in range(_WARM_UP):
            self.step(context)
        if card:
            torch.cuda.synchronize()
            torch.cuda.reset_peak_memory_stats()
        seconds, after = [], []
        for _ in range(self._bench.rounds):
            began = time.perf_counter()
            after.append(self.step(context))
            if card:
                torch.cuda.synchronize()
            seconds.append(time.perf_counter() - began)
        report = context.report if isinstance(context, Saved) else None
        row = {
            **where(card),
            "network": self._name,
            "way": way,
            "batch": self._batch,
            "ms": median(seconds) * 1e3,
            "after": median(after),
            "peak": torch.cuda.max_memory_allocated() if card else 0,
            "reserved": torch.cuda.max_memory_reserved() if card else 0,
            "ratio": None if report is None else report.ratio,
            "ratio_conv": None if report is None else report.ratio_conv,
        }
        if self._expected is not None:
            self._expected = [each.to(self._bench.device) for each in self._expected]
        return row
