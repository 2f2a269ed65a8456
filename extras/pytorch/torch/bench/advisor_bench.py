"""Whether CSWAP's advice is right: each tensor of a network swapped both ways, beside what the equations chose for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median, quantiles
from typing import Any

from cdma.gpu.layout import where
from cdma.torch.bench.judging import Advising, Judged, Judging
from cdma.torch.swapping.context import Settings, label
from cdma.torch.swapping.policies import Cswap, Learnt, octave

from .paced import transport_for
from .swap_training import SwapBench, SwapTraining, ready_card

#: Passes in which CSWAP learns.
_LEARNING = 4
_WAYS = {True: "compressed", False: "raw", None: None}


@dataclass(frozen=True)
class AdvisorBench:
    """What is measured.

    ``age``: Steps of training since zeros were last counted.
    ``mask``: Whether the equations count the masks.
    """

    training: SwapBench
    age: int = 50
    mask: bool = True


def advisor_rows(network: str, bench: AdvisorBench) -> Iterator[dict[str, Any]]:
    """A row for each tensor that may move, in the order in which they are kept."""
    ready_card(bench.training)
    training = SwapTraining(network, bench.training)
    policy = Cswap(refresh=_LEARNING + bench.age + 1, mask=bench.mask)
    settings = Settings(None, None, bench.training.ahead, False, False)
    transport, rounds = transport_for(bench.training.device, bench.training.link), bench.training.rounds
    advice = Advising(training.model, policy, transport, settings)
    for _ in range(_LEARNING + bench.age):
        training.step(advice)
    truth = Judging(training.model, transport, settings, rounds)
    # That of the swaps, and one that finds memory.
    for _ in range(2):
        training.step(truth)
    for _ in range(rounds):
        training.step(truth)
        truth.watched()
    for slot, one in truth.judged.items():
        then = advice.learnt(slot)
        yield {
            **where(bench.training.on_card),
            "network": network,
            "batch": bench.training.batch,
            "precision": bench.training.precision,
            "age": bench.age,
            "mask": bench.mask,
            "tensor": label(slot),
            **_row(
                one,
                then,
                advice.compresses(slot, then.density, then.mask),
                advice.compresses(slot, one.density, one.mask),
            ),
        }


def _row(one: Judged, then: Learnt, chosen: bool | None, fresh: bool | None) -> dict[str, Any]:
    exposed = one.exposed()
    raw, compressed = map(median, exposed)
    spreads = [_middle_half(each) for each in exposed]
    better = _WAYS[compressed < raw]
    even = spreads[0][0] <= spreads[1][1] and spreads[1][0] <= spreads[0][1]
    return {
        "bytes": one.bytes,
        "density": one.density,
        "density_then": then.density,
        "raw_ms": raw * 1e3,
        "compressed_ms": compressed * 1e3,
        "raw_spread": [each * 1e3 for each in spreads[0]],
        "compressed_spread": [each * 1e3 for each in spreads[1]],
        "hidden_ms": [median(way) * 1e3 for way in zip(*one.hidden, strict=True)],
        "hidden_ms_then": [then.forward * 1e3, then.backward * 1e3],
        "chosen": _WAYS[chosen],
        "fresh": _WAYS[fresh],
        "better": "even" if even else better,
        "right": None if even or chosen is None else _WAYS[chosen] == better,
    }


def _middle_half(seconds: Sequence[float]) -> tuple[float, float]:
    """From which to which seconds the middle half of the rounds took."""
    first, _, last = quantiles(seconds, n=4, method="inclusive")
    return first, last


def by_size(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """A row for each octave of sizes, and one for all: how much of the advice was right, and what it lost.

    Milliseconds are those that swaps expose: all raw, all compressed, as chosen, and the least of both for each tensor. What
    has no advice is left out.
    """
    advised = [row for row in rows if row["chosen"] is not None]
    sizes = sorted({octave(row["bytes"]) for row in advised})
    blocks = {
        f"{1 << size - 1} to {1 << size}": [row for row in advised if octave(row["bytes"]) == size]
        for size in sizes
    }
    return [_summary(name, block) for name, block in {**blocks, "all": advised}.items() if block]


def _summary(name: str, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    counted = [row for row in rows if row["right"] is not None]
    right = sum(row["right"] for row in counted)
    wrong = [row for row in counted if not row["right"]]
    return {
        "bytes": name,
        "tensors": len(rows),
        "even": len(rows) - len(counted),
        "right": right,
        "share": right / len(counted) if counted else None,
        "lost_ms": sum(abs(row["raw_ms"] - row["compressed_ms"]) for row in wrong),
        "raw_ms": sum(row["raw_ms"] for row in rows),
        "compressed_ms": sum(row["compressed_ms"] for row in rows),
        "chosen_ms": sum(row[f"{row['chosen']}_ms"] for row in rows),
        "least_ms": sum(min(row["raw_ms"], row["compressed_ms"]) for row in rows),
    }
