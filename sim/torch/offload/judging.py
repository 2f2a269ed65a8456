"""CSWAP's advice, and what is true of it: in one pass every tensor is swapped both ways."""

from __future__ import annotations

from dataclasses import dataclass, replace

from torch import Tensor, nn

from cdma.hdl.spec.format import Format
from cdma.sim.gpu.door import analyse

from ..coded import lossless_format
from .both_ways import BothWays
from .context import Offload, Settings, label
from .cost import octave
from .link import Link
from .policies import Action, Cswap, Learnt
from .prediction import pays

__all__ = ["Judged", "Judging"]


@dataclass(frozen=True)
class Judged:
    """A tensor that was swapped both ways.

    ``then``, ``now``
        What was learnt of it when zeros were last counted, and with the zeros that it has now.
    ``raw``, ``compressed``
        Seconds that each swap exposes, by rounds.
    """

    name: str
    then: Learnt
    now: Learnt
    raw: list[float]
    compressed: list[float]


class Judging(Offload):
    """An offload under :class:`Cswap`, of which one pass is judged.

    ``judged``
        The tensors of that pass, in which nothing moves but what is measured.
    """

    def __init__(self, model: nn.Module, policy: Cswap, link: Link, settings: Settings, rounds: int) -> None:
        super().__init__(model, policy, link, settings)
        self._advisor, self._rounds = policy, rounds
        self._judges = False
        self.judged: list[Judged] = []

    def judge(self) -> None:
        """Judges the next pass."""
        self._judges = True

    def compresses(self, learnt: Learnt) -> bool | None:
        """Whether the policy compresses a tensor, by times of kernels for other octaves; None if these are too few."""
        kernels, rates = (
            self._profile.fits(lambda size: octave(size) != octave(learnt.raw)),
            self._profile.rates,
        )
        if kernels is None or rates is None:
            return None
        shorter = pays(learnt.raw * learnt.density + learnt.mask, learnt.raw)
        return shorter and self._advisor.shortens(learnt, rates, kernels)

    def _action(self, flat: Tensor, learnt: Learnt) -> Action:
        if not self._judges:
            return super()._action(flat, learnt)
        if self._may_leave(flat):
            self.judged.append(self._both(flat, learnt))
        return Action.KEEP

    def _both(self, flat: Tensor, learnt: Learnt) -> Judged:
        """Swaps a tensor both ways by turns; the first round finds memory, and compiles."""
        slot = next(slot for slot, one in self._profile.tensors.items() if one is learnt)
        format = lossless_format(flat.dtype)
        ways = BothWays(flat, self._link, format)
        swaps = [(ways.raw(), ways.compressed()) for _ in range(self._rounds + 1)][1:]
        hidden = learnt.forward, learnt.backward
        raw, compressed = ([one.exposed(*hidden) for one in way] for way in zip(*swaps, strict=True))
        return Judged(label(slot), replace(learnt), _counted(flat, learnt, format), raw, compressed)


def _counted(flat: Tensor, learnt: Learnt, format: Format) -> Learnt:
    """What was learnt of a tensor, with the zeros that it has now."""
    found = analyse(flat, format)
    return replace(learnt, density=found.density, mask=found.compressed_bytes - learnt.raw * found.density)
