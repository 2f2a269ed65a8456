"""The RTL of a register map: an AXI4-Lite subordinate with a port for every field.

Rules that a driver can rely on:

- An access answers SLVERR exactly where no register is: it then reads as 0 and writes nothing. Writes to
  read-only fields and to locked registers change nothing and answer OKAY.
- Writes obey byte strobes. The two low address bits are ignored: a register is read whole, and strobes say what
  is written.
- The write address and the write data may come in any order. A write has taken effect when its response is
  valid: any read that starts after that sees it.
- Addresses and write data are taken when they are needed, not before, so that none is stored: there is an access
  every second cycle in each direction. Every output except read data comes from a flip-flop, and no output
  depends on an input in the same cycle. An access waits only for its own response channel, an external block's
  answer and the end of a reset, so a subordinate never hangs.

Software reads back what it has written from a memory, not from the flip-flops that hardware sees. So there is no
multiplexer over all of them, and what hardware needs only now and then has no flip-flops at all. After a
reset, and after a soft reset, the memory's words get their reset values one by one; accesses wait meanwhile.
"""

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value, unsigned
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory, ReadPort, WritePort
from amaranth.lib.wiring import In, Out

from cdma.hdl.axi.lite import AxiLiteSignature
from cdma.hdl.axi.ports import Response
from cdma.hdl.spec.registers.description import (
    REGISTER_BITS,
    REGISTER_BYTES,
    Access,
    Field,
    Placed,
    RegisterMap,
)

from .register_ports import ChangeLayout, ReportLayout, StoredSignature, block_signature

__all__ = ["RegisterFile"]


