"""Steps of training with what autograd keeps compressed on the GPU, beside plain training and PyTorch's own ways; and images
per second against memory, with the largest batch that each way lets fit."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from statistics import median
from typing import Any

import torch
from torch import Tensor, nn

from cdma.base.errors import CdmaError, ToolError
from cdma.gpu.layout import where
from cdma.torch.context import Saved
from cdma.torch.growing import largest_batch
from cdma.torch.policies import Comet, Lossless, Policy
from cdma.torch.swapping.recompute import recomputed

from .swap_training import SwapBench, SwapTraining

#: The way that keeps everything as it is.
_PLAIN = "plain"
_ON_CPU, _AGAIN = "save_on_cpu", "checkpoint"
#: Ways that compress, by their policies.
_POLICIES: Mapping[str, Policy] = {"saved": Lossless(), "dense": Lossless(dense=True), "comet": Comet()}
#: The ways to keep what autograd keeps.
WAYS = (_PLAIN, _ON_CPU, _AGAIN, *_POLICIES)
#: The networks by their names, with the batch of each and its precision.
BENCHED = {"vgg16": (64, "tf32"), "resnet50": (128, "bf16"), "gpt2": (8, "bf16"), "small": (8, "fp32")}
#: Steps that do not count: sizes are learnt in them, and memory is found.
_WARM_UP = 4


class WrongGradient(CdmaError):
    """A way that must change nothing changed a gradient."""


@dataclass(frozen=True)
class SavedBench:
    """What is measured; without a batch every network has its own."""

    batch: int | None = None
    rounds: int = 10
    device: str = "cuda"
    seed: int = 1


def saved_rows(network: str, ways: list[str], bench: SavedBench) -> Iterator[dict[str, Any]]:
    """A row for each way, the first of which is plain: medians of steps, and the memory of the GPU.

    Raises :class:`WrongGradient` if one without loss changes any bit of a gradient.
    """
    training = _Training(network, bench)
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


def batch_rows(
    network: str, ways: Sequence[str], bench: SavedBench, memory: Sequence[int], multiple: int
) -> Iterator[dict[str, Any]]:
    """A row for each memory and way, the first of which is plain.

    ``memory``: Bytes: of the GPU, or on the processor of what autograd keeps.
    ``multiple``: What batches are multiples of.
    """
    for size in memory:
        plain: float | None = None
        for way in ways:
            training = _Training(network, bench)
            found = largest_batch(training.step_of_any_batch(way), size, multiple=multiple)
            training.resize(found.batch)
            row = training.measure(way)
            speed = found.batch / row["ms"] * 1e3
            plain = plain or speed
            yield {
                **{name: row[name] for name in ("card", "tools", "network", "way", "ms")},
                "memory": size,
                "batch": found.batch,
                "peak": found.peak,
                "images_per_second": speed,
                "faster": speed / plain,
            }


class _Training(SwapTraining):
    """The training of one network, in any of the ways."""

    def __init__(self, network: str, bench: SavedBench) -> None:
        if bench.device == "cuda" and not torch.cuda.is_available():
            raise ToolError("there is no GPU here that PyTorch can use")
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
        batch, precision = BENCHED[network]
        super().__init__(
            network,
            SwapBench(bench.batch or batch, device=bench.device, seed=bench.seed, precision=precision),
        )
        self._name, self._rounds = network, bench.rounds
        self._expected: list[Tensor] | None = None
        self._repeats = True

    def _context(self, way: str) -> AbstractContextManager[Any]:
        """A context for one of the ways."""
        if way == _PLAIN:
            return nullcontext()
        if way == _ON_CPU:
            return torch.autograd.graph.save_on_cpu(pin_memory=self.bench.on_card)
        return _Checkpointed(self.model) if way == _AGAIN else Saved(self.model, _POLICIES[way])

    def _step(self, context: AbstractContextManager[Any], kept: Callable[[], int] = lambda: 0) -> int:
        """One step without the optimiser; returns the bytes that are ``kept`` after the forward pass."""
        self.model.zero_grad()
        with context:
            loss = self.loss()
        after = torch.cuda.memory_allocated() if self.bench.on_card else kept()
        loss.backward()
        return after

    def step_of_any_batch(self, way: str) -> Callable[[int], int | None]:
        """A step of any batch; on the processor it returns the bytes that are kept for the backward pass."""
        card = self.bench.on_card
        # On the processor a context counts for plain training what it does not use.
        context: Any = self._context(way) if card or way != _PLAIN else Saved(self.model, Lossless())

        def step(batch: int) -> int | None:
            self.resize(batch)
            kept = self._step(context, lambda: context.now[way != _PLAIN])
            return None if card else kept

        return step

    def compare(self, way: str) -> bool | None:
        """Compares the gradients of three steps with those of plain training, with deterministic kernels.

        None says that those of plain training are not the same in every step, or that PyTorch's own way changed one.
        """
        _deterministic(True)
        context, same = self._context(way), True
        for _ in range(3):
            torch.manual_seed(self.bench.seed)
            self._step(context)
            found = [each.grad.cpu().clone() for each in self.model.parameters() if each.grad is not None]
            self._expected = self._expected or found
            same &= all(torch.equal(mine, its) for mine, its in zip(found, self._expected, strict=True))
        _deterministic(False)
        if way == _PLAIN:
            self._repeats = same
        # Where PyTorch's own way changes one, kernels differ by where a tensor lies, or what is kept was changed.
        if not self._repeats or (way in (_ON_CPU, _AGAIN) and not same):
            return None
        if not same:
            raise WrongGradient(f"{way} changed a gradient of {self._name}")
        return same

    def measure(self, way: str) -> dict[str, Any]:
        """The row of a way."""
        card, context = self.bench.on_card, self._context(way)
        for _ in range(_WARM_UP):
            self._step(context)
        self.synchronize()
        if card:
            torch.cuda.reset_peak_memory_stats()
        seconds, after = [], []
        for _ in range(self._rounds):
            began = time.perf_counter()
            after.append(self._step(context))
            self.synchronize()
            seconds.append(time.perf_counter() - began)
        report = context.report if isinstance(context, Saved) else None
        return {
            **where(card),
            "network": self._name,
            "way": way,
            "batch": self.batch,
            "ms": median(seconds) * 1e3,
            "after": median(after),
            "peak": torch.cuda.max_memory_allocated() if card else 0,
            "reserved": torch.cuda.max_memory_reserved() if card else 0,
            "ratio": None if report is None else report.ratio,
            "ratio_conv": None if report is None else report.ratio_conv,
        }


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
