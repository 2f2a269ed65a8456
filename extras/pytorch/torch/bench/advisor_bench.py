"""Whether CSWAP's advice is right: each tensor of a network swapped both ways, beside what the equations chose for it.

The truth is of other passes than the advice, in one of which every tensor is swapped both ways.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from statistics import median, quantiles
from typing import Any

import torch
from torch import Tensor, nn

from cdma.door import analyse
from cdma.gpu.layout import where
from cdma.hdl.spec.format import Format
from cdma.torch.coded import Codec, lossless_format
from cdma.torch.keeping import Slot
from cdma.torch.prediction import Expected, pays
from cdma.torch.swapping.context import Offload, Settings, label
from cdma.torch.swapping.policies import Action, Cswap, Learnt, Moment, SwapPolicy, octave
from cdma.torch.transport import Transport, WrongReturn

from .swap_training import SwapBench, SwapTraining, ready_card, transport_for


@dataclass(frozen=True)
class Swap:
    """Seconds that a tensor was copied out and back, and that kernels compressed and decompressed it."""

    out: float
    back: float
    compress: float = 0.0
    decompress: float = 0.0

    def exposed(self, forward: float, backward: float) -> float:
        """Seconds that computing waits for, where so many hide each copy."""
        copies = max(self.out - forward, 0.0) + max(self.back - backward, 0.0)
        return self.compress + self.decompress + copies


class BothWays:
    """Swaps one tensor, again and again, while nothing else uses the link."""

    def __init__(self, flat: Tensor, transport: Transport, format: Format) -> None:
        self._flat, self._transport, self._format = flat, transport, format
        self._bound = max(flat.nbytes, format.bound_bytes(flat.nbytes * 8 // format.word_bits))
        self._host = transport.memory(self._bound)
        self._codec = Codec(flat.device)

    def raw(self) -> Swap:
        """The elements go and come back as they are."""
        out, back, target = self._copied(self._flat.view(torch.uint8))
        self._check(target)
        return Swap(out, back)

    def compressed(self) -> Swap:
        """A stream goes and comes back: so many bytes of it as are sent where its length is what was expected."""
        space = self._flat.new_empty(self._bound, dtype=torch.uint8)
        packed, compress = self._timed(lambda: self._codec.pack(self._flat, self._format, space))
        length = int(packed.length)
        out, back, target = self._copied(space[: max(length, Expected(None, length, self._bound).space)])
        restored, decompress = self._timed(lambda: self._codec.unpack(replace(packed, data=target)))
        self._check(restored)
        return Swap(out, back, compress, decompress)

    def _copied(self, source: Tensor) -> tuple[float, float, Tensor]:
        host = self._host[: source.numel()]
        out = self._transport.out([(source, host)])
        out.end.synchronize()
        back = self._transport.back(host, out.end)
        target, seconds = back.take(), self._transport.seconds
        return seconds(out.begin, out.end), seconds(back.begin, back.end), target

    def _timed(self, work: Callable[[], Any]) -> tuple[Any, float]:
        begin = self._transport.mark()
        result = work()
        return result, self._transport.seconds(begin, self._transport.mark())

    def _check(self, restored: Tensor) -> None:
        """Compares bits."""
        if not torch.equal(restored.view(torch.uint8), self._flat.view(torch.uint8)):
            raise WrongReturn(f"a tensor of {self._flat.nbytes} bytes did not come back as it left")


class Advising(Offload):
    """An offload under :class:`Cswap`, which is asked for its advice."""

    def __init__(self, model: nn.Module, policy: Cswap, transport: Transport, settings: Settings) -> None:
        super().__init__(model, policy, transport, settings)
        self._advisor = policy

    def learnt(self, slot: Slot) -> Learnt:
        """What was learnt of a tensor when zeros were last counted."""
        self._profile.settle()
        return self._profile.tensors[slot]

    def compresses(self, slot: Slot, density: float, mask: float) -> bool | None:
        """Whether the policy compresses a tensor if it has so many zeros; None if nothing is learnt from others.

        The link is that of other tensors' copies, and kernels are those for other octaves of sizes.
        """
        learnt = self.learnt(slot)
        rates = self._profile.rates_without(learnt)
        kernels = self._profile.fits(lambda size: octave(size) != octave(learnt.raw))
        if kernels is None or rates is None:
            return None
        with_zeros = replace(learnt, density=density, mask=mask)
        shorter = pays(learnt.raw * density + mask, learnt.raw)
        return shorter and self._advisor.shortens(with_zeros, rates, kernels)


@dataclass
class Judged:
    """A tensor that was swapped both ways, by turns.

    ``density``, ``mask``: Its zeros then, as :class:`Learnt` has them.
    ``swaps``: Raw and compressed, by rounds.
    ``hidden``: Seconds that hid its copies in the passes after that, by rounds: in the forward pass, and in the
        backward pass.
    """

    bytes: int
    density: float
    mask: float
    swaps: Sequence[tuple[Swap, Swap]]
    hidden: list[tuple[float, float]] = field(default_factory=list)

    def exposed(self) -> tuple[list[float], list[float]]:
        """Seconds that swaps expose raw, and compressed, by rounds."""
        rounds = list(zip(self.swaps, self.hidden, strict=True))
        raw, compressed = ([swap[way].exposed(*hidden) for swap, hidden in rounds] for way in (0, 1))
        return raw, compressed


@dataclass(frozen=True)
class _Watched(SwapPolicy):
    """Everything moves, and every pass shows how much time hides each copy."""

    refresh = 1

    def action(self, tensor: Learnt, moment: Moment) -> Action:
        return Action.RAW


class Judging(Offload):
    """Passes in which the truth is timed, and of which no advice has heard.

    In the first one nothing moves but what is swapped both ways. In the others everything moves.

    ``judged``: The tensors of the first pass.
    """

    def __init__(self, model: nn.Module, transport: Transport, settings: Settings, rounds: int) -> None:
        super().__init__(model, _Watched(), transport, settings)
        self._rounds = rounds
        self.judged: dict[Slot, Judged] = {}

    def watched(self) -> None:
        """Notes the hidden times of the last pass."""
        self._profile.settle()
        for slot, one in self.judged.items():
            learnt = self._profile.tensors[slot]
            one.hidden.append((learnt.forward, learnt.backward))

    def _action(self, flat: Tensor, learnt: Learnt) -> Action:
        if self._number > 0:
            return super()._action(flat, learnt)
        if self._may_leave(flat):
            slot = next(slot for slot, one in self._profile.tensors.items() if one is learnt)
            self.judged[slot] = self._both(flat)
        return Action.KEEP

    def _both(self, flat: Tensor) -> Judged:
        """Swaps a tensor both ways by turns; the first round finds memory, and compiles."""
        format = lossless_format(flat.dtype)
        ways = BothWays(flat, self._transport, format)
        swaps = [(ways.raw(), ways.compressed()) for _ in range(self._rounds + 1)][1:]
        found = analyse(flat, format)
        mask = found.compressed_bytes - flat.nbytes * found.density
        return Judged(flat.nbytes, found.density, mask, swaps)


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
    settings = Settings(None, None, bench.training.ahead)
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
