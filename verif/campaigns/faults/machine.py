"""An engine between two memories as a machine with faults: a simulation in C++ that takes orders.

A bench in Python would see a few thousand cycles a second; this one makes some hundred thousand, because memories and
monitors (``machine.cpp``) are C++. It also finds the memories in the Verilog of a design.
"""

from __future__ import annotations

import contextlib
import copy
import enum
import re
import struct
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from types import TracebackType
from typing import Literal, NamedTuple

from cdma.base.errors import CdmaError, ParameterError
from cdma.hdl.spec.options import NO_CLOCKS, OWNER_PORTS, PAIR_SPAN_LOG2, reset_of
from cdma.hdl.spec.registers.map import register_map
from cdma.verif.engine.design import PREFIX, EngineDesign, broken_rules
from cdma.verif.simulator.build import build_with_main

_MODULE = re.compile(r"^module (\w+) \($.*?^endmodule$", re.MULTILINE | re.DOTALL)
_INSTANCE = re.compile(r"^  (\w+) (\w+) \($", re.MULTILINE)
#: How the module of a memory ends: its words, their bits, and the bits that are written by themselves.
_SHAPE = re.compile(r"_ram_\w+?_(\d+)x(\d+)(?:_by(\d+))?_\w+$")
_WORDS = re.compile(r"^(  reg \[\d+:0\] contents \[0:\d+\]);$", re.MULTILINE)


@dataclass(frozen=True)
class Array:
    """A memory: its path below the top, its words, the bits of a word, and those that have checks of their own."""

    path: str
    words: int
    bits: int
    group: int

    @property
    def name(self) -> str:
        return "__DOT__".join([*self.path.split("."), "contents"])


def arrays_of(verilog: str, top: str) -> list[Array]:
    """The memories of a design whose memories are instances of wrapper modules."""
    inside = {found[1]: _INSTANCE.findall(found[0]) for found in _MODULE.finditer(verilog)}

    def below(module: str, path: str) -> list[Array]:
        if shape := _SHAPE.search(module):
            words, bits, group = (int(number) if number else 0 for number in shape.groups())
            return [Array(path, words, bits, group or bits)]
        return [
            array
            for kind, name in inside.get(module, ())
            for array in below(kind, f"{path}.{name}" if path else name)
        ]

    return below(top, "")


def visible(verilog: str) -> str:
    """The design with memories that the simulation may change."""
    return _WORDS.sub(r"\1 /*verilator public_flat_rw*/;", verilog)


#: Bytes of each memory.
SIZE = 1 << 20

#: A memory, by the port that it is at.
Side = Literal["dev", "host"]

_MEMORIES = {"dev": 0, "host": 1}
#: The orders of ``machine.cpp``, in its numbers.
_ORDERS = (
    *("end", "write", "read", "fill", "allow", "poke", "peek", "run", "wait", "expect", "reset", "fault"),
    *("begin", "events", "state", "flip"),
)
#: The number of no port.
_NO_PORT = (1 << 64) - 1


class Channel(enum.IntEnum):
    AR = 0
    R = 1
    AW = 2
    W = 3
    B = 4


class Event(NamedTuple):
    """A transfer on a channel: of AR, AW and B a burst, of R and W a beat; of AR and AW also whose it is."""

    port: int
    channel: Channel
    id: int
    address: int
    beats: int
    owner: int


@dataclass(frozen=True)
class Pace:
    """How the memories answer: after ``latency`` cycles, with each channel held back in a ``pause`` of 256 cycles."""

    latency: int = 4
    pause: int = 0
    seed: int = 1


@dataclass(frozen=True)
class State:
    """Observations since the last call.

    ``outside``, ``first_outside``: Bytes written where none may be, and the address of the first.
    ``broken``: The rules of AXI4 that have been broken.
    ``open``, ``open_data``: Transactions open now, and those of them that are not of a ring.
    ``deaf``: The register port has not answered.
    ``alert``: The pin: a bit for each queue pair; 0 in an engine without checks of memories.
    """

    cycle: int
    outside: int
    first_outside: int
    open: int
    open_data: int
    deaf: bool
    alert: int
    broken: str


