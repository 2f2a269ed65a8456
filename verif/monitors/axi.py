"""An AXI4 protocol checker: sees every cycle of a manager's port and objects to the first broken rule.

It knows nothing of the simulator: whoever steps the clock gives it the values that the port had at the rising
edge. The rules are those of the AXI4 specification that concern a manager and its memory, and a few of the
engine's own promises, which are marked so below.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from .port_checker import PortChecker

__all__ = ["CHANNELS", "AxiChecker"]

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


@dataclass
class _Burst:
    id: int
    address: int
    beats: int
    size: int
    done: int = 0


@dataclass
class AxiChecker(PortChecker):
    """Checks one port.

    ``data_bits``, ``longest``
        Are the width of the data, and the most beats of a burst that the configuration allows.
    ``outstanding``, ``other_reads``, ``other_writes``
        Bound the bursts in flight of ID 0, in each direction, and the reads and writes of each other ID.
    ``on_write``
        Called with each beat written: the address of the port's lane 0, and the strobes.
    ``sideband``
        Says what an address of a direction (``ar`` or ``aw``) and an ID has beside: signals by their names after that; None
        where they are not looked at.
    ``bursts``
        Counts the bursts, by direction (``read`` or ``write``), ID, beats, and whether they end with a page.
    """

    channels = CHANNELS
    # Of the readys, silence in reset is the engine's own promise.
    silent = ("arvalid", "awvalid", "wvalid", "rready", "bready")

    data_bits: int
    longest: int = 256
    outstanding: int = 256
    other_reads: int = 256
    other_writes: int = 256
    on_write: Callable[[int, int], None] | None = None
    sideband: Callable[[str, int], Mapping[str, int]] | None = None
    bursts: Counter[tuple[str, int, int, bool]] = field(default_factory=Counter, init=False)

    def signals(self) -> Mapping[str, tuple[str, ...]]:
        if self.sideband is None:
            return CHANNELS
        beside = tuple(self.sideband("ar", 0))
        return CHANNELS | {way: (*CHANNELS[way], *(way + name for name in beside)) for way in ("ar", "aw")}

    def forget(self) -> None:
        self._reads: dict[int, deque[_Burst]] = {}
        self._to_write: deque[_Burst] = deque()
        self._to_answer: dict[int, deque[_Burst]] = {}

    def check(self, happened: Mapping[str, tuple[int, ...]]) -> None:
        # What a cycle's answers belong to was asked for in an earlier cycle: answers first.
        for channel in ("r", "b", "w", "aw", "ar"):
            if channel in happened:
                getattr(self, f"_{channel}")(*happened[channel])

    def open(self) -> tuple[int, int]:
        return sum(map(len, self._reads.values())), len(self._to_write) + sum(
            map(len, self._to_answer.values())
        )

    # -- The rules.

    def _address(self, channel: str, id: int, address: int, length: int, size: int, burst: int) -> _Burst:
        new = _Burst(id, address, length + 1, size)
        here = f"{channel} burst of {new.beats} beats of {1 << size} bytes at {address:#x}"
        if burst != _INCR:
            self.object(f"{here} has type {burst}, not INCR")
        if 8 << size > self.data_bits:
            self.object(f"{here} has beats wider than the port's {self.data_bits} bits")
        if new.beats > self.longest:
            self.object(f"{here} is longer than the configured {self.longest}")
        if address % (1 << size):
            # The engine's own promise; AXI4 would allow it.
            self.object(f"{here} is not aligned to its beats")
        if address // _PAGE != (address + (new.beats << size) - 1) // _PAGE:
            self.object(f"{here} crosses a 4 KiB boundary")
        self.bursts[channel, id, new.beats, not (address + (new.beats << size)) % _PAGE] += 1
        return new

    def _beside(self, way: str, id: int, got: tuple[int, ...]) -> None:
        if self.sideband is None:
            return
        for (name, want), value in zip(self.sideband(way, id).items(), got, strict=True):
            if value != want:
                self.object(f"{way}{name} is {value:#x} with ID {id}, not {want:#x}")

    def _count(self, kind: str, id: int, count: int, others: int) -> None:
        most = others if id else self.outstanding
        if count > most:
            self.object(f"{count} {kind} of ID {id} are in flight, more than {most}")

    def _ar(self, id: int, address: int, length: int, size: int, burst: int, *beside: int) -> None:
        self._beside("ar", id, beside)
        queue = self._reads.setdefault(id, deque())
        queue.append(self._address("read", id, address, length, size, burst))
        self._count("reads", id, len(queue), self.other_reads)

    def _r(self, id: int, data: int, resp: int, last: int) -> None:
        queue = self._reads.get(id)
        if not queue:
            self.object(f"read data with ID {id} answers no read")
            return
        burst = queue[0]
        burst.done += 1
        if last != (burst.done == burst.beats):
            self.object(f"rlast is {last} at beat {burst.done} of {burst.beats}")
        if last:
            queue.popleft()

    def _aw(self, id: int, address: int, length: int, size: int, burst: int, *beside: int) -> None:
        self._beside("aw", id, beside)
        self._to_write.append(self._address("write", id, address, length, size, burst))
        waiting = sum(entry.id == id for entry in self._to_write) + len(self._to_answer.get(id, ()))
        self._count("writes", id, waiting, self.other_writes)

    def _w(self, data: int, strb: int, last: int) -> None:
        if not self._to_write:
            # The engine's own promise; AXI4 would allow it.
            self.object("write data came before their address")
            return
        burst = self._to_write[0]
        address = burst.address + (burst.done << burst.size)
        burst.done += 1
        if not strb:
            # The engine's own promise.
            self.object(f"write beat at {address:#x} has no strobe")
        lane = address % (self.data_bits // 8)
        if strb & ~(((1 << (1 << burst.size)) - 1) << lane):
            self.object(
                f"write beat at {address:#x} has strobes {strb:#x} outside its {1 << burst.size} bytes"
            )
        if last != (burst.done == burst.beats):
            self.object(f"wlast is {last} at beat {burst.done} of {burst.beats}")
        if self.on_write is not None:
            self.on_write(address - lane, strb)
        if last:
            self._to_write.popleft()
            self._to_answer.setdefault(burst.id, deque()).append(burst)

    def _b(self, id: int, resp: int) -> None:
        queue = self._to_answer.get(id)
        if not queue:
            self.object(f"write response with ID {id} answers no write")
            return
        queue.popleft()
