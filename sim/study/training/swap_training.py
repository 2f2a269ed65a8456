"""The training of one network that a swapping context is measured in: the model, a batch, and a step."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from cdma.base.errors import ToolError

from .digits import CLASSES, digits
from .full_size import FULL_SIZE, FULL_SIZE_CLASSES, FULL_SIZE_SHAPE
from .networks import BUILDERS

__all__ = ["SwapBench", "SwapTraining", "ready_card"]


@dataclass(frozen=True)
class SwapBench:
    """What is measured.

    ``link``
        Bytes per second of the link in software; on a card None.
    ``device_bytes``
        The most bytes that are held on the device.
    ``ahead``
        Bytes on their way back before they are needed.
    """

    batch: int = 64
    rounds: int = 5
    link: float | None = 1e9
    device_bytes: int | None = None
    device: str = "cpu"
    seed: int = 1
    precision: str = "fp32"
    ahead: int = 64 << 20

    @property
    def on_card(self) -> bool:
        """Whether it is measured on a card."""
        return self.device == "cuda"


def ready_card(bench: SwapBench) -> None:
    """Has a card compute in the precision that is asked for, and the same each time."""
    if not bench.on_card:
        return
    if not torch.cuda.is_available():
        raise ToolError("there is no card here that PyTorch can use")
    torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = True, False
    multiplied = bench.precision != "fp32"
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = multiplied


class SwapTraining:
    """A model, its optimiser and the batch of every step.

    ``losses``
        Those of the steps until now.
    """

    def __init__(self, network: str, bench: SwapBench) -> None:
        self._bench = bench
        torch.manual_seed(bench.seed)
        with torch.device(bench.device):
            self.model = FULL_SIZE[network]() if network in FULL_SIZE else BUILDERS[network](CLASSES)
        self._images, self._classes = _batch(network, bench)
        if bench.precision == "bf16":
            self.model = self.model.to(memory_format=torch.channels_last)
            self._images = self._images.to(memory_format=torch.channels_last)
        self._optimiser = torch.optim.SGD(self.model.parameters(), lr=0.001 if network in FULL_SIZE else 0.01)
        self.losses: list[float] = []

    def loss(self) -> Tensor:
        """That of the batch, whose gradients are not computed yet."""
        with torch.autocast(self._bench.device, torch.bfloat16, enabled=self._bench.precision == "bf16"):
            return nn.functional.cross_entropy(self.model(self._images), self._classes)

    def step(self, context: AbstractContextManager[Any] | None = None) -> float:
        """Does one step of training, whose random numbers are those of its number; returns its seconds."""
        torch.manual_seed(self._bench.seed + len(self.losses))
        self._synchronize()
        began = time.perf_counter()
        with context or nullcontext():
            loss = self.loss()
        self._optimiser.zero_grad()
        loss.backward()
        self._optimiser.step()
        self._synchronize()
        seconds = time.perf_counter() - began
        self.losses.append(float(loss.detach()))
        return seconds

    def _synchronize(self) -> None:
        if self._bench.on_card:
            torch.cuda.synchronize()


def _batch(network: str, bench: SwapBench) -> tuple[Tensor, Tensor]:
    """Images and their classes: digits, or for a network in its own size random numbers."""
    if network in FULL_SIZE:
        images = torch.randn(bench.batch, *FULL_SIZE_SHAPE, device=bench.device)
        return images, torch.randint(FULL_SIZE_CLASSES, (bench.batch,), device=bench.device)
    everything, classes = digits()
    kept = torch.randperm(len(everything))[: bench.batch]
    return (
        torch.from_numpy(everything)[kept].to(bench.device),
        torch.from_numpy(classes)[kept].to(bench.device),
    )