class RegisterFile(wiring.Component):
    """The registers of ``registers``, on ``bus``; every instance of a block is a port of its name.

    ``soft_reset``
        Returns stored fields to their reset values, except locks and the blocks that survive it. It wins over
        everything else in that cycle.
    ``stored``
        Reads what software has written, for hardware. Indexes are those of :meth:`.RegisterMap.word`.
    ``report``
        Writes, for hardware, the fields of a register that are in memory.
    ``changes``
        All that is written into that memory, by software, by hardware or after a reset, for hardware that keeps
        copies.
    ``settled``
        Low while the memory gets its reset values.
    """

    def __init__(self, registers: RegisterMap) -> None:
        self.registers = registers
        ports = {
            instance: Out(signature)
            for block in registers.blocks
            for instance, _ in block.instances
            if (signature := block_signature(block)).members
        }
        bus = In(AxiLiteSignature(registers.address_bits))
        super().__init__(
            {
                "bus": bus,
                "soft_reset": In(1),
                "settled": Out(1),
                "stored": In(StoredSignature(len(registers.kept))),
                "report": In(stream.Signature(ReportLayout(len(registers.kept)))),
                "changes": Out(ChangeLayout(len(registers.kept))),
                **ports,
            }
        )

    def _port(self, placed: Placed, name: str) -> Value:
        port = getattr(getattr(getattr(self, placed.instance), placed.register.name), name)
        return port[placed.index] if placed.register.count else port

    def elaborate(self, platform: object) -> Module:
        m = Module()
        words = len(self.registers.kept)
        m.submodules.memory = memory = Memory(shape=unsigned(REGISTER_BITS), depth=words, init=[])
        write = memory.write_port(granularity=8)
        seen = memory.read_port(domain="sync")
        stored = memory.read_port(domain="sync")
        m.d.comb += [stored.addr.eq(self.stored.index), stored.en.eq(1), self.stored.data.eq(stored.data)]
        m.d.comb += [
            self.changes.index.eq(write.addr),
            self.changes.data.eq(write.data),
            self.changes.enable.eq(write.en),
        ]
        self._settle(m, write)
        may_begin = self.settled & ~self.soft_reset
        self._writes(m, write, may_begin)
        self._reads(m, seen, may_begin)
        return m

    def _settle(self, m: Module, write: WritePort) -> None:
        """Gives the memory's words their reset values, one per cycle."""
        kept = self.registers.kept
        word = Signal(range(len(kept)))
        # After a reset of the hardware all of them, after a soft reset those that do not survive it.
        all_words = Signal(init=1)
        reached = Signal()
        survives = Signal()
        busy = Signal(init=1)
        m.d.comb += [self.settled.eq(~busy), reached.eq(word == len(kept) - 1)]
        with m.If(self.soft_reset):
            m.d.sync += [busy.eq(1), word.eq(0)]
        with m.Elif(busy):
            m.d.sync += [word.eq(Mux(reached, 0, word + 1)), busy.eq(~reached)]
            with m.If(reached):
                m.d.sync += all_words.eq(0)
        with m.Switch(word):
            for number, placed in enumerate(kept):
                if placed.register.reset or placed.block.survives_soft_reset:
                    with m.Case(number):
                        m.d.comb += [
                            write.data.eq(placed.register.stored_reset),
                            survives.eq(int(placed.block.survives_soft_reset)),
                        ]
        with m.If(busy):
            m.d.comb += [write.addr.eq(word), write.en.eq((all_words | ~survives).replicate(REGISTER_BYTES))]

    def _writes(self, m: Module, memory: WritePort, may_begin: Value) -> None:
        bus = self.bus
        hit = Signal()
        # Address and data are valid, and the access before is answered.
        m.d.sync += bus.awready.eq(
            bus.awvalid & bus.wvalid & ~bus.awready & (~bus.bvalid | bus.bready) & may_begin
        )
        m.d.comb += bus.wready.eq(bus.awready)
        with m.If(bus.awready):
            m.d.sync += bus.bvalid.eq(1)
            m.d.sync += bus.bresp.eq(Mux(hit, Response.OKAY, Response.SLVERR))
        with m.Elif(bus.bready):
            m.d.sync += bus.bvalid.eq(0)

        address = bus.awaddr[2:]
        mask = Signal(REGISTER_BITS)
        place = Signal.like(memory.addr)
        writable = Signal(REGISTER_BITS)
        keeping = Signal()
        m.d.comb += mask.eq(Cat(strobe.replicate(8) for strobe in bus.wstrb))
        report = self.report
        m.d.comb += report.ready.eq(self.settled & ~bus.awready)
        with m.If(report.ready):
            m.d.comb += [
                memory.addr.eq(report.payload.index),
                memory.data.eq(report.payload.data),
                memory.en.eq(report.valid.replicate(REGISTER_BYTES)),
            ]
        with m.Elif(self.settled):
            m.d.comb += [
                memory.addr.eq(place),
                memory.data.eq(bus.wdata & writable),
                memory.en.eq(bus.wstrb & keeping.replicate(REGISTER_BYTES)),
            ]
        with m.Switch(address):
            for placed in self.registers.placed():
                with m.Case(placed.address // REGISTER_BYTES):
                    m.d.comb += hit.eq(1)
                    if placed.register.stored_mask:
                        m.d.comb += [
                            place.eq(self.registers.words[placed.address]),
                            writable.eq(placed.register.stored_mask),
                            keeping.eq(self._unlocked(placed)),
                        ]
        for placed in self.registers.placed():
            self._write_register(m, placed, mask)

    def _unlocked(self, placed: Placed) -> Value:
        if not placed.register.locked_by:
            return C(1)
        register, _, field = placed.register.locked_by.partition(".")
        return ~getattr(getattr(getattr(self, placed.instance), register), field)

    def _write_register(self, m: Module, placed: Placed, mask: Value) -> None:
        register = placed.register
        if not register.writable:
            return
        bus = self.bus
        suffix = f"_{placed.index}" if register.count else ""
        select = Signal(name=f"{placed.instance}_{register.name}{suffix}_select")
        m.d.comb += select.eq(
            bus.awready & (bus.awaddr[2:] == placed.address // REGISTER_BYTES) & self._unlocked(placed)
        )
        for field in register.fields:
            if not field.access.writable or field.in_memory:
                continue
            self._write_field(m, placed, field, select, mask)

    def _write_field(self, m: Module, placed: Placed, field: Field, select: Value, mask: Value) -> None:
        bus = self.bus
        bits = slice(field.lsb, field.lsb + field.bits)
        ones = bus.wdata[bits] & mask[bits]
        port = self._port(placed, field.name)
        match field.access:
            case Access.PULSE:
                m.d.sync += port.eq(Mux(select, ones, 0))
            case Access.W1C:
                m.d.sync += port.value.eq((port.value & ~Mux(select, ones, 0)) | port.set)
            case Access.LOCK:
                with m.If(select):
                    m.d.sync += port.eq(port | ones)
            case _:
                # Byte by byte, so that each byte's flip-flops have one enable.
                for byte in range(field.lsb // 8, field.msb // 8 + 1):
                    low, high = max(field.lsb, 8 * byte), min(field.msb + 1, 8 * byte + 8)
                    with m.If(select & bus.wstrb[byte]):
                        m.d.sync += port[low - field.lsb : high - field.lsb].eq(bus.wdata[low:high])
        if field.access in (Access.RW, Access.W1C) and not placed.block.survives_soft_reset:
            stored = port.value if field.access is Access.W1C else port
            with m.If(self.soft_reset):
                m.d.sync += stored.eq(field.reset)

    def _reads(self, m: Module, memory: ReadPort, may_begin: Value) -> None:
        bus = self.bus
        address = bus.araddr[2:]
        hit = Signal()
        done = Signal()
        # What no memory keeps. The rest is added after the memory's own register.
        value = Signal(REGISTER_BITS)
        live = Signal(REGISTER_BITS)
        keeping = Signal()
        from_memory = Signal()
        asked = Signal()
        external = Signal()
        m.d.comb += [
            asked.eq(bus.arvalid & ~bus.arready & (~bus.rvalid | bus.rready) & may_begin),
            done.eq(1),
            memory.en.eq(bus.arready),
        ]
        with m.Switch(address):
            for placed in self.registers.placed():
                with m.Case(placed.address // REGISTER_BYTES):
                    m.d.comb += hit.eq(1)
                    if placed.block.external:
                        keeper = getattr(self, placed.instance)
                        m.d.comb += [
                            external.eq(1),
                            keeper.request.eq(asked),
                            done.eq(keeper.done),
                            value.eq(keeper.data),
                        ]
                    else:
                        m.d.comb += value.eq(self._value(placed))
                    if placed.address in self.registers.words:
                        m.d.comb += [memory.addr.eq(self.registers.words[placed.address]), keeping.eq(1)]
        for block in self.registers.blocks:
            if block.external:
                for instance, _ in block.instances:
                    m.d.comb += getattr(self, instance).word.eq(address)

        m.d.sync += bus.arready.eq(asked & done)
        # An external block's value is valid with its `done`; any other is read when the address is taken.
        with m.If(Mux(external, asked & done, bus.arready)):
            m.d.sync += live.eq(value)
        with m.If(bus.arready):
            m.d.sync += [
                bus.rvalid.eq(1),
                bus.rresp.eq(Mux(hit, Response.OKAY, Response.SLVERR)),
                from_memory.eq(keeping),
            ]
        with m.Elif(bus.rready):
            m.d.sync += bus.rvalid.eq(0)
        m.d.comb += bus.rdata.eq(live | (memory.data & from_memory.replicate(REGISTER_BITS)))

    def _value(self, placed: Placed) -> Value:
        """What is not read from the memory."""
        value: Value = C(0, REGISTER_BITS)
        for field in placed.register.fields:
            match field.access:
                case Access.CONSTANT:
                    bits: Value = C(field.reset, field.bits)
                case Access.PULSE | Access.RW:
                    continue
                case Access.RO if field.in_memory:
                    continue
                case Access.W1C:
                    bits = self._port(placed, field.name).value
                case _:
                    bits = self._port(placed, field.name)
            value = value | bits.shift_left(field.lsb)
        return value[:REGISTER_BITS]
