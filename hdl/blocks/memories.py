"""Memories, and codes of their words that detect or correct bit flips."""

from __future__ import annotations

from functools import cache
from itertools import combinations
from typing import NamedTuple

from amaranth.hdl import C, Cat, Elaboratable, Fragment, Module, Mux, Shape, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import Component, In, Out

#: Attributes of a memory for block RAM. Its user never depends on a word that is read while it is written, so synthesis need
#: not add logic for that case.
BLOCK_RAM = {"ram_style": "block", "no_rw_check": 1}
#: Attributes of a memory for look-up tables.
LOOK_UP_TABLES = {"ram_style": "distributed"}
#: The style of a memory of flip-flops.
REGISTERS = "registers"


class FlipFlops:
    """As Amaranth's platform, it builds every memory of flip-flops."""

    def get_memory(self, memory: Memory) -> Fragment:
        """The memory as it is built, for Amaranth."""
        memory.attrs["ram_style"] = REGISTERS
        plain: Fragment = memory.elaborate(None)
        return plain


@cache
def columns(bits: int, code: str) -> tuple[int, ...]:
    """The check bits of each bit of a word, and of each check bit itself, one bit each.

    ``"parity"`` has one check bit, which detects a wrong bit. ``"secded"`` corrects one and detects two: all columns differ
    and have an odd number of ones, so the syndrome of two wrong bits is no column.
    """
    if code == "parity":
        return (1,) * (bits + 1)
    checks = 2
    while (1 << checks - 1) - checks < bits:
        checks += 1
    found = [
        sum(1 << check for check in chosen)
        for weight in range(3, checks + 1, 2)
        for chosen in combinations(range(checks), weight)
    ]
    return (*found[:bits], *(1 << check for check in range(checks)))


class CodedParts:
    """The parts of a design, built by group.

    ``coding``: The coding of their memories.
    ``groups``: The coding of each group that has parts.
    """

    def __init__(self, coding: PlainMemories) -> None:
        self.coding = coding
        self.groups: dict[str, PlainMemories] = {}

    def built(self, group: str, component: wiring.Component) -> Elaboratable:
        """A part of that group."""
        return self.groups.setdefault(group, self.coding.part()).built(component)

    def found(self) -> ErrorLines:
        """Pulses: a wrong word is read from a memory of the parts."""
        found = [coding.found() for coding in self.groups.values()]
        return ErrorLines(
            Cat(pulse.corrected for pulse in found).any(), Cat(pulse.lost for pulse in found).any()
        )


#: Memories of fewer bits are flip-flops: with check bits they are hardly smaller.
_FEW = 32


class DataMemory(Memory):
    """A memory of data: no address, length or order depends on its words."""


class ErrorLines(NamedTuple):
    """A word with wrong bits is read: it is ``corrected``, or ``lost``."""

    corrected: Value
    lost: Value


class _Found(NamedTuple):
    """A memory, the line of its lost words, and its pulses."""

    memory: Elaboratable
    line: Signal
    corrected: Signal
    lost: Signal


class PlainMemories:
    """Memories without a code. :class:`MemoryCoding` has the same methods, so that few users distinguish the two."""

    #: Whether words have a code.
    coded = False

    def part(self) -> PlainMemories:
        """For a part of the design whose errors are reported apart from those of others."""
        return self

    def built(self, component: wiring.Component) -> Elaboratable:
        """A component with memories of this kind."""
        return component

    def in_flip_flops(self, component: wiring.Component) -> Elaboratable:
        """A component whose words must not be lost: it has flip-flops where memories have a code."""
        return component

    def guarded(self, memory: Memory, word: Value, lost: Value | int = 0) -> Value:
        """A ``word`` that a port of ``memory`` reads, or ``lost`` in place of a lost word."""
        return word

    def watch(self, memory: Memory) -> Value:
        """High for as long as a lost word of ``memory`` is read; its user, and not the part, then answers for the loss."""
        return C(0)

    def found(self) -> ErrorLines:
        """Pulses: a wrong word is read from any memory of the part."""
        return ErrorLines(C(0), C(0))

    def loses(self, *, lasting: bool = False) -> Value:
        """A pulse for each lost word that the part answers for; with ``lasting``, high for as long as one is read."""
        return C(0)


def coding_of(platform: object) -> PlainMemories:
    """The coding of the memories of a design that is elaborated with this ``platform``."""
    return platform if isinstance(platform, PlainMemories) else PlainMemories()


