"""The memories of the bench of an engine, and the C++ library of its memories, ports and clock edges."""

from __future__ import annotations

import ctypes
import mmap
import random
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any
from weakref import WeakSet

from cdma.base.cache import content_key, kept_folder
from cdma.verif.simulator.build import run_tool
from cdma.verif.simulator.toolchain import find_verilator

from .hosts import Link

_SOURCES = ("edges.cpp", "ends.h", "link.h", "memory.h", "pins.h")
_POINTER, _TEXT, _INT = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
_NUMBER, _CYCLE = ctypes.c_uint64, ctypes.c_int64
#: What each function returns, and what it takes.
_FUNCTIONS = {
    "edges_new": (_POINTER, _TEXT, _TEXT, _TEXT),
    "edges_clock": (_POINTER, _POINTER, _TEXT, _TEXT, _NUMBER, _NUMBER, _TEXT),
    "edges_stop": (None, _POINTER),
    "edges_shared": (_POINTER, _POINTER),
    "edges_memory": (_POINTER, _POINTER, _POINTER, _POINTER, _TEXT, _TEXT, _TEXT),
    "edges_registers": (_POINTER, _POINTER, _POINTER, _POINTER, _TEXT, _TEXT),
    "edges_keep_low": (_INT, _POINTER, _POINTER, _TEXT, _INT, _TEXT),
    "memory_beside": (_POINTER, _POINTER, _POINTER, _INT, _TEXT, _TEXT, _TEXT),
    "beside_want": (None, _POINTER, _NUMBER, _NUMBER),
    "registers_write": (None, _POINTER, _NUMBER, _NUMBER, _NUMBER, _NUMBER),
    "registers_read": (None, _POINTER, _NUMBER, _NUMBER),
    "registers_next": (_INT, _POINTER, _POINTER),
    "places_new": (_POINTER,),
    "places_delete": (None, _POINTER),
    "places_add": (None, _POINTER, _NUMBER),
    "server_new": (_POINTER, _POINTER),
    "server_delete": (None, _POINTER),
    "server_ask": (None, _POINTER, _INT, _CYCLE, _NUMBER, _NUMBER, _NUMBER, _NUMBER, _TEXT),
    "server_next_beat": (_INT, _POINTER, _CYCLE, _POINTER, _POINTER, _TEXT),
}


@cache
def library() -> ctypes.CDLL:
    """The functions of edges.cpp."""
    texts = {name: (files("cdma.verif.engine") / name).read_text() for name in _SOURCES}
    tool = find_verilator()

    def make(folder: Path) -> None:
        for name, text in texts.items():
            (folder / name).write_text(text)
        include = f"-I{tool.include / 'vltstd'}"
        command = [
            tool.compiler,
            "-std=c++17",
            "-O2",
            "-shared",
            "-fPIC",
            include,
            "-o",
            "edges.so",
            "edges.cpp",
        ]
        run_tool(command, folder, "compiling the bench of engines")

    folder = kept_folder("bench", content_key(tool.compiler_version, tool.version, *texts.values()), make)
    loaded = ctypes.CDLL(str(folder / "edges.so"))
    for name, (result, *arguments) in _FUNCTIONS.items():
        function = getattr(loaded, name)
        function.restype, function.argtypes = result, arguments
    return loaded


SIZE = 1 << 20
#: What memory holds where nobody has written.
GUARD = 0xA5
#: Guard bytes on both sides of what is looked at.
AROUND = 128
#: Data of transfers lie from here on, and rings below.
DATA = 0x10000
#: The cycle of what has not happened.
NEVER = -1


