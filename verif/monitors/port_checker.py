"""What the checkers of all AXI ports share: handshakes, silence in reset, nothing open at the end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, NoReturn

from .handshakes import Handshakes

__all__ = ["AxiViolation", "PortChecker"]


class AxiViolation(AssertionError):
    """A rule was broken; says which, where and when."""


@dataclass
class PortChecker(ABC):
    """Checks one port. Whoever steps the clock calls :meth:`reset` or :meth:`cycle` at each rising edge.

    ``name``
        Names the port in messages.
    ``sample``
        Gives the value of a signal such as ``"arvalid"`` at the rising edge.
    """

    #: The payload signals of each channel, without the prefix.
    channels: ClassVar[Mapping[str, tuple[str, ...]]]
    #: The signals of the engine that must be low in reset.
    silent: ClassVar[tuple[str, ...]]

    name: str
    sample: Callable[[str], int]
    cycles: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.handshakes = Handshakes(self.signals(), self.sample, self.object)
        self.forget()

    def signals(self) -> Mapping[str, tuple[str, ...]]:
        """The payload signals that this checker looks at, by channel."""
        return self.channels

    def reset(self, *, silent: bool = True) -> None:
        """Looks at one rising edge in reset, which ends whatever was open.

        Without ``silent`` the outputs may still be high, as those of flip-flops are at the first such edge.
        """
        self.cycles += 1
        self.handshakes.forget()
        self.forget()
        for signal in self.silent if silent else ():
            if self.sample(signal):
                self.object(f"{signal} is high in reset")

    def cycle(self) -> None:
        """Looks at one rising edge outside reset."""
        self.cycles += 1
        self.check(self.handshakes.cycle())

    @property
    def quiet(self) -> bool:
        """Whether nothing is in flight."""
        return self.handshakes.quiet and self.open() == (0, 0)

    def finish(self) -> None:
        """Objects if a transaction is still open."""
        if not self.quiet:
            reads, writes = self.open()
            self.object(f"{reads} reads and {writes} writes are still open")

    def object(self, what: str) -> NoReturn:
        """Raises :class:`AxiViolation`."""
        raise AxiViolation(f"{self.name}, cycle {self.cycles}: {what}")

    @abstractmethod
    def forget(self) -> None:
        """Forgets all open transactions."""

    @abstractmethod
    def check(self, happened: Mapping[str, tuple[int, ...]]) -> None:
        """Checks the transfers of one cycle: the payloads by channel."""

    @abstractmethod
    def open(self) -> tuple[int, int]:
        """Counts the reads and the writes that are open."""