class MemoryCoding(PlainMemories):
    """Memories whose words have a code. As Amaranth's platform, it builds every memory of a design.

    ``code``: ``"parity"`` or ``"secded"``. Parity is for words of data; all others are corrected in any case, because a
        wrong address or length does harm before it can be stopped.
    ``deepest``: The most words of a memory.
    ``smallest``: Bits of the smallest memory; smaller ones are flip-flops without check bits.
    ``filling``, ``place``: While ``filling`` is high, zeros are written to the word at ``place`` of every memory: words
        that were never written have random check bits.
    """

    coded = True

    def __init__(self, code: str, deepest: int, smallest: int = 0) -> None:
        self.code = code
        self.smallest = max(smallest, _FEW)
        self.filling = Signal()
        self.place = Signal(range(deepest))
        self._found: list[_Found] = []
        self._lines: dict[int, Signal] = {}
        self._watched: set[int] = set()

    def part(self) -> MemoryCoding:
        part = MemoryCoding.__new__(MemoryCoding)
        vars(part).update(vars(self), _found=[], _lines={}, _watched=set())
        return part

    def built(self, component: wiring.Component) -> Elaboratable:
        return elaborated(component, self)

    def in_flip_flops(self, component: wiring.Component) -> Elaboratable:
        return elaborated(component, FlipFlops())

    def guarded(self, memory: Memory, word: Value, lost: Value | int = 0) -> Value:
        return Mux(self.line(memory), lost, Value.cast(word))

    def line(self, memory: Memory) -> Signal:
        """High for as long as a lost word of this memory, or of one of its ports, is read."""
        return self._lines.setdefault(id(memory), Signal(name="lost_word"))

    def watch(self, memory: Memory) -> Signal:
        self._watched.add(id(memory))
        return self.line(memory)

    def found(self) -> ErrorLines:
        corrected, lost = ([getattr(each, name) for each in self._found] for name in ErrorLines._fields)
        return ErrorLines(Cat(corrected).any(), Cat(lost).any())

    def loses(self, *, lasting: bool = False) -> Value:
        answered = [each for each in self._found if id(each.memory) not in self._watched]
        return Cat(each.line if lasting else each.lost for each in answered).any()

    def get_memory(self, memory: Memory) -> Elaboratable | Fragment:
        """The memory as it is built, for Amaranth."""
        assert memory.depth <= 1 << len(self.place), memory.depth
        width = Shape.cast(memory.shape).width
        if not self.checks(width * memory.depth):
            return FlipFlops().get_memory(memory)
        code = self.code if isinstance(memory, DataMemory) else "secded"
        coded = CodedMemory(memory, code, self.line(memory), self.filling, self.place)
        self._found.append(_Found(memory, coded.line, coded.corrected, coded.lost))
        return coded

    def checks(self, bits: int) -> bool:
        """Whether a memory of so many bits has checks."""
        return bits >= self.smallest

    def add(self, memory: Elaboratable, corrected: Signal, lost: Signal) -> None:
        """Counts the pulses of a memory that has checks of its own, and whose user answers for its losses."""
        self._watched.add(id(memory))
        self._found.append(_Found(memory, lost, corrected, lost))


