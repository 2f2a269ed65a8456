"""The ports of memories and the clock edges of the bench of an engine: C++ in the process of the simulation.

How a port answers, cycle by cycle, is memory.h, for a bench of pins and for one in Python. C++ wakes Python at events:
a cycle that a test waits for, the response to an access to registers, a record that was written into a ring, or an
objection. In most cycles there is none. Python sees the pins as the edge sees them, and what it drives comes after it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from cdma.hdl.spec.options import reset_of

from .memory import Memory, library
from .owners import Objections

#: The channels of a port.
CHANNELS = ("ar", "r", "aw", "w", "b")
#: IDs that transactions have, and lengths of bursts, as in memory.h.
IDS, _BEATS = 259, 257


class Pauses(ctypes.Structure):
    """The share of cycles in which each channel rests."""

    _fields_ = [(channel, ctypes.c_double) for channel in CHANNELS]

    def draw(self, share: Callable[[], float]) -> None:
        for channel in CHANNELS:
            setattr(self, channel, share())


class Burst(NamedTuple):
    """A kind of burst."""

    kind: str
    id: int
    beats: int
    ends_page: bool


class Port(ctypes.Structure):
    """A port of a memory, with a bus of ``bus_bytes`` bytes, which answers in the order of the addresses.

    ``slow``, ``silent``: Cycles that this port alone stands still at every 256th byte; that it alone holds back its
        answers.
    ``unit``, ``units``, ``stripe_bytes``: Which stripes, of so many bytes, may come to this port.
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
        return address // self.stripe_bytes % self.units == self.unit

    def came(self, way: str, id: int) -> int:
        """The bursts that have come on ``ar`` or ``aw`` with an ID."""
        return sum(sum(counts) for counts in self._bursts[way == "aw"][id])

    def bursts(self) -> Iterator[Burst]:
        """The kinds of bursts that have come."""
        for kind, of_kind in zip(("read", "write"), self._bursts, strict=True):
            for id, of_id in enumerate(of_kind):
                for beats, counts in enumerate(of_id if any(bytes(of_id)) else ()):
                    for ends_page in (False, True):
                        if counts[ends_page]:
                            yield Burst(kind, id, beats, ends_page)


#: Of the clock that counts cycles.
PERIOD_NS = 10
#: The alarm of nobody.
_NEVER = (1 << 64) - 1


class _Shared(ctypes.Structure):
    _fields_ = [
        ("cycles", ctypes.c_uint64),
        ("alarm", ctypes.c_uint64),
        ("broken", ctypes.c_uint64),
        ("records", ctypes.c_uint64),
        ("objected", ctypes.c_uint64),
        ("objection", ctypes.c_char * 400),
    ]


class End:
    """The bench's end of a port of a memory, at the pins: ``name`` is the port's."""

    def __init__(self, edges: Edges, clock: int, port: Port, name: str, prefix: str) -> None:
        self.port, self.name = port, name
        self._edges, self._prefix = edges, prefix
        self._end = edges.call("memory", clock, ctypes.addressof(port), name.encode(), prefix.encode())
        self._beside: dict[tuple[str, str], int] = {}

    def look_beside(self, way: str, member: str) -> None:
        """From now on compares a sideband signal of ``aw`` or ``ar``, by default with 0."""
        name = f"{way}{member}"
        pin = f"{self._prefix}_{name}".encode()
        self._beside[way, member] = self._edges.call(
            "beside", self._end, way == "aw", name.encode(), pin, of="memory"
        )

    def expect(self, way: str, id: int, members: dict[str, int]) -> None:
        """Sets the sideband of addresses with an ID."""
        assert id < IDS
        for member, value in members.items():
            library().beside_want(self._beside[way, member], id, value)


class Edges:
    """The clocks of a simulation; cycles are those of the first one.

    ``clocks``: By pin: half a period, and the jitter that may be added to it, in steps of the simulation.
    ``wake``, ``broken``: Signals, if there are any: the one that wakes Python, and the one that is high while a rule is
        broken, an event.
    """

    #: Those of the test before are stopped when the next one begins; until then C++ uses what they refer to.
    _running: Edges | None = None

    def __init__(
        self, dut: Any, clocks: Mapping[str, tuple[int, int]], wake: Any = None, broken: Any = None
    ) -> None:
        if Edges._running is not None:
            library().edges_stop(Edges._running._edges)
        Edges._running = self
        self.wake = wake
        self._kept: list[Any] = []
        self._objections = Objections()
        names = (pin._path.encode() if pin is not None else b"" for pin in (wake, broken))
        self._edges: int = library().edges_new(*names, self._objections.text)
        self._objections.check()
        self._clocks: dict[str, int] = {}
        for clock, (half, jitter) in clocks.items():
            pins = (f"{dut._path}.{pin}".encode() for pin in (clock, reset_of(clock)))
            self._clocks[clock] = self.call("clock", *pins, half, jitter)
        self._shared = _Shared.from_address(library().edges_shared(self._edges))
        self._shared.alarm = _NEVER

    def call(self, what: str, *arguments: Any, of: str = "edges") -> Any:
        """Calls a function of the edges and raises its objections."""
        done = getattr(library(), f"{of}_{what}")(self._edges, *arguments, self._objections.text)
        self._objections.check()
        return done

    def keep(self, shared: Any) -> None:
        """Keeps alive what C++ uses."""
        self._kept.append(shared)

    @property
    def cycles(self) -> int:
        cycles: int = self._shared.cycles
        return cycles

    @property
    def broken(self) -> bool:
        return bool(self._shared.broken)

    def clock(self, name: str) -> int:
        """The C++ handle of a clock."""
        return self._clocks[name]

    def serve(self, memory: Memory, dut: Any, prefix: str, name: str, clock: str) -> End:
        """Connects a port of a memory to the pins that begin with a prefix."""
        port = Port(memory, len(getattr(dut, f"{prefix}_wstrb")))
        self.keep(port)
        self._objections.memories.append(memory)
        return End(self, self.clock(clock), port, name, f"{dut._path}.{prefix}")

    def keep_low(self, pin: Any, clock: str, *, falls: bool) -> None:
        """Objects to an output that is high in reset; with ``falls`` it may be at the first edge in reset."""
        self.call("keep_low", self.clock(clock), pin._path.encode(), falls)

    def wake_at(self, cycle: int | None) -> None:
        """Sets the cycle from which on Python is woken, if any."""
        self._shared.alarm = _NEVER if cycle is None else cycle

    def recorded(self) -> bool:
        """Whether a record of a ring has been written since the last call."""
        recorded, self._shared.records = bool(self._shared.records), 0
        return recorded

    def check(self) -> None:
        """Raises the memories' objections."""
        if self._shared.objected:
            self._objections.raise_with(self._shared.objection.decode())
