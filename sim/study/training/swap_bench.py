"""Steps of training with what autograd keeps on the other side of a link, by policy, beside plain training."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from statistics import median
from typing import Any

import torch
from torch import nn

from cdma.base.errors import CdmaError, ToolError
from cdma.sim.torch.offload.context import Offload
from cdma.sim.torch.offload.door import offload
from cdma.sim.torch.offload.policies import Cdma, Cswap, Lms, Recompute, SwapPolicy, Vdnn, VdnnPlusPlus

from .digits import CLASSES, digits
from .networks import BUILDERS

__all__ = ["POLICIES", "SwapBench", "WrongLoss", "swap_rows"]

#: The policies by their names; plain training is beside them.
POLICIES: Mapping[str, Callable[[], SwapPolicy]] = {
    "vdnn_all": lambda: Vdnn("all"),
    "vdnn_conv": lambda: Vdnn("conv"),
    "vdnn++": VdnnPlusPlus,
    "lms": lambda: Lms(64, 0.5),
    "cdma": Cdma,
    "cswap": Cswap,
    "recompute": Recompute,
}
_PLAIN = "plain"

#: Steps that do not count: CSWAP learns in them, and memory is found.
_WARM_UP = 3


class WrongLoss(CdmaError):
    """A policy changed what the network learns."""


@dataclass(frozen=True)
class SwapBench:
    """What is measured.

    ``link``
        Bytes per second of the link in software; on a card None.
    ``device_bytes``
        The most bytes that are held on the device.
    """

    batch: int = 64
    rounds: int = 5
    link: float | None = 1e9
    device_bytes: int | None = None
    device: str = "cpu"
    seed: int = 1


def swap_rows(network: str, policies: list[str], bench: SwapBench) -> Iterator[dict[str, Any]]:
    """A row for plain training and for each policy: medians over rounds in which each has one step after the other.

    Raises :class:`WrongLoss` if a loss differs in any bit from that of plain training.
    """
    if bench.device == "cuda" and not torch.cuda.is_available():
        raise ToolError("there is no card here that PyTorch can use")
    runs = [_Run(network, name, bench) for name in (_PLAIN, *policies)]
    for number in range(_WARM_UP + bench.rounds):
        for run in runs:
            run.step(counts=number >= _WARM_UP)
            if run.losses != runs[0].losses:
                raise WrongLoss(
                    f"{run.policy} made the loss of {network} in step {number} {run.losses[-1]!r}; "
                    f"plain training has {runs[0].losses[-1]!r}"
                )
    for run in runs:
        yield run.row(plain=runs[0])


class _Run:
    """The training of one network under one policy."""

    def __init__(self, network: str, policy: str, bench: SwapBench) -> None:
        self.network, self.policy, self._bench = network, policy, bench
        torch.manual_seed(bench.seed)
        self._model = BUILDERS[network](CLASSES).to(bench.device)
        self._optimiser = torch.optim.SGD(self._model.parameters(), lr=0.01)
        images, classes = digits()
        kept = torch.randperm(len(images))[: bench.batch]
        self._images = torch.from_numpy(images)[kept].to(bench.device)
        self._classes = torch.from_numpy(classes)[kept].to(bench.device)
        self._context = None if policy == _PLAIN else self._offload(POLICIES[policy]())
        self._seconds: list[float] = []
        self.losses: list[float] = []

    def _offload(self, policy: SwapPolicy) -> Offload:
        # LMS needs a bound, of which it is a fraction: what plain training keeps.
        bound = self._bench.device_bytes
        if bound is None and isinstance(policy, Lms):
            bound = self._raw_bytes()
        return offload(self._model, policy, link=self._bench.link, device_bytes=bound)

    def _raw_bytes(self) -> int:
        state = {name: each.clone() for name, each in self._model.state_dict().items()}
        with offload(self._model, Vdnn()) as context:
            self._loss()
        self._model.load_state_dict(state)
        return context.report.raw

    def _loss(self) -> torch.Tensor:
        return nn.functional.cross_entropy(self._model(self._images), self._classes)

    def step(self, *, counts: bool) -> None:
        """Does one step of training, whose random numbers are those of its number."""
        torch.manual_seed(self._bench.seed + len(self.losses))
        self._synchronize()
        began = time.perf_counter()
        with self._context or nullcontext():
            loss = self._loss()
        self._optimiser.zero_grad()
        loss.backward()
        self._optimiser.step()
        self._synchronize()
        if counts:
            self._seconds.append(time.perf_counter() - began)
        self.losses.append(float(loss.detach()))

    def _synchronize(self) -> None:
        if self._bench.device != "cpu":
            torch.cuda.synchronize()

    def row(self, plain: _Run) -> dict[str, Any]:
        """What was measured."""
        report = None if self._context is None else self._context.report
        step, without = median(self._seconds), median(plain._seconds)
        return {
            "device": self._bench.device,
            "torch": torch.__version__,
            "network": self.network,
            "policy": self.policy,
            "batch": self._bench.batch,
            "ms": step * 1e3,
            "slower": step / without,
            "ratio": None if report is None or not report.moved else report.ratio,
            "moved": None if report is None else report.moved // report.passes,
            "wait_ms": None if report is None else report.wait / report.passes * 1e3,
            "peak": None if report is None else report.peak_device,
        }
