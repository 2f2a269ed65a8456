"""Parts of a design whose lost words are told apart."""

from __future__ import annotations

from amaranth.hdl import Cat, Elaboratable
from amaranth.lib import wiring

from .coded_memory import ErrorLines, MemoryCoding, elaborated

__all__ = ["CodedParts"]


class CodedParts:
    """The parts of a design, whose memories are coded if ``platform`` says so.

    ``coding``
        What says so, or None.
    ``groups``
        The codings of parts by the name of their group, as they are built.
    """

    def __init__(self, platform: object) -> None:
        self.coding = platform if isinstance(platform, MemoryCoding) else None
        self.groups: dict[str, MemoryCoding] = {}

    def built(self, group: str, component: wiring.Component) -> Elaboratable:
        """A part of that group."""
        if self.coding is None:
            return component
        return elaborated(component, self.groups.setdefault(group, self.coding.part()))

    def found(self) -> ErrorLines:
        """Pulses: a wrong word has come to a reader of any memory of the parts that are built."""
        found = [coding.found() for coding in self.groups.values()]
        return ErrorLines(
            Cat(pulse.corrected for pulse in found).any(), Cat(pulse.lost for pulse in found).any()
        )