class Far:
    """Addresses beyond the memory: what is read follows from the address, what is written is checked.

    Reads and writes go through it in order, from ``start`` on; with several ``units``, through the stripes of each.
    """

    def __init__(
        self,
        start: int,
        data: Callable[[int, int], bytes],
        expected: bytes = b"",
        stripe_bytes: int = 4096,
        units: int = 1,
    ) -> None:
        self.start = start
        self.data = data
        self.expected = expected
        self.stripe_bytes, self.units = stripe_bytes, units
        self.read = self.written = 0
        self._reads, self._writes = self._begin(), self._begin()

    def _begin(self) -> list[int]:
        stripe, units = self.stripe_bytes, self.units
        first = self.start // stripe
        numbers = (first + (unit - first) % units for unit in range(units))
        return [max(self.start, number * stripe) if units > 1 else self.start for number in numbers]

    def _pass(self, what: str, at: list[int], address: int, length: int) -> None:
        """Advances past a beat, which must be the next one of its unit."""
        unit = address // self.stripe_bytes % self.units
        if address != at[unit]:
            raise AssertionError(f"a {what} of {address:#x}, not of {at[unit]:#x}")
        at[unit] += length
        if at[unit] % self.stripe_bytes == 0:
            at[unit] += (self.units - 1) * self.stripe_bytes

    def read_into(self, address: int, length: int, to: Any) -> None:
        self._pass("read", self._reads, address, length)
        self.read += length
        ctypes.memmove(to, self.data(address, length), length)

    def write_from(self, address: int, length: int, source: Any) -> None:
        data = ctypes.string_at(source, length)
        self._pass("write", self._writes, address, length)
        offset = address - self.start
        want = self.expected[offset : offset + len(data)]
        if data[: len(want)] != want:
            raise AssertionError(f"{address:#x} is given {data.hex()}, not {want.hex()}")
        self.written += len(data)


class _Bad(ctypes.Structure):
    _fields_ = [("at", ctypes.c_uint64), ("response", ctypes.c_uint64)]


#: Most bytes that are answered with errors at once, as in memory.h.
_BADS = 16
#: How many bursts are in flight where any number may be.
_ANY = 1 << 32
_GET = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint64, ctypes.c_uint64, ctypes.POINTER(ctypes.c_uint8))


class Place:
    """Bytes of a memory, from ``first`` to before ``end``, that are allocated as long as this exists."""

    def __init__(self, first: int, end: int) -> None:
        self.first, self.end = first, end


