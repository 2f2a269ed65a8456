"""What a bench of an engine does at every clock edge: C++ in the process of the simulation, which wakes Python at events.

An event is a cycle that a test waits for, the response to an access to registers, a record that was written into a ring, or
an objection. In most cycles there is none. Python sees the pins as the edge sees them, and what it drives comes after it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any

from cdma.hdl.spec.options import reset_of

from .memory import Memory
from .memory_port import IDS, Port
from .native import library
from .owners import Objections

__all__ = ["PERIOD_NS", "Edges", "End"]

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
        """From now on, looks at a signal that addresses of ``aw`` or ``ar`` have beside; it is 0 if nothing else is said."""
        name = f"{way}{member}"
        pin = f"{self._prefix}_{name}".encode()
        self._beside[way, member] = self._edges.call(
            "beside", self._end, way == "aw", name.encode(), pin, of="memory"
        )

    def expect(self, way: str, id: int, members: dict[str, int]) -> None:
        """Sets what addresses with an ID have beside."""
        assert id < IDS
        for member, value in members.items():
            library().beside_want(self._beside[way, member], id, value)


class Edges:
    """The clocks of a simulation; cycles are those of the first one.

    ``clocks``
        Has half a period of each clock by its pin, and the jitter that may be added to it, in steps of the simulation.
    ``wake``
        Is a signal that changes when Python is to look, if there is one.
    ``broken``
        Is one that is high while a rule is broken, if there is one; it is an event.
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
        """Calls a function of the edges, and raises what it objects to."""
        done = getattr(library(), f"{of}_{what}")(self._edges, *arguments, self._objections.text)
        self._objections.check()
        return done

    def keep(self, shared: Any) -> None:
        """Keeps what C++ uses."""
        self._kept.append(shared)

    @property
    def cycles(self) -> int:
        """The rising edges so far."""
        cycles: int = self._shared.cycles
        return cycles

    @property
    def broken(self) -> bool:
        """Whether a rule is broken at this edge."""
        return bool(self._shared.broken)

    def clock(self, name: str) -> int:
        """A clock, for what has something to do at its edges."""
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
        """Sets the cycle from which on Python is woken; None: in no cycle."""
        self._shared.alarm = _NEVER if cycle is None else cycle

    def recorded(self) -> bool:
        """Whether a record of a ring has been written since the last call."""
        recorded, self._shared.records = bool(self._shared.records), 0
        return recorded

    def check(self) -> None:
        """Raises what the memories have objected to."""
        if self._shared.objected:
            self._objections.raise_with(self._shared.objection.decode())
