"""A port of a memory. How it answers, cycle by cycle, is C++ (memory.h), for a bench of pins and for one in Python."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from .memory import Memory
from .native import library
from .owners import Objections

__all__ = ["CHANNELS", "IDS", "Answer", "Beat", "Burst", "Pauses", "Port", "Server"]

#: The channels of a port.
CHANNELS = ("ar", "r", "aw", "w", "b")
#: IDs that transactions have, and lengths of bursts, as in memory.h.
IDS, _BEATS = 33, 257


class Pauses(ctypes.Structure):
    """The share of cycles in which each channel rests."""

    _fields_ = [(channel, ctypes.c_double) for channel in CHANNELS]

    def draw(self, share: Callable[[], float]) -> None:
        """Sets the share of each channel to another one of ``share``."""
        for channel in CHANNELS:
            setattr(self, channel, share())


class Burst(NamedTuple):
    """A kind of bursts: reads or writes, their ID, their beats, and whether they end with a page."""

    kind: str
    id: int
    beats: int
    ends_page: bool


class Port(ctypes.Structure):
    """A port of a memory, with a bus of ``bus_bytes`` bytes, which answers in the order of the addresses.

    ``slow``, ``silent``
        Cycles that this port alone stands still at every 256th byte; that it alone holds back its answers.
    ``unit``, ``units``, ``stripe_bytes``
        Which stripes, of so many bytes, may come to this port.
    """

    _fields_ = [
        ("_memory", ctypes.c_void_p),
        ("bus_bytes", ctypes.c_uint64),
        ("_seed", ctypes.c_uint64),
        ("pauses", Pauses),
        ("slow", ctypes.c_uint64),
        ("silent", ctypes.c_uint64),
        ("unit", ctypes.c_uint64),
        ("units", ctypes.c_uint64),
        ("stripe_bytes", ctypes.c_uint64),
        ("_bursts", ctypes.c_uint32 * 2 * _BEATS * IDS * 2),
    ]
    bus_bytes: int
    pauses: Pauses
    slow: int
    silent: bool
    unit: int
    units: int
    stripe_bytes: int

    def __init__(self, memory: Memory, bus_bytes: int) -> None:
        super().__init__(_memory=ctypes.addressof(memory), bus_bytes=bus_bytes, units=1, stripe_bytes=4096)
        self._seed = memory.rng.getrandbits(64)
        self.memory = memory

    def owns(self, address: int) -> bool:
        """Whether an address may come to this port."""
        return address // self.stripe_bytes % self.units == self.unit

    def came(self, way: str, id: int) -> int:
        """The bursts that have come on ``ar`` or ``aw`` with an ID."""
        return sum(sum(counts) for counts in self._bursts[way == "aw"][id])

    def bursts(self) -> Iterator[Burst]:
        """The kinds of bursts that have come."""
        for kind, of_kind in zip(("read", "write"), self._bursts, strict=True):
            for id, of_id in enumerate(of_kind):
                for beats, counts in enumerate(of_id):
                    for ends_page in (False, True):
                        if counts[ends_page]:
                            yield Burst(kind, id, beats, ends_page)


class Beat(NamedTuple):
    """A beat that is read."""

    id: int
    data: int
    response: int
    last: bool


class Answer(NamedTuple):
    """The response to a write."""

    id: int
    response: int


class _Offer(ctypes.Structure):
    _fields_ = [("id", ctypes.c_uint64), ("response", ctypes.c_uint64), ("last", ctypes.c_uint64)]


class Server:
    """What answers at a port, for a bench in Python: in each cycle it is told what has passed the channels, and asked what
    it offers and takes next."""

    def __init__(self, port: Port) -> None:
        self.port = port
        self._library = library()
        self._server = self._library.server_new(ctypes.addressof(port))
        self._offer = _Offer()
        self._data = (ctypes.c_uint8 * port.bus_bytes)()
        self._objections = Objections(port.memory)

    def __del__(self) -> None:
        self._library.server_delete(self._server)

    def ask(self, way: str, cycle: int, id: int, address: int, beats: int, beat_bytes: int) -> None:
        """An address that was taken on ``ar`` or ``aw``."""
        self._do("ask", way == "aw", cycle, id, address, beats, beat_bytes)

    def put(self, cycle: int, data: int, strobes: int) -> None:
        """A beat that was taken on W. One that is answered with an error is not stored."""
        lanes = self.port.bus_bytes
        self._do("put", cycle, data.to_bytes(lanes, "little"), strobes.to_bytes(-(-lanes // 8), "little"))

    def takes_read(self) -> bool:
        """Whether AR is ready in the next cycle."""
        return bool(self._library.server_takes_read(self._server))

    def takes_write(self) -> bool:
        """Whether AW is ready in the next cycle."""
        return bool(self._library.server_takes_write(self._server))

    def takes_data(self, cycle: int) -> bool:
        """Whether W is ready in the next cycle, for data whose address has come."""
        return bool(self._library.server_takes_data(self._server, cycle))

    def next_beat(self, cycle: int) -> Beat | None:
        """What R offers next; None where nothing is due."""
        offer = self._offer
        if not self._do("next_beat", cycle, ctypes.addressof(offer), ctypes.addressof(self._data)):
            return None
        return Beat(offer.id, int.from_bytes(self._data, "little"), offer.response, bool(offer.last))

    def next_answer(self, cycle: int) -> Answer | None:
        """What B offers next; None where nothing is due."""
        offer = self._offer
        if not self._library.server_next_answer(self._server, cycle, ctypes.addressof(offer)):
            return None
        return Answer(offer.id, offer.response)

    def _do(self, what: str, *arguments: Any) -> int:
        """Calls a function, whose objections are raised."""
        result: int = getattr(self._library, f"server_{what}")(
            self._server, *arguments, self._objections.text
        )
        self._objections.check()
        return result
