"""An engine with several queue pairs as software sees it: to each pair's software an engine of its own."""

from __future__ import annotations

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.protection import USUAL_PROT
from cdma.hdl.spec.shares import PAIR_SPAN_LOG2

from .memory import BusError, Memory
from .model import EngineModel

__all__ = ["PairsModel"]


class PairsModel:
    """An engine built from ``config``, between the memories ``dev`` and ``host``. Each pair's registers are in a page of its
    own. Which pair goes next is seen in time alone, which the model does not have; :class:`.ShareModel` says it."""

    def __init__(self, config: EngineConfig, dev: Memory, host: Memory) -> None:
        self.pairs = [EngineModel(config.of_pair(number), dev, host) for number in range(config.channels)]

    @property
    def irqs(self) -> list[bool]:
        """The interrupt line of each pair."""
        return [pair.irq for pair in self.pairs]

    def _pair(self, address: int) -> EngineModel:
        number = address >> PAIR_SPAN_LOG2
        if number >= len(self.pairs):
            raise BusError("SLVERR", address)
        return self.pairs[number]

    def read32(self, address: int, prot: int = USUAL_PROT) -> int:
        """Reads a register; raises :class:`BusError` if there is none at ``address``."""
        return self._pair(address).read32(address % (1 << PAIR_SPAN_LOG2), prot)

    def write32(self, address: int, value: int, prot: int = USUAL_PROT) -> None:
        """Writes a register; raises :class:`BusError` as :meth:`read32` does."""
        self._pair(address).write32(address % (1 << PAIR_SPAN_LOG2), value, prot)

    def step(self) -> bool:
        """Lets each channel of each pair carry out one descriptor or deliver one completion; returns whether any did."""
        done = [pair.step() for pair in self.pairs]
        return any(done)

    def run(self) -> None:
        """Steps until no channel has anything to do."""
        while self.step():
            pass