class Machine:
    """The simulation. Orders without an answer return at once, and are carried out in order.

    ``verilog``: Replaces the design's own, with the same ports.
    ``seed``: That of the ratios and the jitter of several clocks.
    """

    def __init__(
        self,
        design: EngineDesign,
        verilog: str | None = None,
        plusargs: tuple[str, ...] = (),
        *,
        seed: int = 1,
    ) -> None:
        config = design.config
        if not config.registers:
            raise ParameterError("registers is False; faults are tried on an engine that has them")
        self.config = config
        self.registers = register_map(config)
        #: Where these begin.
        self.page = 0
        #: The names of the AXI4 ports, by number.
        self.ports = (*config.dev_ports, "host")
        text = design.verilog() if verilog is None else verilog
        #: Those that bits may be flipped in: of an engine whose words have checks.
        self.arrays = arrays_of(text, design.top) if config.coded_memories else []
        text = design.watched(visible(text) if self.arrays else text)
        program = build_with_main(text, design.top, _main(design, self.arrays))
        self._process = subprocess.Popen(
            [str(program), f"+clocks={seed}", *plusargs], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._orders, self._answers = self._process.stdin, self._process.stdout

    @property
    def pace(self) -> int:
        """A factor on cycles of one clock for slower other clocks."""
        return 1 if self.config.clocks == NO_CLOCKS else 8

    def of_pair(self, number: int) -> Machine:
        """The same simulation with the registers of one of several queue pairs."""
        found = copy.copy(self)
        found.registers = register_map(self.config.of_pair(number))
        found.page = number << PAIR_SPAN_LOG2
        return found

    def __enter__(self) -> Machine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._order("end")
            self._orders.close()
        self._answers.close()
        self._process.wait()

    def _order(self, name: str, *arguments: int, limit: int = 0, data: bytes = b"") -> None:
        four = (*arguments, 0, 0, 0, 0)[:4]
        self._orders.write(struct.pack("<6Q", _ORDERS.index(name), *four, limit) + data)

    def _answer(self, count: int) -> bytes:
        self._orders.flush()
        data = self._answers.read(count)
        if len(data) != count:
            raise CdmaError("the simulation of the engine has ended by itself")
        return data

    def _number(self) -> int:
        return int.from_bytes(self._answer(8), "little")

    def write(self, memory: Side, address: int, data: bytes) -> None:
        self._order("write", _MEMORIES[memory], address, len(data), data=data)

    def read(self, memory: Side, address: int, count: int) -> bytes:
        self._order("read", _MEMORIES[memory], address, count)
        return self._answer(count)

    def fill(self, memory: Side, address: int, count: int, value: int) -> None:
        self._order("fill", _MEMORIES[memory], address, count, value)

    def allow(self, memory: Side, address: int, count: int, allowed: bool = True) -> None:
        """Sets whether the engine may write these bytes."""
        self._order("allow", _MEMORIES[memory], address, count, int(allowed))

    def poke(self, name: str, **values: int) -> None:
        """Writes a register, the fields that are not named as 0."""
        placed = self.registers[name]
        self.poke_at(placed.address, placed.register.put(**values))

    def poke_at(self, address: int, value: int) -> None:
        """Writes any 32 bits to the register at an address."""
        self._order("poke", self.page + address, value)

    def peek(self, name: str, field: str | None = None) -> int:
        """Reads a register, or one field of it."""
        placed = self.registers[name]
        self._order("peek", self.page + placed.address)
        value = self._number()
        return placed.register.field(field).get(value) if field else value

    def run(self, cycles: int) -> None:
        self._order("run", cycles)

    def wait(self, memory: Side, address: int, mask: int, value: int, limit: int) -> bool:
        """Waits until a word of 32 bits in memory has the ``value`` under the ``mask``; False if it never has."""
        self._order("wait", _MEMORIES[memory], address, mask, value, limit=limit * self.pace)
        return bool(self._number())

    def expect(self, name: str, limit: int, **values: int) -> bool:
        """Reads a register until its fields have these values; False after ``limit`` cycles."""
        placed = self.registers[name]
        fields = [placed.register.field(field) for field in values]
        mask = sum(field.mask for field in fields)
        address, value = self.page + placed.address, placed.register.put(**values)
        self._order("expect", address, mask, value, limit=limit * self.pace)
        return bool(self._number())

    def reset(self, cycles: int = 3) -> None:
        """Resets the engine and its neighbours, and removes a fault."""
        self._order("reset", cycles)
        self.open_windows()

    def open_windows(self) -> None:
        """Opens both memories as a whole; windows are closed after a reset."""
        for port in ("dev", "host"):
            for edge, value in (("base", 0), ("limit", SIZE - 1)):
                self.poke(f"{port}_window.{edge}_low", page=value >> 12)
                self.poke(f"{port}_window.{edge}_high", value=0)

    def fail(self, port: int, channel: Channel, index: int, response: int) -> None:
        """Answers transfer ``index`` of a channel, counted from :meth:`begin` on, with an error."""
        self._order("fault", port, channel, index, response)

    def stall(self, port: int, channel: Channel, index: int) -> None:
        """Stops a channel before its transfer ``index``, for ever."""
        self._order("fault", port, channel, index, 0)

    def flip(self, array: int, word: int, bit: int) -> None:
        """Flips a bit of a word in a memory of the engine, which is one of ``arrays``."""
        self._order("flip", array, word, bit)

    def heal(self) -> None:
        """Removes a fault."""
        self._order("fault", _NO_PORT)

    def begin(self, pace: Pace) -> None:
        """Counts transfers from now on, at this pace."""
        self._order("begin", pace.latency, pace.pause, pace.seed)

    def events(self) -> list[Event]:
        """The transfers since :meth:`begin`."""
        self._order("events")
        count = self._number()
        numbers = struct.iter_unpack("<6Q", self._answer(48 * count)) if count else ()
        return [Event(port, Channel(channel), *rest) for port, channel, *rest in numbers]

    def state(self) -> State:
        self._order("state")
        cycle, outside, first, open, data, deaf, alert = struct.unpack("<7Q", self._answer(56))
        broken = [f"{port}: {text}" for port in self.ports for text in broken_rules(port, self._number())]
        return State(cycle, outside, first, open, data, bool(deaf), alert, "; ".join(broken))


def _main(design: EngineDesign, arrays: Sequence[Array]) -> str:
    config = design.config
    domains = config.domains
    clocks = list(dict.fromkeys((domains.core, domains.host, domains.registers)))
    managers = [f"X({name}, 0, 0)" for name in config.dev_ports] + [
        f"X(host, 1, {clocks.index(domains.host)})"
    ]
    text = (files(__package__) / "machine.cpp").read_text()
    if arrays:
        listed = " ".join(
            f"X({number}, {design.top}__DOT__{array.name})" for number, array in enumerate(arrays)
        )
        text = f"#define ARRAYS(X) {listed}\n{text}"
    runs = "t.qreqn = 1" if design.config.quiescence else ""
    owner = " | ".join(
        f"(uint64_t)t.m_axi_##P##_##WAY##{OWNER_PORTS[name]} << {lsb}"
        for name, (lsb, _) in config.records.owner_fields.items()
    )
    head = f"#define RUNS {runs}\n#define OWNER(P, WAY) ({owner or 0})\n#define RULES {design.top}__DOT__{PREFIX}\n"
    head += f"#define ALERT {'t.alert' if config.coded_memories else 0}\n"
    head += f"#define REGISTERS {clocks.index(domains.registers)}\n"
    head += f"#define CLOCKS(X) {' '.join(f'X({clock}, {reset_of(clock)})' for clock in clocks)}\n"
    return f"{head}#define MANAGERS(X) {' '.join(managers)}\n{text}"