class Memory(ctypes.Structure):
    """A memory, at one port or at several. Its fields are shared with memory.h.

    ``bytes``: What lies in it.
    ``writable``: Says which bytes the engine may write at present.
    ``latency``: Cycles from an address to its first beat, and from the last beat of a write to its response.
    ``delay``: Bounds the cycles, drawn anew, for which a port stands still at every 256th byte.
    ``depth``: Bursts in flight of each direction beyond which a port takes no address.
    ``frozen``: Holds back all answers while it is true.
    ``link``: What is between the ports and this memory (:mod:`.hosts`).
    ``first_read``, ``last_answer``: The cycles of the first address of data that was read, and of the last response to
        data that were written; :data:`NEVER` before that.
    """

    _fields_ = [
        ("size", ctypes.c_uint64),
        ("_data", ctypes.c_uint64),
        ("_bytes", ctypes.c_void_p),
        ("_writable", ctypes.c_void_p),
        ("latency", ctypes.c_uint64),
        ("delay", ctypes.c_uint64),
        ("depth", ctypes.c_uint64),
        ("frozen", ctypes.c_uint64),
        ("first_read", ctypes.c_int64),
        ("last_answer", ctypes.c_int64),
        ("_places", ctypes.c_void_p),
        ("_bads", ctypes.c_uint64),
        ("_bad", _Bad * _BADS),
        ("_far_get", _GET),
        ("_far_put", _GET),
        ("link", Link),
    ]
    size: int
    latency: int
    delay: int
    depth: int
    frozen: bool
    first_read: int
    last_answer: int
    link: Link

    def __init__(self, rng: random.Random, size: int = SIZE) -> None:
        super().__init__(size=size, _data=DATA, depth=_ANY, first_read=NEVER, last_answer=NEVER)
        self.rng = rng
        #: Multiples of ``size`` at which the memory is as well.
        self.high: set[int] = set()
        self._places = library().places_new()
        self.hold(bytearray([GUARD]) * size)
        self._spoilt: dict[int, int] = {}
        self._far: Far | None = None
        #: What the memory beyond ``size`` objects to.
        self.objection: Exception | None = None
        #: Where data of transfers begin, and where those of the next one may.
        self.first = self.next = DATA
        self._allocated: WeakSet[Place] = WeakSet()

    def __del__(self) -> None:
        library().places_delete(self._places)

    def hold(self, content: bytearray | mmap.mmap) -> None:
        """Replaces the bytes by others, none of which is writable yet."""
        self.size, self.bytes, self.writable = len(content), content, bytearray(len(content))
        self._bytes, self._writable = (
            ctypes.addressof(ctypes.c_uint8.from_buffer(content)) for content in (self.bytes, self.writable)
        )

    def repeat(self, base: int) -> None:
        """Maps the memory at ``base``, a multiple of its size, as well."""
        self.high.add(base)
        library().places_add(self._places, base)

    def spoil(self, responses: Mapping[int, int]) -> None:
        """Makes some bytes answer with errors; the first one of a write burst counts."""
        self._spoilt.update(responses)
        self._share_spoilt()

    def mend(self, *addresses: int) -> None:
        """Makes some of these bytes answer normally again."""
        for address in addresses:
            del self._spoilt[address]
        self._share_spoilt()

    def _share_spoilt(self) -> None:
        for index, (at, response) in enumerate(self._spoilt.items()):
            self._bad[index] = at, response
        self._bads = len(self._spoilt)

    @property
    def far(self) -> Far | None:
        """The addresses beyond ``size``, if they are used."""
        return self._far

    @far.setter
    def far(self, far: Far | None) -> None:
        self._far = far
        self._far_get = _GET(self._asked(far.read_into)) if far else _GET()
        self._far_put = _GET(self._asked(far.write_from)) if far else _GET()

    def _asked(self, do: Callable[[int, int, Any], None]) -> Callable[[int, int, Any], int]:
        """A callback for C++, which gets no exceptions."""

        def asked(address: int, length: int, data: Any) -> int:
            try:
                do(address, length, data)
            except AssertionError as objection:
                self.objection = objection
                return 1
            return 0

        return asked

    def place_of(self, address: int) -> int:
        """Where in the memory an address is; an address that is nowhere in it stays as it is."""
        at = address % self.size
        return at if address - at in self.high else address

    def read(self, address: int, length: int) -> bytes:
        at = self.place_of(address)
        return bytes(self.bytes[at : at + length])

    def write(self, address: int, data: bytes) -> None:
        self.bytes[address : address + len(data)] = data

    def allow(self, address: int, length: int, allowed: bool = True) -> None:
        """Sets whether the engine may write these bytes."""
        self.writable[address : address + length] = bytes([allowed]) * length

    def place(self, length: int, align: int) -> Place:
        """Allocates ``length`` bytes with guard bytes on both sides, often near a 4 KiB boundary."""
        # Some transfers take long, while those of others come round the whole memory.
        for _ in range(3 * len(self._allocated) + 2):
            place = self._next_place(length, align)
            used = [
                each.end
                for each in self._allocated
                if each.first - AROUND < place.end and place.first - AROUND < each.end
            ]
            if not used:
                break
            self.next = max(used)
        else:
            raise AssertionError(f"the memory has no room for {length:#x} bytes more")
        self._allocated.add(place)
        # What older transfers left here must not pass for guard bytes.
        self.write(place.first - AROUND, bytes([GUARD]) * (length + 2 * AROUND))
        return place

    def _next_place(self, length: int, align: int) -> Place:
        """The bytes after the last ones, allocated or not."""
        rng = self.rng
        if self.next + length + 0x3000 > self.size:
            self.next = self.first
        self.next += 2 * AROUND + rng.choice((0, 0, 64, 512, 1024))
        choice = rng.random()
        if choice < 0.3:
            self.next = (self.next | 0xFFF) + 1
        elif choice < 0.5:
            near = (self.next | 0xFFF) + 1 - align * rng.randint(1, 4)
            self.next = near + -(min(0, near - self.next) // 0x1000) * 0x1000
        address = -(-self.next // align) * align
        self.next = address + length
        return Place(address, self.next)
