"""The RTL of a register map, for one pair or several: an AXI4-Lite subordinate with a port for every field.

Rules that a driver can rely on:

- An access answers SLVERR exactly where no register is, or without the right to use registers, if one is asked for: it then
  reads as 0 and writes nothing. Writes to
  read-only fields and to locked registers change nothing and answer OKAY.
- Writes obey byte strobes. The two low address bits are ignored: a register is read whole, and strobes say what
  is written.
- The write address and the write data may come in any order. A write has taken effect when its response is
  valid: any read that starts after that sees it.
- There is an access every third cycle in each direction; if ``pipelined``, a read every fourth. Addresses go into
  flip-flops at once, write data into those of their register, every output except read data comes from a flip-flop, and no
  output depends on an input in the same cycle. An access waits only for its own response channel, an external block's
  answer and the end of a reset, so a subordinate never hangs.

Software reads back what it has written from a memory, not from the flip-flops that hardware sees. So there is no
multiplexer over all of them, and what hardware needs only now and then has no flip-flops at all. After a
reset, and after a soft reset, the memory's words get their reset values one by one; accesses wait meanwhile. Each pair has
a word of its own for each register.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import NamedTuple

from amaranth.hdl import C, Cat, Module, Mux, ResetSignal, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory, ReadPort
from amaranth.lib.wiring import In, Out

from cdma.hdl.axi.ports import AxiLiteSignature, Response
from cdma.hdl.blocks.arithmetic import one_of
from cdma.hdl.blocks.elaboration import Pace, optional
from cdma.hdl.blocks.memories import LOOK_UP_TABLES
from cdma.hdl.spec.options import PROTECTIONS, rights
from cdma.hdl.spec.registers.description import (
    REGISTER_BITS,
    REGISTER_BYTES,
    Access,
    Field,
    Placed,
    RegisterMap,
)

from .decoding import decoded
from .interfaces import ChangeLayout, ReportLayout, StoredSignature, blocks_signature
from .reset_values import ResetValues
from .rows import Rows
from .windows import Denied

#: Parts in which a ``pipelined`` register file gathers what is read.
_PARTS = 4


class _Write(NamedTuple):
    """A write in the cycle in which it is taken. The address, in the page of the pair, comes from flip-flops, the data from
    the bus."""

    address: Signal
    pair: Signal
    data: Signal
    strobes: Signal
    valid: Signal


class RegisterFile(wiring.Component):
    """The registers of ``registers``, on ``bus``; every instance of a block is a port of its name.

    ``pairs``, ``others``: Several pairs have a page each: the first one of ``registers``, and the further ones of
        ``others``, which may have less. Their ports are in ``pair_0``, …, but for external blocks. An array that the
        first page alone has is of the pairs.
    ``reader``, ``shown``: The pair in whose page a register is read, and whose word of the memory was.
    ``pipelined``: What a write may change is found a cycle before it, in flip-flops, for an FPGA, whose wires are slow.
        What is read is gathered in a cycle of its own, and no memory is on the way to the bus.
    ``protection``: What AxPROT of an access must say: one of :data:`.PROTECTIONS`. If any is asked for,
        ``denied_write`` and ``denied_read`` tell of accesses that were refused.
    ``soft_reset``: Of each pair: returns stored fields to their reset values, except locks and the blocks that survive
        it. It waits for accesses that have been taken, and wins over a write in the same cycle.
    ``stored``: Reads what software has written, for hardware. Indexes are those of :meth:`.RegisterMap.word`.
    ``report``: Writes, for hardware, the fields of a register that are in memory.
    ``changes``: All that is written into that memory, by software, by hardware or after a reset, for hardware that
        keeps copies; if ``pipelined`` a cycle later.
    ``settled``: Of each pair: low from the cycle after ``soft_reset`` until all registers have their reset values.
    """

    def __init__(
        self,
        registers: RegisterMap,
        others: RegisterMap | None = None,
        *,
        pairs: int = 1,
        pipelined: bool = False,
        protection: str = PROTECTIONS[0],
    ) -> None:
        self.registers = registers
        self.others = others or registers
        self.pairs = pairs
        self.pair_bits = (pairs - 1).bit_length()
        self.rows = Rows(registers, self.others, pairs)
        self.protection = protection
        self.pipelined = pipelined
        #: High in the cycle in which a soft reset happens, in the cycle before a write is taken, while a read is under way,
        #: and in the cycle whose values it gives.
        self.forget = Signal(pairs)
        self.begins_writing = Signal()
        self.busy_reading = Signal()
        self.reads = Signal(name="done")
        fields = [blocks_signature(each) for each in (registers, *[self.others] * (pairs - 1))]
        several = {f"pair_{number}": Out(each) for number, each in enumerate(fields)}
        bus = In(AxiLiteSignature(registers.address_bits + self.pair_bits))
        denied = Out(Denied(registers.address_bits, self.pair_bits))
        super().__init__(
            {
                "bus": bus,
                **optional(self._protected, denied_write=denied, denied_read=denied),
                "soft_reset": In(pairs),
                "settled": Out(pairs),
                "stored": In(StoredSignature(self.pair_bits)),
                "report": In(stream.Signature(ReportLayout(self.pair_bits))),
                "changes": Out(ChangeLayout(self.pair_bits)),
                **{name: Out(self.pair_bits) for name in ("reader", "shown")},
                **blocks_signature(registers, external=True).members,
                **(several if pairs > 1 else fields[0].members),
            }
        )

    @property
    def _protected(self) -> bool:
        return self.protection != PROTECTIONS[0]

    def of_pair(self, pair: int) -> wiring.PureInterface:
        """The ports of a pair."""
        return getattr(self, f"pair_{pair}") if self.pairs > 1 else self

    @property
    def _banks(self) -> dict[str, Value]:
        """The banks that software has chosen, in the first page."""
        return {each: getattr(self.of_pair(0), each).bank.value for each in self.rows.banked}

    def _port(self, placed: Placed, name: str, pair: int) -> Value:
        port = getattr(getattr(getattr(self.of_pair(pair), placed.instance), placed.register.name), name)
        return port[placed.index] if placed.register.count else port

    def elaborate(self, platform: object) -> Module:
        m = Module()
        words = len(self.rows.kept) << self.pair_bits
        # Block RAM is slow, and would need logic for a word that is read while it is written.
        domain, attrs = ("comb", LOOK_UP_TABLES) if self.pipelined else ("sync", {})
        m.submodules.memory = memory = Memory(
            shape=unsigned(REGISTER_BITS), depth=words, init=[], attrs=attrs
        )
        write = memory.write_port(granularity=8)
        # Where wires are slow, what is written goes through a register, and what is read is read a cycle later.
        pace = Pace(m, self.pipelined)
        changes = Signal.like(self.changes, name="changed")
        seen, stored = (memory.read_port(domain=domain) for _ in range(2))
        m.d.comb += [
            self.changes.eq(pace.late(changes, "late_changes", reset=True)),
            write.addr.eq(self.rows.at(self.changes)),
            write.data.eq(self.changes.data),
            write.en.eq(self.changes.enable),
            self.stored.data.eq(stored.data),
            stored.addr.eq(pace.late(self.rows.at(self.stored), "stored_index")),
        ]
        if not pace.pipelined:
            m.d.comb += stored.en.eq(1)
        resets = ResetValues(self.rows.kept, self.rows.alone, pairs=self.pairs, pipelined=self.pipelined)
        m.submodules.reset_values = resets
        m.d.comb += [
            resets.soft_reset.eq(self.soft_reset),
            resets.free.eq(~self.begins_writing & ~self.busy_reading),
            self.forget.eq(resets.forget),
            self.settled.eq(resets.settled),
            changes.eq(resets.changes),
        ]
        rests = resets.rests
        may_begin = rests & ~self.soft_reset.any()
        self._writes(m, pace, changes, may_begin, rests)
        self._reads(m, seen, may_begin)
        return m

    def _writes(self, m: Module, pace: Pace, changes: data.View, may_begin: Value, rests: Value) -> None:
        """Finds the register of an access, and writes it in the next cycle, in which the access is taken: the bus keeps
        the data until then. Drives ``changes`` with what is written into the memory."""
        bus = self.bus
        write = _Write(
            address=Signal(self.rows.address, name="write_address", reset_less=True),
            pair=Signal(self.pair_bits, name="write_pair", reset_less=True),
            data=bus.wdata,
            strobes=bus.wstrb,
            valid=bus.awready,
        )
        hit = Signal(reset_less=True)
        here = self._permitted(
            m,
            "write",
            bus.awprot,
            write.address,
            write.pair,
            write.valid,
            self._decoded(m, "write", write.address, write.pair, bus.awaddr[2:]),
        )
        # Address and data are valid, and the access before is answered.
        m.d.sync += [
            self.begins_writing.eq(
                bus.awvalid
                & bus.wvalid
                & ~self.begins_writing
                & ~bus.awready
                & (~bus.bvalid | bus.bready)
                & may_begin
            ),
            bus.awready.eq(self.begins_writing),
            Cat(write.address, write.pair).eq(bus.awaddr[2:]),
        ]
        m.d.comb += bus.wready.eq(bus.awready)
        with m.If(write.valid):
            m.d.sync += bus.bvalid.eq(1)
            m.d.sync += bus.bresp.eq(Mux(hit, Response.OKAY, Response.SLVERR))
        with m.Elif(bus.bready):
            m.d.sync += bus.bvalid.eq(0)
        written = [placed for placed in self.registers.kept if placed.register.stored_mask]
        found, anywhere = self._found(m, {"writes_kept": written}, here)
        m.d.sync += hit.eq(anywhere)
        self._write_memory(m, write, changes, written, found["writes_kept"], here, rests)
        mask = Signal(REGISTER_BITS)
        m.d.comb += mask.eq(Cat(strobe.replicate(8) for strobe in write.strobes))
        pulsed = Signal.like(write.pair, name="pulsed_pair")
        m.d.sync += pulsed.eq(write.pair)
        for placed in self.registers.placed():
            self._write_pulses(m, pace, placed, write, pulsed, here, mask)
            for pair in self.rows.pages_with(placed):
                self._write_register(m, pace, placed, pair, write, here, mask)

    def _decoded(
        self, m: Module, name: str, address: Signal, pair: Signal, value: Value, enable: Value | int = 1
    ) -> Callable[[Placed], Value]:
        """Says of a register whether it is at ``address`` in the page of ``pair``, which both are loaded with ``value``."""
        registers = self.registers if self.pipelined else None
        here = decoded(m, name, address, value[: len(address)], enable, registers)
        return self.rows.in_page(pair, here)

    def _found(
        self, m: Module, groups: Mapping[str, Sequence[Placed]], here: Callable[[Placed], Value]
    ) -> tuple[dict[str, Signal], Value]:
        """Whether the register of an access is in each of ``groups``, which share none, and whether there is one at all."""
        found = {name: Signal(name=name) for name in groups}
        for name, group in groups.items():
            m.d.comb += found[name].eq(Cat(here(placed) for placed in group).any())
        grouped = {placed.address for group in groups.values() for placed in group}
        others = [here(placed) for placed in self.registers.placed() if placed.address not in grouped]
        return found, Cat(*found.values(), *others).any()

    def _permitted(
        self,
        m: Module,
        way: str,
        prot: Signal,
        address: Signal,
        pair: Signal,
        done: Value,
        here: Callable[[Placed], Value],
        enable: Value | int = 1,
    ) -> Callable[[Placed], Value]:
        """The same as ``here``, but nothing is there for an access without the right, which is told in the cycle ``done``.
        ``prot`` is that of the access while ``address`` is loaded."""
        if not self._protected:
            return here
        mask, value = rights(self.protection)
        kept = Signal(3, name=f"{way}_prot", reset_less=True)
        right = Signal(name=f"{way}_right", reset_less=True)
        with m.If(enable):
            m.d.sync += [kept.eq(prot), right.eq(prot & mask == value)]
        denied = getattr(self, f"denied_{way}")
        m.d.comb += [
            denied.valid.eq(done & ~right),
            denied.pair.eq(pair),
            denied.address.eq(Cat(C(0, 2), address)),
            denied.prot.eq(kept),
        ]
        return lambda placed: here(placed) & right

    def _write_memory(
        self,
        m: Module,
        write: _Write,
        changes: data.View,
        written: Sequence[Placed],
        found: Signal,
        here: Callable[[Placed], Value],
        rests: Value,
    ) -> None:
        """Writes the word of the access into the memory, or what hardware reports. ``here`` says which one it is, and
        ``found`` that it is one of ``written``, of which the memory keeps what software writes."""
        place = Signal(self.rows.place, reset_less=True)
        row = Signal(self.pair_bits, name="written_row", reset_less=True)
        writable = Signal(REGISTER_BITS, reset_less=True)
        keeping = Signal(reset_less=True)
        m.d.sync += [
            place.eq(self.rows.word(written, here)),
            row.eq(self.rows.row(written, here, write.pair, self._banks)),
            keeping.eq(found),
        ]
        # A sum of products: synthesis would turn a table of constants into a memory.
        masks = [(placed, placed.register.stored_mask) for placed in written]
        domain = Pace(m, self.pipelined).d
        domain += writable.eq(
            reduce(
                or_,
                (
                    Mux(here(placed) if self.pipelined else place == self.rows.words[placed.address], mask, 0)
                    for placed, mask in masks
                ),
            )
        )
        locked = self._locked(m, here, write.pair)
        report = self.report
        m.d.comb += report.ready.eq(rests & ~write.valid)
        may_change = keeping & ~locked
        writes: Value = write.valid
        if self.pipelined:
            # A flip-flop of its own selects so many bits; inverted, so that synthesis keeps both.
            idle = Signal(name="write_idle", init=1)
            m.d.sync += idle.eq(~self.begins_writing)
            writes = ~idle
        with m.If(writes):
            m.d.comb += [
                changes.index.eq(place),
                changes.pair.eq(row),
                changes.data.eq(write.data & writable),
                changes.enable.eq(write.strobes & may_change.replicate(REGISTER_BYTES)),
            ]
        with m.Elif(rests):
            m.d.comb += [
                changes.index.eq(report.payload.index),
                changes.pair.eq(report.payload.pair),
                changes.data.eq(report.payload.data),
                changes.enable.eq(report.valid.replicate(REGISTER_BYTES)),
            ]

    def _locked(self, m: Module, here: Callable[[Placed], Value], pair: Value) -> Value:
        """Whether the register that is written is locked; which lock it has is found a cycle before."""
        locked: list[Value] = [C(0)]
        for (instance, _), guarded in self.registers.guarded.items():
            guards = Signal(name=f"{instance}_guards", reset_less=True)
            m.d.sync += guards.eq(Cat(here(placed) for placed in guarded).any())
            locked.append(guards & ~_select(pair, [self._unlocked(guarded[0], k) for k in range(self.pairs)]))
        return reduce(or_, locked)

    def _unlocked(self, placed: Placed, pair: int) -> Value:
        if not placed.register.locked_by:
            return C(1)
        register, _, field = placed.register.locked_by.partition(".")
        return ~getattr(getattr(getattr(self.of_pair(pair), placed.instance), register), field)

    def _write_pulses(
        self,
        m: Module,
        pace: Pace,
        placed: Placed,
        write: _Write,
        pulsed: Value,
        here: Callable[[Placed], Value],
        mask: Value,
    ) -> None:
        """Gives the pulses of the register to the pair that is ``pulsed``, in the cycle after the write."""
        fields = [field for field in placed.register.fields if field.access is Access.PULSE]
        if not fields:
            return
        found = pace.late(here(placed), f"{placed.name}_found")
        found &= _select(write.pair, [self._unlocked(placed, pair) for pair in self.rows.pages_with(placed)])
        for field in fields:
            pulse = Signal(field.bits, name=f"{placed.name}_{field.name}")
            bits = slice(field.lsb, field.lsb + field.bits)
            m.d.sync += pulse.eq(Mux(write.valid & found, write.data[bits] & mask[bits], 0))
            for pair in self.rows.pages_with(placed):
                mine = pulse if self.pairs == 1 else Mux(pulsed == pair, pulse, 0)
                m.d.comb += self._port(placed, field.name, pair).eq(mine)

    def _write_register(
        self,
        m: Module,
        pace: Pace,
        placed: Placed,
        pair: int,
        write: _Write,
        here: Callable[[Placed], Value],
        mask: Value,
    ) -> None:
        register = placed.register
        written = [field for field in register.fields if field.in_flip_flops]
        if not written:
            return
        label = self.rows.label(placed, pair)
        select = Signal(name=f"{label}_select")
        found = pace.late(here(placed) & (write.pair == pair), f"{label}_found")
        m.d.comb += select.eq(write.valid & found & self._unlocked(placed, pair))
        for field in written:
            self._write_field(m, placed, pair, field, select, write, mask)
            if field.access is Access.W1C and not placed.block.survives_soft_reset:
                with m.If(self.forget[pair]):
                    m.d.sync += self._port(placed, field.name, pair).value.eq(field.reset)

    def _write_field(
        self, m: Module, placed: Placed, pair: int, field: Field, select: Value, write: _Write, mask: Value
    ) -> None:
        bits = slice(field.lsb, field.lsb + field.bits)
        ones = write.data[bits] & mask[bits]
        port = self._port(placed, field.name, pair)
        match field.access:
            case Access.W1C:
                m.d.sync += port.value.eq((port.value & ~Mux(select, ones, 0)) | port.set)
            case Access.LOCK:
                with m.If(select):
                    m.d.sync += port.eq(port | ones)
            case _:
                # Reset is a write: so a bit is a flip-flop and a multiplexer, and its reset takes no gate of its own.
                kept = Signal(field.bits, name=f"{port.name}_kept", init=field.reset, reset_less=True)
                clear = ResetSignal() | (self.forget[pair] & (not placed.block.survives_soft_reset))
                # Byte by byte, so that each byte's flip-flops have one enable.
                for byte in range(field.lsb // 8, field.msb // 8 + 1):
                    low, high = max(field.lsb, 8 * byte), min(field.msb + 1, 8 * byte + 8)
                    with m.If(clear | (select & write.strobes[byte])):
                        reset = C(field.reset >> (low - field.lsb), high - low)
                        written = write.data[low:high]
                        m.d.sync += kept[low - field.lsb : high - field.lsb].eq(
                            (written & ~clear.replicate(high - low)) | (reset & clear.replicate(high - low))
                        )
                m.d.comb += port.eq(kept)

    def _reads(self, m: Module, memory: ReadPort, may_begin: Value) -> None:
        """Takes an access in three steps: keeps its address, finds its register, reads that. If ``pipelined``, a fourth step
        joins what was gathered."""
        bus = self.bus
        address = Signal(self.rows.address, name="read_address", reset_less=True)
        pair = Signal(self.pair_bits, name="read_pair", reset_less=True)
        finding = Signal()
        reading = Signal()
        hit = Signal(name="read_hit", reset_less=True)
        place = Signal(self.rows.place, reset_less=True)
        row = Signal.like(pair, name="read_row")
        keeping = Signal(name="reads_kept", reset_less=True)
        from_memory = Signal(reset_less=True)
        live = Signal(REGISTER_BITS, reset_less=True)
        done = self.reads
        #: What was read is given to the bus.
        gives = Signal()
        free = ~finding & ~reading & ~gives
        m.d.sync += [
            finding.eq(bus.arvalid & free & (~bus.rvalid | bus.rready) & may_begin),
            bus.arready.eq(finding),
        ]
        with m.If(~finding & ~reading):
            m.d.sync += Cat(address, pair).eq(bus.araddr[2:])
        loads = ~finding & ~reading
        here = self._decoded(m, "read", address, pair, bus.araddr[2:], loads)
        here = self._permitted(m, "read", bus.arprot, address, pair, done, here, loads)
        with m.If(finding):
            m.d.sync += reading.eq(1)
        with m.Elif(done):
            m.d.sync += reading.eq(0)
        m.d.comb += [memory.addr.eq(Cat(row, place)), self.reader.eq(pair)]
        external = {f"finds_{instance}": placed for instance, placed in self.registers.external.items()}
        groups = {"finds_kept": self.registers.kept, **external}
        found, anywhere = self._found(m, groups, here)
        m.d.sync += [
            hit.eq(anywhere),
            keeping.eq(found["finds_kept"]),
            place.eq(self.rows.word(self.registers.kept, here)),
            row.eq(self.rows.row(self.registers.kept, here, pair, self._banks)),
        ]
        terms, answered = self._live(m, address, pair, here, reading, found)
        m.d.comb += [
            done.eq(reading & answered),
            self.busy_reading.eq(~free),
        ]
        kept: Value = memory.data
        if self.pipelined:
            kept = Signal.like(kept, name="kept")
            gathered = [Signal(REGISTER_BITS, name=f"gathered_{part}") for part in range(_PARTS)]
            with m.If(gives):
                m.d.sync += kept.eq(memory.data)
            m.d.sync += gives.eq(done)
            m.d.sync += [part.eq(reduce(or_, terms[n::_PARTS])) for n, part in enumerate(gathered)]
            terms = list(gathered)
        else:
            m.d.comb += [memory.en.eq(done), gives.eq(done)]
        with m.If(done):
            m.d.sync += self.shown.eq(row)
        with m.If(gives):
            m.d.sync += [
                live.eq(reduce(or_, terms)),
                bus.rvalid.eq(1),
                bus.rresp.eq(Mux(hit, Response.OKAY, Response.SLVERR)),
                from_memory.eq(keeping),
            ]
        with m.Elif(bus.rready):
            m.d.sync += bus.rvalid.eq(0)
        m.d.comb += bus.rdata.eq(live | (kept & from_memory.replicate(REGISTER_BITS)))

    def _live(
        self,
        m: Module,
        address: Value,
        pair: Value,
        here: Callable[[Placed], Value],
        reading: Value,
        found: Mapping[str, Signal],
    ) -> tuple[list[Value], Value]:
        """What no memory keeps of the register at ``address``, found a cycle before it is read, as the terms of a sum; and
        whether it is valid: that of an external block, which ``found`` says a cycle before, may not be yet."""
        terms: list[Value] = []
        answered: Value = C(1)
        for instance in self.registers.external:
            keeper = getattr(self, instance)
            asks = Signal(name=f"asks_{instance}", reset_less=True)
            m.d.sync += asks.eq(found[f"finds_{instance}"])
            m.d.comb += [keeper.request.eq(reading & asks), keeper.word.eq(address)]
            terms.append(keeper.data)
            answered &= ~asks | keeper.done
        for placed in self.registers.placed():
            values = [self._value(placed, number) for number in self.rows.pages_with(placed)]
            if values[0] is not None:
                value = _select(pair, values)
                select = Signal(name=f"reads_{placed.name}", reset_less=True)
                m.d.sync += select.eq(here(placed))
                terms.append(Mux(select, value, 0))
        return terms, answered

    def _value(self, placed: Placed, pair: int) -> Value | None:
        """What is not read from the memory; None if all is."""
        if placed.block.external:
            return None
        parts: list[Value] = []
        page = self.others if pair else self.registers
        for field in page[placed.name].register.fields:
            match field.access:
                case Access.CONSTANT:
                    bits: Value = C(field.reset, field.bits)
                case Access.PULSE | Access.RW:
                    continue
                case Access.RO if field.in_memory:
                    continue
                case Access.W1C:
                    bits = self._port(placed, field.name, pair).value
                case _:
                    bits = self._port(placed, field.name, pair)
            parts.append(bits.shift_left(field.lsb))
        return reduce(or_, parts)[:REGISTER_BITS] if parts else None


def _select(pair: Value, values: Sequence[Value]) -> Value:
    """The one of the values with that number."""
    if len(values) == 1 or len({repr(value) for value in values}) == 1:
        return values[0]
    return one_of(*((pair == number, value) for number, value in enumerate(values)))
