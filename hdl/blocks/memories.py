"""Memories, and codes of their words that detect or correct bit flips."""

from __future__ import annotations

from functools import cache
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


#: With more bits a word has a check more, so that few halves of columns differ.
_NARROW = 32


def _halves(checks: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """The place and the number of the checks in each half."""
    low = (checks + 1) // 2
    return (0, low), (low, checks - low)


def _half(column: int, half: tuple[int, int]) -> int:
    place, count = half
    return column >> place & (1 << count) - 1


@cache
def columns(bits: int, code: str) -> tuple[int, ...]:
    """The check bits of each bit of a word, and of each check bit itself, one bit each.

    ``"parity"`` has one check bit, which detects a wrong bit. ``"secded"`` corrects one and detects two: all columns differ
    and have an odd number of ones, so the syndrome of two wrong bits is no column. Of a wide word the lower half of each
    column has an even number of ones.
    """
    if code == "parity":
        return (1,) * (bits + 1)
    checks, found = 2, list[int]()
    while len(found) < bits:
        checks += 1
        low, _ = _halves(checks)
        ones = {column: (column.bit_count(), _half(column, low).bit_count()) for column in range(1 << checks)}
        found = [
            column
            for column, (count, lower) in ones.items()
            if count % 2 and count > 1 and (bits <= _NARROW or lower % 2 == 0)
        ]
        found.sort(key=ones.__getitem__)
    return (*found[:bits], *(1 << check for check in range(checks)))


class CodedParts:
    """The parts of a design, built by group.

    ``coding``: The coding of their memories.
    ``groups``: The coding of each group that has parts.
    """

    def __init__(self, coding: PlainMemories) -> None:
        self.coding = coding
        self.groups: dict[str, PlainMemories] = {}

    def group(self, name: str) -> PlainMemories:
        """The coding of that group."""
        return self.groups.setdefault(name, self.coding.part())

    def built(self, group: str, component: wiring.Component) -> Elaboratable:
        """A part of that group."""
        return self.group(group).built(component)

    def found(self, but: str = "") -> ErrorLines:
        """Pulses: a wrong word is read from a memory of the parts, of all groups ``but`` one."""
        found = [coding.found() for name, coding in self.groups.items() if name != but]
        return ErrorLines(
            Cat(pulse.corrected for pulse in found).any(), Cat(pulse.lost for pulse in found).any()
        )


#: Memories of fewer bits are flip-flops: with check bits they are hardly smaller.
_FEW = 32


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

    def corrected(self, component: wiring.Component) -> Elaboratable:
        """A component whose words go to a bus at once: where memories have a code, it has one that corrects."""
        return component

    def guarded(self, memory: Memory, word: Value, lost: Value | int = 0) -> Value:
        """A ``word`` that a port of ``memory`` reads, or ``lost`` in place of a lost word."""
        return word

    def at_port(self, port: wiring.PureInterface) -> tuple[Value, Value]:
        """Of one read port of a memory that others read, too: high for as long as a lost word is at it; and a pulse for
        each."""
        return C(0), C(0)

    def watch(self, memory: Memory) -> Value:
        """High for as long as a lost word of ``memory`` is read; its user, and not the part, then answers for the loss."""
        return C(0)

    def is_queue(self, memory: Memory, checked: tuple[int, int] = (0, 0)) -> None:
        """Each word of ``memory`` is written before it is read, and read once. So many bits of it, the first ones, have so
        many check bits among them, which their user checks."""

    def add(self, memory: Elaboratable, corrected: Signal, lost: Signal, *, answered: bool = True) -> None:
        """Counts the pulses of a memory that has checks of its own, whose losses its user has ``answered`` for."""

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

    ``code``: ``"parity"`` or ``"secded"``.
    ``deepest``: The most words of a memory.
    ``smallest``: Bits of the smallest memory; smaller ones are flip-flops without check bits.
    ``filling``, ``place``: While ``filling`` is high, zeros are written to the word at ``place`` of every memory but a
        queue's: words that were never written have random check bits.
    """

    coded = True

    def __init__(self, code: str, deepest: int, smallest: int = 0) -> None:
        self.code = code
        self.smallest = max(smallest, _FEW)
        self.filling = Signal()
        self.place = Signal(range(deepest))
        self._found: list[_Found] = []
        self._lines: dict[int, Signal] = {}
        self._ports: dict[int, tuple[Signal, Signal]] = {}
        self._watched: set[int] = set()
        self._queues: dict[int, tuple[int, int]] = {}

    def part(self) -> MemoryCoding:
        part = MemoryCoding.__new__(MemoryCoding)
        vars(part).update(vars(self), _found=[], _lines={}, _ports={}, _watched=set(), _queues={})
        return part

    def built(self, component: wiring.Component) -> Elaboratable:
        return elaborated(component, self)

    def in_flip_flops(self, component: wiring.Component) -> Elaboratable:
        return elaborated(component, FlipFlops())

    def corrected(self, component: wiring.Component) -> Elaboratable:
        coding = MemoryCoding.__new__(MemoryCoding)
        vars(coding).update(vars(self), code="secded")
        return coding.built(component)

    def guarded(self, memory: Memory, word: Value, lost: Value | int = 0) -> Value:
        return Mux(self.line(memory), lost, Value.cast(word))

    def line(self, memory: Memory) -> Signal:
        """High for as long as a lost word of this memory, or of one of its ports, is read."""
        return self._lines.setdefault(id(memory), Signal(name="lost_word"))

    def is_queue(self, memory: Memory, checked: tuple[int, int] = (0, 0)) -> None:
        self._queues[id(memory)] = checked

    def at_port(self, port: wiring.PureInterface) -> tuple[Signal, Signal]:
        return self._ports.setdefault(
            id(port), (Signal(name="lost_at_port"), Signal(name="lost_read_at_port"))
        )

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
        coded = CodedMemory(memory, self.code, self, self._queues.get(id(memory)))
        self._found.append(_Found(memory, coded.line, coded.corrected, coded.lost))
        return coded

    def checks(self, bits: int) -> bool:
        """Whether a memory of so many bits has checks."""
        return bits >= self.smallest

    def add(self, memory: Elaboratable, corrected: Signal, lost: Signal, *, answered: bool = True) -> None:
        if answered:
            self._watched.add(id(memory))
        self._found.append(_Found(memory, lost, corrected, lost))


class CodedMemory(Elaboratable):
    """A memory with the ports of ``memory``, whose words have check bits: one group for each part with its own write enable.

    Reads have the latency of ``memory``. It need not be block RAM if that is: the check bits depend on a word that is read
    while it is written.

    ``queue``: Each word is written before it is read, and read once, and so many bits of it have so many checks among them
        already. Other memories are filled.
    ``line``: High for as long as a lost word is at a read port.
    ``corrected``, ``lost``: Pulses: such a word is read. A word that stays, or is read repeatedly, is one.
    """

    def __init__(
        self, memory: Memory, code: str, coding: MemoryCoding, queue: tuple[int, int] | None
    ) -> None:
        self.memory, self.code, self.line = memory, code, coding.line(memory)
        self.coding, self.queue = coding, queue is not None
        self.checked, self.own_checks = queue or (0, 0)
        self.corrected = Signal(name="corrected_read")
        self.lost = Signal(name="lost_read")

    def elaborate(self, platform: object) -> Module:
        m = Module()
        memory = self.memory
        [port] = memory.write_ports
        width = Shape.cast(memory.shape).width - self.checked
        granule = width // len(port.en)
        checks = len(columns(granule, self.code)) - granule
        attrs = {name: value for name, value in memory.attrs.items() if name not in BLOCK_RAM}
        # Shown in the list of memories.
        attrs["checks"] = self.own_checks + len(port.en) * checks
        stored = self.checked + len(port.en) * (granule + checks)
        inner = Memory(shape=stored, depth=memory.depth, init=[], attrs=attrs)
        write = inner.write_port(domain=port.domain, granularity=stored // len(port.en))
        data = Value.cast(port.data)
        before, data = data[: self.checked], data[self.checked :]
        fills = C(0) if self.queue else self.coding.filling
        words = [Mux(fills, 0, data[low : low + granule]) for low in range(0, width, granule)]
        m.d.comb += [
            write.addr.eq(Mux(fills, self.coding.place, port.addr)),
            write.data.eq(Cat(before, *((word, checks_of(word, self.code)) for word in words))),
            write.en.eq(port.en | fills.replicate(len(port.en))),
        ]
        found = [self._read(m, inner, number) for number in range(len(memory.read_ports))]
        m.d.comb += [
            self.line.eq(Cat(line for line, _ in found).any()),
            self.corrected.eq(Cat(pulses.corrected for _, pulses in found).any()),
            self.lost.eq(Cat(pulses.lost for _, pulses in found).any()),
        ]
        for port, (line, pulses) in zip(memory.read_ports, found, strict=True):
            m.d.comb += Cat(self.coding.at_port(port)).eq(Cat(line, pulses.lost))
        m.submodules.coded = Elaborated(Fragment.get(inner, None))
        return m

    def _read(self, m: Module, inner: Memory, number: int) -> tuple[Signal, ErrorLines]:
        """Connects a read port, and checks its words: its line, and its pulses."""
        port, [writer] = self.memory.read_ports[number], self.memory.write_ports
        read = inner.read_port(domain=port.domain)
        m.d.comb += read.addr.eq(port.addr)
        before, coded = read.data[: self.checked], read.data[self.checked :]
        bits = (len(Value.cast(port.data)) - self.checked) // len(writer.en)
        step = len(coded) // len(writer.en)
        checks = [WordCheck(bits, self.code) for _ in writer.en]
        for place, check in enumerate(checks):
            m.submodules[f"check_{number}_{place}"] = check
            m.d.comb += check.coded.eq(coded.word_select(place, step))
        m.d.comb += Value.cast(port.data).eq(Cat(before, *(check.word for check in checks)))
        domain = m.d[writer.domain]
        #: The word is not the one of the cycle before.
        fresh = Signal(name=f"fresh_{number}")
        changes: Value = C(1)
        if not self.queue:
            place = Signal.like(port.addr, name=f"place_{number}", reset_less=True)
            changes = place != port.addr
            with m.If(C(1) if port.domain == "comb" else port.en):
                domain += place.eq(port.addr)
        exists: Value = port.addr < inner.depth
        if port.domain == "comb":
            m.d.comb += fresh.eq(changes)
        else:
            m.d.comb += read.en.eq(port.en)
            # The register is undefined until a first word is read.
            loaded = Signal(name=f"loaded_{number}", reset_less=True)
            domain += fresh.eq(port.en & changes)
            with m.If(self.coding.filling):
                domain += loaded.eq(0)
            with m.Elif(port.en):
                domain += loaded.eq(exists)
            exists = loaded
        found = [Signal(name=f"{name}_{number}") for name in ErrorLines._fields]
        for now, name in zip(found, ErrorLines._fields, strict=True):
            m.d.comb += now.eq(exists & Cat(getattr(check, name) for check in checks).any())
        if self.queue:
            return found[1], ErrorLines(*(now & fresh for now in found))
        before = [Signal(name=f"{name}_before_{number}") for name in ErrorLines._fields]
        domain += [was.eq(now) for was, now in zip(before, found, strict=True)]
        pulses = (now & (fresh | ~was) for now, was in zip(found, before, strict=True))
        return found[1], ErrorLines(*pulses)


class CheckedOutside(Elaboratable):
    """A ``memory`` of words with check bits that its user makes and checks."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.coded = Elaborated(Fragment.get(self.memory, None))
        return m


def checks_of(word: Value, code: str) -> Value:
    """The check bits of a word: bits with one half of a column in common are summed first."""
    every = columns(len(word), code)
    found: list[Value] = []
    for half in _halves(len(every) - len(word)):
        sums = {
            common: Cat(word[bit] for bit in range(len(word)) if _half(every[bit], half) == common).xor()
            for common in {_half(column, half) for column in every[: len(word)]}
        }
        found += [
            Cat(total for common, total in sums.items() if common >> check & 1).xor()
            for check in range(half[1])
        ]
    return Cat(found)


def wrong_bits(syndrome: Value, bits: int, code: str) -> tuple[Value, Value]:
    """Which bit of a word of ``bits`` is wrong, and whether one bit of it or of its checks is; with parity none is known."""
    if code == "parity":
        return C(0, bits), C(0)
    every = columns(bits, code)
    halves = _halves(len(syndrome))
    pairs = [tuple(_half(column, half) for half in halves) for column in every]
    hits = [
        {value: syndrome[place : place + count] == value for value in {pair[side] for pair in pairs}}
        for side, (place, count) in enumerate(halves)
    ]
    low, high = hits
    found = [
        hit & Cat(high[upper] for lower, upper in pairs if lower == value).any() for value, hit in low.items()
    ]
    return Cat(low[lower] & high[upper] for lower, upper in pairs[:bits]), Cat(found).any()


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
        word, checks = self.coded[: self.bits], self.coded[self.bits :]
        syndrome = Signal(len(checks))
        wrong, one = wrong_bits(syndrome, self.bits, self.code)
        m.d.comb += [
            syndrome.eq(checks_of(word, self.code) ^ checks),
            self.word.eq(word ^ wrong),
            self.corrected.eq(one),
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
