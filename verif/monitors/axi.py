"""An AXI4 protocol checker: sees every cycle of a manager's port and objects to the first broken rule.

It knows nothing of the simulator: whoever steps the clock gives it the values that the port had at the rising
edge. The rules are those of the AXI4 specification that concern a manager and its memory, and a few of the
engine's own promises, which are marked so below."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from .handshakes import Handshakes

__all__ = ["CHANNELS", "AxiChecker", "AxiViolation"]

#: The payload signals of each channel, without the prefix.
CHANNELS = {
    "ar": ("arid", "araddr", "arlen", "arsize", "arburst"),
    "r": ("rid", "rdata", "rresp", "rlast"),
    "aw": ("awid", "awaddr", "awlen", "awsize", "awburst"),
    "w": ("wdata", "wstrb", "wlast"),
    "b": ("bid", "bresp"),
}

_INCR = 1
_PAGE = 4096


class AxiViolation(AssertionError):
    """A rule was broken; says which, where and when."""


@dataclass
class _Burst:
    id: int
    address: int
    beats: int
    size: int
    done: int = 0


@dataclass
class AxiChecker:
    """Checks one port.

    ``sample``
        Gives the value of a signal such as ``"arvalid"`` at the rising edge.
    ``data_bits``, ``longest``
        Are the width of the data, and the most beats of a burst that the configuration allows.
    ``outstanding``, ``others``
        Bound the bursts in flight of ID 0, and of each other ID.
    ``on_write``
        Called with each beat written: the address of the port's lane 0, and the strobes.
    """

    name: str
    sample: Callable[[str], int]
    data_bits: int
    longest: int = 256
    outstanding: int = 256
    others: int = 256
    on_write: Callable[[int, int], None] | None = None
    cycles: int = 0

    def __post_init__(self) -> None:
        self._handshakes = Handshakes(CHANNELS, self.sample, self._object)
        self._forget()

    def _forget(self) -> None:
        self._handshakes.forget()
        self._reads: dict[int, deque[_Burst]] = {}
        self._to_write: deque[_Burst] = deque()
        self._to_answer: dict[int, deque[_Burst]] = {}

    # -- Called by whoever steps the clock.

    def reset(self) -> None:
        """Looks at one rising edge in reset, which ends whatever was open."""
        self.cycles += 1
        self._forget()
        for signal in ("arvalid", "awvalid", "wvalid", "rready", "bready"):
            if self.sample(signal):
                # Of the readys, this is the engine's own promise.
                self._object(f"{signal} is high in reset")

    def cycle(self) -> None:
        """Looks at one rising edge, outside reset."""
        self.cycles += 1
        happened = self._handshakes.cycle()
        # What a cycle's answers belong to was asked for in an earlier cycle: answers first.
        for channel in ("r", "b", "w", "aw", "ar"):
            if channel in happened:
                getattr(self, f"_{channel}")(*happened[channel])

    @property
    def quiet(self) -> bool:
        """Whether no transaction is in flight."""
        return not (
            any(self._reads.values())
            or any(self._to_answer.values())
            or self._to_write
            or not self._handshakes.quiet
        )

    def finish(self) -> None:
        """Objects if a transaction is still open."""
        if not self.quiet:
            reads = sum(map(len, self._reads.values()))
            writes = len(self._to_write) + sum(map(len, self._to_answer.values()))
            self._object(f"{reads} reads and {writes} writes are still open")

    # -- The rules.

    def _object(self, what: str) -> None:
        raise AxiViolation(f"{self.name}, cycle {self.cycles}: {what}")

    def _address(self, channel: str, id: int, address: int, length: int, size: int, burst: int) -> _Burst:
        new = _Burst(id, address, length + 1, size)
        here = f"{channel} burst of {new.beats} beats of {1 << size} bytes at {address:#x}"
        if burst != _INCR:
            self._object(f"{here} has type {burst}, not INCR")
        if 8 << size > self.data_bits:
            self._object(f"{here} has beats wider than the port's {self.data_bits} bits")
        if new.beats > self.longest:
            self._object(f"{here} is longer than the configured {self.longest}")
        if address % (1 << size):
            # The engine's own promise; AXI4 would allow it.
            self._object(f"{here} is not aligned to its beats")
        if address // _PAGE != (address + (new.beats << size) - 1) // _PAGE:
            self._object(f"{here} crosses a 4 KiB boundary")
        return new

    def _count(self, kind: str, id: int, count: int) -> None:
        most = self.others if id else self.outstanding
        if count > most:
            self._object(f"{count} {kind} of ID {id} are in flight, more than {most}")

    def _ar(self, id: int, address: int, length: int, size: int, burst: int) -> None:
        queue = self._reads.setdefault(id, deque())
        queue.append(self._address("read", id, address, length, size, burst))
        self._count("reads", id, len(queue))

    def _r(self, id: int, data: int, resp: int, last: int) -> None:
        queue = self._reads.get(id)
        if not queue:
            self._object(f"read data with ID {id} answers no read")
            return
        burst = queue[0]
        burst.done += 1
        if last != (burst.done == burst.beats):
            self._object(f"rlast is {last} at beat {burst.done} of {burst.beats}")
        if last:
            queue.popleft()

    def _aw(self, id: int, address: int, length: int, size: int, burst: int) -> None:
        self._to_write.append(self._address("write", id, address, length, size, burst))
        waiting = sum(entry.id == id for entry in self._to_write) + len(self._to_answer.get(id, ()))
        self._count("writes", id, waiting)

    def _w(self, data: int, strb: int, last: int) -> None:
        if not self._to_write:
            # The engine's own promise; AXI4 would allow it.
            self._object("write data came before their address")
            return
        burst = self._to_write[0]
        address = burst.address + (burst.done << burst.size)
        burst.done += 1
        if not strb:
            # The engine's own promise.
            self._object(f"write beat at {address:#x} has no strobe")
        lane = address % (self.data_bits // 8)
        if strb & ~(((1 << (1 << burst.size)) - 1) << lane):
            self._object(
                f"write beat at {address:#x} has strobes {strb:#x} outside its {1 << burst.size} bytes"
            )
        if last != (burst.done == burst.beats):
            self._object(f"wlast is {last} at beat {burst.done} of {burst.beats}")
        if self.on_write is not None:
            self.on_write(address - lane, strb)
        if last:
            self._to_write.popleft()
            self._to_answer.setdefault(burst.id, deque()).append(burst)

    def _b(self, id: int, resp: int) -> None:
        queue = self._to_answer.get(id)
        if not queue:
            self._object(f"write response with ID {id} answers no write")
            return
        queue.popleft()
