"""What passed the ports of an engine in a run: bursts of AXI4 with their bytes, and accesses to registers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

__all__ = ["Access", "Burst", "Piece", "accesses_of", "bursts_of"]

Cycle = dict[str, int]


@dataclass(frozen=True)
class Piece:
    """Bytes of a beat that passed in a cycle."""

    cycle: int
    address: int
    data: bytes
    resp: int = 0


@dataclass
class Burst:
    """One burst: from the cycle in which its address is offered to that of its last beat, or of its response."""

    port: str
    write: bool
    id: int
    address: int
    beats: int
    size: int
    first: int
    last: int
    pieces: list[Piece] = field(default_factory=list)
    resp: int = 0
    done: bool = False

    @property
    def data(self) -> bytes:
        """Its bytes, as far as they have passed."""
        return b"".join(piece.data for piece in self.pieces)

    def beat_address(self, beat: int) -> int:
        """Where the bytes of a beat begin."""
        return self.address if beat == 0 else (self.address & -self.size) + beat * self.size


@dataclass(frozen=True)
class Access:
    """One access to a register. A write ends with its response."""

    first: int
    last: int
    write: bool
    address: int
    data: int
    resp: int


def bursts_of(cycles: Sequence[Cycle], port: str, width: int) -> list[Burst]:
    """The bursts of a port of ``width`` bytes, by the cycles in which they begin."""
    bursts: list[Burst] = []
    reads: list[Burst] = []
    writes: list[Burst] = []
    answers: list[Burst] = []
    offered: dict[str, int] = {}
    for number, cycle in enumerate(cycles):
        moves = {
            channel: _moves(cycle, f"{port}_{channel}", number, offered)
            for channel in ("ar", "r", "aw", "w", "b")
        }
        for channel, queue in (("ar", reads), ("aw", writes)):
            if moves[channel]:
                queue.append(_burst(cycle, port, channel, offered.pop(f"{port}_{channel}"), number))
                bursts.append(queue[-1])
        if moves["r"]:
            burst = next(burst for burst in reads if burst.id == cycle[f"{port}_rid"])
            _take(burst, number, cycle[f"{port}_rdata"], (1 << width) - 1, width, cycle[f"{port}_rresp"])
            if cycle[f"{port}_rlast"]:
                burst.done = True
                reads.remove(burst)
        if moves["w"]:
            _take(writes[0], number, cycle[f"{port}_wdata"], cycle[f"{port}_wstrb"], width, 0)
            if cycle[f"{port}_wlast"]:
                answers.append(writes.pop(0))
        if moves["b"]:
            burst = next(burst for burst in answers if burst.id == cycle[f"{port}_bid"])
            burst.last, burst.resp, burst.done = number, cycle[f"{port}_bresp"], True
            answers.remove(burst)
    return bursts


def accesses_of(cycles: Sequence[Cycle], port: str) -> list[Access]:
    """The accesses on a port of AXI4-Lite, in the order in which they end."""
    accesses: list[Access] = []
    addresses: dict[str, list[tuple[int, int]]] = {"r": [], "b": []}
    data: list[int] = []
    offered: dict[str, int] = {}
    for number, cycle in enumerate(cycles):
        for channel, answer in (("ar", "r"), ("aw", "b")):
            if _moves(cycle, f"{port}_{channel}", number, offered):
                addresses[answer].append((offered.pop(f"{port}_{channel}"), cycle[f"{port}_{channel}addr"]))
        if _moves(cycle, f"{port}_w", number, offered):
            data.append(cycle[f"{port}_wdata"])
        for answer in ("r", "b"):
            if _moves(cycle, f"{port}_{answer}", number, offered):
                first, address = addresses[answer].pop(0)
                value = data.pop(0) if answer == "b" else cycle[f"{port}_rdata"]
                resp = cycle[f"{port}_{answer}resp"]
                accesses.append(Access(first, number, answer == "b", address, value, resp))
    return accesses


def _moves(cycle: Cycle, channel: str, number: int, offered: dict[str, int]) -> bool:
    """Whether a channel has a transfer; keeps the cycle in which it was offered."""
    if not cycle[f"{channel}valid"]:
        return False
    offered.setdefault(channel, number)
    return bool(cycle[f"{channel}ready"])


def _burst(cycle: Cycle, port: str, channel: str, first: int, number: int) -> Burst:
    address, length, size, id_ = (cycle[f"{port}_{channel}{name}"] for name in ("addr", "len", "size", "id"))
    return Burst(port, channel == "aw", id_, address, length + 1, 1 << size, first, number)


def _take(burst: Burst, number: int, data: int, strobes: int, width: int, resp: int) -> None:
    """Gives a burst the bytes of its next beat."""
    address = burst.beat_address(len(burst.pieces))
    start = address % width
    end = (address & -burst.size) % width + burst.size
    lanes = [lane for lane in range(start, end) if strobes >> lane & 1]
    kept = bytes(data >> (8 * lane) & 0xFF for lane in lanes)
    first = lanes[0] if lanes else start
    burst.pieces.append(Piece(number, address - start + first, kept, resp))
    burst.last = number
    burst.resp = max(burst.resp, resp)
