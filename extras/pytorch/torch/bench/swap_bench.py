"""Steps of training with what autograd keeps on the other side of a link, by policy, beside plain training."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from statistics import median
from typing import Any

import torch

from cdma.base.errors import CdmaError
from cdma.gpu.layout import where
from cdma.torch.door import offload
from cdma.torch.growing import largest_batch
from cdma.torch.swapping.context import Offload
from cdma.torch.swapping.policies import Cdma, Cswap, Lms, Recompute, SwapPolicy, Vdnn, VdnnPlusPlus
from cdma.torch.swapping.report import SwapReport

from .swap_training import SwapBench, SwapTraining, ready_card, transport_for

_RAW = "vdnn_all"
#: The policies by their names; plain training is beside them.
POLICIES: Mapping[str, Callable[[], SwapPolicy]] = {
    _RAW: lambda: Vdnn("all"),
    "vdnn_conv": lambda: Vdnn("conv"),
    "vdnn++": VdnnPlusPlus,
    "lms": lambda: Lms(64, 0.5),
    "cdma": Cdma,
    "cswap": Cswap,
    "recompute": Recompute,
}
_PLAIN = "plain"

#: What the largest batch is a multiple of, and the images that there are for a processor.
_MULTIPLE, _DIGITS = 8, 1496
#: Steps that do not count: CSWAP learns in four, and memory is found.
_WARM_UP = 5


#: What is measured of a policy.
_MEASURED = ("ms", "spread", "ratio", "moved", "back", "again", "wait_ms", "peak", "allocated")


class WrongLoss(CdmaError):
    """A policy changed what the network learns."""


def swap_rows(network: str, policies: list[str], bench: SwapBench) -> Iterator[dict[str, Any]]:
    """A row for plain training and for each policy: medians over rounds, in each of which every policy has one step.

    On a GPU one policy has all its steps before the next one's model is made, and one that the GPU has no memory for has a
    row without numbers. Raises :class:`WrongLoss` if a loss differs in any bit from that of plain training, or of the first
    policy that there is memory for, unless that has not the same losses twice.
    """
    ready_card(bench)
    names = [_PLAIN, *policies]
    expected: list[float] = []
    reference = ""
    ms: dict[str, float] = {}
    for group in [[name] for name in names] if bench.on_card else [names]:
        found = _fitting(network, group, bench)
        ms |= {row["policy"]: row["ms"] for row, losses in found if losses}
        for row, losses in found:
            if losses and not expected:
                expected, reference = losses, row["policy"]
            yield {
                **row,
                "slower": _quotient(ms, row["policy"], _PLAIN),
                "speedup": _quotient(ms, _RAW, row["policy"]),
                "images_per_second": bench.batch / row["ms"] * 1e3 if losses else None,
                "same": _are_same(row["policy"], network, losses, expected, reference, bench)
                if losses
                else None,
            }


def _quotient(ms: Mapping[str, float], one: str, other: str) -> float | None:
    return ms[one] / ms[other] if one in ms and other in ms else None


def _fitting(network: str, group: list[str], bench: SwapBench) -> list[tuple[dict[str, Any], list[float]]]:
    """As :func:`_trained`; a policy for which the GPU has no memory has a row without numbers, and no losses."""
    try:
        return _trained(network, group, bench)
    except torch.OutOfMemoryError:
        # What there was hangs on the error, which is gone behind this block.
        pass
    _clear(bench)
    return [(_named(network, policy, bench) | dict.fromkeys(_MEASURED), []) for policy in group]


def _clear(bench: SwapBench) -> None:
    """Gives memory back: hooks and what they are of refer to each other."""
    gc.collect()
    if bench.on_card:
        torch.cuda.empty_cache()


def _named(network: str, policy: str, bench: SwapBench) -> dict[str, Any]:
    """What a row is of."""
    return {
        **where(bench.on_card),
        "network": network,
        "policy": policy,
        "batch": bench.batch,
        "precision": bench.precision,
        "trained": bench.weights is not None,
    }


def _trained(network: str, group: list[str], bench: SwapBench) -> list[tuple[dict[str, Any], list[float]]]:
    """Rows and losses of policies that take turns; their models are gone when this returns."""
    runs = [_Run(network, name, bench) for name in group]
    for number in range(_WARM_UP + bench.rounds):
        for run in runs:
            if number == _WARM_UP:
                run.begin_counting()
            run.step()
    found = [(run.row(), list(run.losses)) for run in runs]
    del run, runs
    _clear(bench)
    return found


def _are_same(
    policy: str,
    network: str,
    losses: list[float],
    expected: list[float],
    reference: str,
    bench: SwapBench,
) -> bool | None:
    """Whether losses are those of the policy that is compared with; None if that has others each time."""
    if losses == expected:
        return True
    if bench.on_card and _trained(network, [reference], bench)[0][1] != expected:
        return None
    step = next(step for step, (mine, its) in enumerate(zip(losses, expected, strict=True)) if mine != its)
    raise WrongLoss(
        f"{policy} made the loss of {network} in step {step} {losses[step]!r}; "
        f"{'plain training' if reference == _PLAIN else reference} has {expected[step]!r}"
    )


def full_batch(network: str, bench: SwapBench, memory: int | None) -> int:
    """The largest batch, a multiple of 8, of which plain training fits the GPU, or ``memory``.

    On the processor that is a bound for what autograd keeps.
    """
    ready_card(bench)
    most = None if bench.on_card else _DIGITS
    batch = largest_batch(_plain_step(network, bench), memory, multiple=_MULTIPLE, most=most).batch
    _clear(bench)
    return batch


def _plain_step(network: str, bench: SwapBench) -> Callable[[int], int | None]:
    """A step of plain training of any batch; on the processor it returns the bytes that autograd keeps."""
    training = SwapTraining(network, replace(bench, batch=_MULTIPLE))

    def step(batch: int) -> int | None:
        training.resize(batch)
        if not bench.on_card:
            return training.raw_bytes()
        training.step()
        return None

    return step


class _Run:
    """The training of one network under one policy."""

    def __init__(self, network: str, policy: str, bench: SwapBench) -> None:
        self.network, self.policy, self._bench = network, policy, bench
        self.training = SwapTraining(network, bench)
        self._context = None if policy == _PLAIN else self._offload(POLICIES[policy]())
        self._before = self._totals()
        self._seconds: list[float] = []

    @property
    def losses(self) -> list[float]:
        """Those of the steps until now."""
        return self.training.losses

    def _offload(self, policy: SwapPolicy) -> Offload:
        # LMS needs a bound, of which it is a fraction: what plain training keeps.
        bound = self._bench.device_bytes
        if bound is None and isinstance(policy, Lms):
            bound = self.training.raw_bytes()
        transport = transport_for(self._bench.device, self._bench.link)
        made = offload(
            self.training.model, policy, device_bytes=bound, ahead=self._bench.ahead, transport=transport
        )
        assert isinstance(made, Offload)
        return made

    def begin_counting(self) -> None:
        """From now on steps count."""
        self._before = self._totals()
        self._seconds.clear()
        if self._bench.on_card:
            torch.cuda.reset_peak_memory_stats()

    def step(self) -> None:
        """Does one step of training."""
        self._seconds.append(self.training.step(self._context))

    def _totals(self) -> dict[str, float]:
        """What the report counts, until now."""
        report = SwapReport() if self._context is None else self._context.report
        return {name: getattr(report, name) for name in ("passes", "left", "moved", "back", "again", "wait")}

    def row(self) -> dict[str, Any]:
        """What was measured in the steps that count."""
        more = {name: now - self._before[name] for name, now in self._totals().items()}
        passes, moved = more["passes"], more["moved"]
        return _named(self.network, self.policy, self._bench) | {
            "ms": median(self._seconds) * 1e3,
            "spread": [min(self._seconds) * 1e3, max(self._seconds) * 1e3],
            "ratio": more["left"] / moved if moved else None,
            "moved": moved // passes if passes else None,
            "back": more["back"] // passes if passes else None,
            "again": more["again"] / passes if passes else None,
            "wait_ms": more["wait"] / passes * 1e3 if passes else None,
            "peak": None if self._context is None else self._context.report.peak_device,
            "allocated": torch.cuda.max_memory_allocated() if self._bench.on_card else None,
        }
