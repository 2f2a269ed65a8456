"""Rules of AXI4 for a manager's port, and the limits that the engine states: checked on every cycle."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

_PAYLOADS = {
    "ar": ("arid", "araddr", "arlen", "arsize", "arburst"),
    "aw": ("awid", "awaddr", "awlen", "awsize", "awburst"),
    "w": ("wdata", "wstrb", "wlast"),
    "r": ("rid", "rlast"),
    "b": ("bid",),
}


class PortRules:
    """What goes over one port.

    ``pin``
        Gives the value of a signal such as ``arvalid`` at the rising edge.
    ``data_limit``, ``ring_limits``
        The transactions in flight of ID 0, in each direction; and of the other IDs together, reads and writes.
    ``bases``
        Whether the other IDs, 1 and 2, are bases of deltas: data as those of ID 0.
    ``pairs``, ``messages``
        The queue pairs, and whether there are messages.
    ``most``
        The most that were in flight: of ID 0 and of the others, as ``reads``, ``ring_reads``, ``writes``, ``ring_writes``.
    ``beside``, ``asks``
        Further signals of a request, by channel; and who is told of each request its ID, its address and these signals.
    """

    def __init__(self, name: str, bus_bytes: int, pin: Callable[[str], int]) -> None:
        self.name, self.bus_bytes, self.pin = name, bus_bytes, pin
        self.beats = 256
        self.data_limit = 256
        self.ring_limits = (256, 256)
        self.beside: dict[str, tuple[str, ...]] = {}
        self.asks: Callable[[str, int, int, tuple[int, ...]], None] = lambda *_: None
        self.pairs, self.lists, self.messages, self.bases = 1, False, False, False
        self.most = dict.fromkeys(("reads", "ring_reads", "writes", "ring_writes"), 0)
        #: The bytes of the last bursts of data that were written.
        self.writes_of_data: deque[range] = deque(maxlen=4096)
        self.reset()

    def reset(self) -> None:
        """Forgets what is in flight."""
        self.held: dict[str, tuple[int, ...]] = {}
        self.reads: dict[int, deque[int]] = {}
        self.writes: dict[int, int] = {}
        self.to_write: deque[tuple[int, int, int, int]] = deque()
        self.beat = 0

    @property
    def idle(self) -> bool:
        """Whether nothing is in flight."""
        return not (any(self.reads.values()) or any(self.writes.values()) or self.to_write or self.held)

    def sample(self, resetting: bool) -> None:
        """Looks at the port at a rising edge."""
        if resetting:
            for channel in ("ar", "aw", "w"):
                assert not self.pin(f"{channel}valid"), f"{self.name}_{channel}valid is high in reset"
            self.reset()
            return
        for channel in ("r", "b", "w", "aw", "ar"):
            if not self.pin(f"{channel}valid"):
                assert channel not in self.held, f"{self.name}_{channel}valid fell before its ready"
                continue
            payload = tuple(map(self.pin, (*_PAYLOADS[channel], *self.beside.get(channel, ()))))
            before = self.held.pop(channel, payload)
            assert before == payload, f"{self.name}_{channel}: {before} became {payload} before its ready"
            if self.pin(f"{channel}ready"):
                getattr(self, f"_{channel}")(*payload)
            elif channel in ("ar", "aw", "w"):
                self.held[channel] = payload

    def _request(self, id_: int, address: int, length: int, size: int, burst: int) -> None:
        step, beats = 1 << size, length + 1
        what = f"{self.name}: {beats} beats of {step} bytes at {address:#x}, ID {id_}"
        assert burst == 1, f"{what}: no INCR"
        assert step <= self.bus_bytes, f"{what}: wider than the port"
        last = address // step * step + step * beats - 1
        assert address >> 12 == last >> 12, f"{what}: crosses 4 KiB"
        rings = 2 * self.pairs
        # After the rings, and after lists of pages; with one pair also where there are none.
        first_message = max(4, rings + 2 * self.lists) + 1
        assert id_ < first_message + self.messages * rings, what
        if self.bases:
            assert id_ <= 2, what
            assert beats <= self.beats, f"{what}: longer than stated"
        elif id_ >= first_message:
            assert beats * step == 4, f"{what}: no message"
        elif id_ > rings:
            assert beats <= 4, f"{what}: longer than stated"
        else:
            assert beats <= self.beats if id_ == 0 else beats * step == 64, f"{what}: longer than stated"

    def _open(self, kind: str, counts: dict[int, int]) -> None:
        data, rings = counts.get(0, 0), sum(counts.get(id_, 0) for id_ in range(1, 2 * self.pairs + 1))
        self.most[kind] = max(self.most[kind], data)
        self.most[f"ring_{kind}"] = max(self.most[f"ring_{kind}"], rings)
        limit = self.pairs * self.ring_limits[kind == "writes"]
        if self.bases:
            data, rings = max(counts.values()), 0
        assert data <= self.data_limit, f"{self.name}: {data} {kind} of data in flight"
        assert rings <= limit, f"{self.name}: {rings} {kind} of rings in flight"

    def _ar(self, id_: int, address: int, length: int, size: int, burst: int, *beside: int) -> None:
        self.asks("ar", id_, address, beside)
        self._request(id_, address, length, size, burst)
        self.reads.setdefault(id_, deque()).append(length + 1)
        self._open("reads", {each: len(queue) for each, queue in self.reads.items()})

    def _aw(self, id_: int, address: int, length: int, size: int, burst: int, *beside: int) -> None:
        self.asks("aw", id_, address, beside)
        self._request(id_, address, length, size, burst)
        self.to_write.append((id_, address, length + 1, size))
        if id_ == 0:
            self.writes_of_data.append(range(address, (address >> size << size) + (length + 1 << size)))
        self.writes[id_] = self.writes.get(id_, 0) + 1
        self._open("writes", self.writes)

    def _w(self, data: int, strobes: int, last: int) -> None:
        assert self.to_write, f"{self.name}: write data before its address"
        _, address, beats, size = self.to_write[0]
        lane = (address + (self.beat << size)) % self.bus_bytes >> size << size
        assert not strobes & ~((1 << (1 << size)) - 1 << lane), (
            f"{self.name}: strobes {strobes:#x} beside the lanes"
        )
        self.beat += 1
        assert last == (self.beat == beats), f"{self.name}: wlast {last} at beat {self.beat} of {beats}"
        if last:
            self.beat = 0
            self.to_write.popleft()

    def _r(self, id_: int, last: int) -> None:
        queue = self.reads[id_]
        queue[0] -= 1
        assert last == (queue[0] == 0), "the memory of this bench counts its beats"
        if last:
            queue.popleft()

    def _b(self, id_: int) -> None:
        self.writes[id_] -= 1