class CodedMemory(Elaboratable):
    """A memory with the ports of ``memory``, whose words have check bits: one group for each part with its own write enable.

    Reads have the latency of ``memory``. It need not be block RAM if that is: the check bits depend on a word that is read
    while it is written.

    ``filling``, ``place``: Those of :class:`MemoryCoding`.
    ``line``: High for as long as a lost word is at a read port.
    ``corrected``, ``lost``: Pulses: such a word is read. A word that stays, or is read repeatedly, is one.
    """

    def __init__(self, memory: Memory, code: str, line: Signal, filling: Signal, place: Signal) -> None:
        self.memory, self.code, self.line = memory, code, line
        self.filling, self.place = filling, place
        self.corrected = Signal(name="corrected_read")
        self.lost = Signal(name="lost_read")

    def elaborate(self, platform: object) -> Module:
        m = Module()
        memory = self.memory
        [port] = memory.write_ports
        width = Shape.cast(memory.shape).width
        granule = width // len(port.en)
        checks = len(columns(granule, self.code)) - granule
        attrs = {name: value for name, value in memory.attrs.items() if name not in BLOCK_RAM}
        # Shown in the list of memories.
        attrs["checks"] = len(port.en) * checks
        inner = Memory(shape=len(port.en) * (granule + checks), depth=memory.depth, init=[], attrs=attrs)
        write = inner.write_port(domain=port.domain, granularity=granule + checks)
        data = Value.cast(port.data)
        words = [data[low : low + granule] for low in range(0, width, granule)]
        m.d.comb += [
            write.addr.eq(Mux(self.filling, self.place, port.addr)),
            write.data.eq(Mux(self.filling, 0, Cat((word, checks_of(word, self.code)) for word in words))),
            write.en.eq(port.en | self.filling.replicate(len(port.en))),
        ]
        found = [self._read(m, inner, number) for number in range(len(memory.read_ports))]
        m.d.comb += [
            self.line.eq(Cat(line for line, _ in found).any()),
            self.corrected.eq(Cat(pulses.corrected for _, pulses in found).any()),
            self.lost.eq(Cat(pulses.lost for _, pulses in found).any()),
        ]
        m.submodules.coded = Elaborated(Fragment.get(inner, None))
        return m

    def _read(self, m: Module, inner: Memory, number: int) -> tuple[Signal, ErrorLines]:
        """Connects a read port, and checks its words: its line, and its pulses."""
        port, [writer] = self.memory.read_ports[number], self.memory.write_ports
        read = inner.read_port(domain=port.domain)
        m.d.comb += read.addr.eq(port.addr)
        bits, step = (len(Value.cast(data)) // len(writer.en) for data in (port.data, read.data))
        checks = [WordCheck(bits, self.code) for _ in writer.en]
        for place, check in enumerate(checks):
            m.submodules[f"check_{number}_{place}"] = check
            m.d.comb += check.coded.eq(read.data.word_select(place, step))
        m.d.comb += Value.cast(port.data).eq(Cat(check.word for check in checks))
        domain = m.d[writer.domain]
        #: The word is not the one of the cycle before.
        fresh = Signal(name=f"fresh_{number}")
        place = Signal.like(port.addr, name=f"place_{number}", reset_less=True)
        exists: Value = port.addr < inner.depth
        if port.domain == "comb":
            domain += place.eq(port.addr)
            m.d.comb += fresh.eq(place != port.addr)
        else:
            m.d.comb += read.en.eq(port.en)
            # The register is undefined until a first word is read.
            loaded = Signal(name=f"loaded_{number}", reset_less=True)
            domain += fresh.eq(port.en & (place != port.addr))
            with m.If(self.filling):
                domain += loaded.eq(0)
            with m.Elif(port.en):
                domain += [loaded.eq(exists), place.eq(port.addr)]
            exists = loaded
        found = [Signal(name=f"{name}_{number}") for name in ErrorLines._fields]
        before = [Signal(name=f"{name}_before_{number}") for name in ErrorLines._fields]
        for now, name in zip(found, ErrorLines._fields, strict=True):
            m.d.comb += now.eq(exists & Cat(getattr(check, name) for check in checks).any())
        domain += [was.eq(now) for was, now in zip(before, found, strict=True)]
        pulses = (now & (fresh | ~was) for now, was in zip(found, before, strict=True))
        return found[1], ErrorLines(*pulses)


def checks_of(word: Value, code: str) -> Value:
    """The check bits of a word."""
    count = len(word)
    each, checks = columns(count, code)[:count], len(columns(count, code)) - count
    return Cat(
        Cat(word[bit] for bit, column in enumerate(each) if column >> check & 1).xor()
        for check in range(checks)
    )


class WordCheck(Component):
    """Checks a word that is read. Combinational.

    ``coded``: The word, followed by its check bits.
    ``word``: The word, corrected if one bit of it is wrong.
    ``corrected``, ``lost``: A bit was wrong and is corrected; wrong bits cannot be corrected.
    """

    def __init__(self, bits: int, code: str) -> None:
        self.bits, self.code = bits, code
        super().__init__(
            {"coded": In(len(columns(bits, code))), "word": Out(bits), "corrected": Out(1), "lost": Out(1)}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        every = columns(self.bits, self.code)
        word, syndrome = self.coded[: self.bits], Signal(len(every) - self.bits)
        m.d.comb += syndrome.eq(checks_of(word, self.code) ^ self.coded[self.bits :])
        if self.code == "parity":
            m.d.comb += [self.word.eq(word), self.lost.eq(syndrome)]
            return m
        wrong = Signal(len(every))
        m.d.comb += [
            wrong.eq(Cat(syndrome == column for column in every)),
            self.word.eq(word ^ wrong[: self.bits]),
            self.corrected.eq(wrong.any()),
            self.lost.eq(syndrome.any() & ~self.corrected),
        ]
        return m


def elaborated(component: Component, coding: MemoryCoding | FlipFlops) -> Elaboratable:
    """A component, elaborated now with that coding, so that all its memories are known."""
    return Elaborated(Fragment.get(component, coding))


class Elaborated(Elaboratable):
    """What is elaborated already."""

    def __init__(self, fragment: Fragment) -> None:
        self.fragment = fragment

    def elaborate(self, platform: object) -> Fragment:
        return self.fragment
