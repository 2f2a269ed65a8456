"""Steps of training under cDMA with its kernels launched by plans that were found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from statistics import median

from cdma.gpu.plans import Plan, tried
from cdma.torch.bench.swap_training import SwapBench, SwapTraining, ready_card
from cdma.torch.swapping.door import offload
from cdma.torch.swapping.policies import Cdma

#: Steps with each plan that compile, and find memory.
_WARM_UP = 2


class TunedTraining:
    """One network in training, all of whose tensors leave compressed."""

    def __init__(self, network: str, bench: SwapBench) -> None:
        ready_card(bench)
        self._training, self._rounds = SwapTraining(network, bench), bench.rounds
        self._context = offload(self._training.model, Cdma(), link=bench.link, ahead=bench.ahead)

    def seconds(self, plans: Sequence[Mapping[str, Plan]]) -> list[float]:
        """The median seconds of a step by plans, each with one for some kernels; every round has a step of each."""
        times: list[list[float]] = [[] for _ in plans]
        for _ in range(_WARM_UP + self._rounds):
            for taken, kernels in zip(times, plans, strict=True):
                with ExitStack() as launched:
                    for kernel, plan in kernels.items():
                        launched.enter_context(tried(kernel, plan))
                    taken.append(self._training.step(self._context))
        return [median(taken[_WARM_UP:]) for taken in times]
