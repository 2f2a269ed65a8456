"""Clocks that tick whenever they like, and synchronisers that see a change late if it comes just before their edge.

A step of the proof is a moment. In each, any of the clocks tick or none, together or apart: this has every ratio, phase and
jitter in it, and clocks that stop.
"""

from __future__ import annotations

from amaranth.hdl import DomainRenamer, Elaboratable, EnableInserter, Fragment, Module, ResetInserter, Signal

from cdma.hdl.blocks.clocks import Synchroniser

__all__ = ["FreeClocks"]

#: The domain of all steps, in components that are not built yet.
_STEPS = "steps"


class FreeClocks:
    """Builds components of several clock domains in a single one; Amaranth knows it as a platform.

    ``ticks``, ``resets``
        Say of each domain whether its clock has an edge in this step, and whether it is in reset.
    ``late``
        One for each synchroniser: the bits that it sees late, if they have changed in the step before.
    ``inputs``
        What comes to the synchronisers.
    """

    def __init__(self, *domains: str) -> None:
        self.ticks = {domain: Signal(name=f"{domain}_ticks") for domain in domains}
        self.resets = {domain: Signal(name=f"{domain}_reset") for domain in domains}
        self.late: list[Signal] = []
        self.inputs: list[Signal] = []

    def get_synchroniser(self, cell: Synchroniser) -> Elaboratable:
        """The model of a synchroniser."""
        m = Module()
        late = Signal(cell.bits, name=f"late_{len(self.late)}")
        self.late.append(late)
        self.inputs.append(cell.input)
        before = Signal(cell.bits)
        first, second = (Signal(cell.bits, name=name, reset_less=True) for name in ("first", "second"))
        m.d[_STEPS] += before.eq(cell.input)
        m.d.sync += [first.eq((before & late) | (cell.input & ~late)), second.eq(first)]
        m.d.comb += cell.output.eq(second)
        return m

    def built(self, component: Elaboratable) -> Elaboratable:
        """A component whose domains are those of ``ticks``."""
        built = EnableInserter(self.ticks)(ResetInserter(self.resets)(Fragment.get(component, self)))
        return DomainRenamer(dict.fromkeys((*self.ticks, _STEPS), "sync"))(built)
