"""The RTL of a register map: an AXI4-Lite subordinate with a port for every field.

Rules that a driver can rely on:

- An access answers SLVERR exactly where no register is: it then reads as 0 and writes nothing. Writes to
  read-only fields and to locked registers change nothing and answer OKAY.
- Writes take byte strobes. The two low address bits are ignored: a register is read whole, strobes say what
  is written.
- The write address and the write data may come in any order. A write has taken effect when its response is
  there: any read that starts after it sees it.
- One access per cycle and direction; every output comes from a flip-flop. An access waits for nothing but its
  own response channel (and an external block's answer), so a subordinate never hangs.
"""

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from .axi import Response
from .axi_lite import AxiLiteSignature, SkidBuffer
from .register_description import (
    REGISTER_BITS,
    REGISTER_BYTES,
    Access,
    Block,
    Field,
    Placed,
    Register,
    RegisterMap,
)

__all__ = ["ExternalSignature", "RegisterFile", "block_signature"]


class ExternalSignature(wiring.Signature):
    """How the register file reads a block that others keep.

    ``request`` stays high, with ``word`` (the register's number within the block) stable, until ``done``,
    which comes with ``data`` in the same cycle or any later one."""

    def __init__(self, block: Block) -> None:
        words = block.span // REGISTER_BYTES
        super().__init__(
            {"request": Out(1), "word": Out(range(words)), "done": In(1), "data": In(REGISTER_BITS)},
        )


def _field_member(field: Field) -> wiring.Member | None:
    match field.access:
        case Access.CONSTANT:
            return None
        case Access.RO:
            return In(field.bits)
        case Access.PULSE:
            return Out(field.bits)
        case Access.W1C:
            return Out(wiring.Signature({"set": In(field.bits), "value": Out(field.bits, init=field.reset)}))
        case _:
            return Out(field.bits, init=field.reset)


def _register_signature(register: Register) -> wiring.Signature:
    members = {field.name: _field_member(field) for field in register.fields}
    if register.strobe:
        members["written"] = Out(1)
    if register.count:
        members = {name: member and member.array(register.count) for name, member in members.items()}
    return wiring.Signature({name: member for name, member in members.items() if member is not None})


def block_signature(block: Block) -> wiring.Signature:
    """What hardware sees of one instance of ``block``: ``register.field``, or ``register.field[index]``.

    A read-only field is an input and any other an output, seen from the register file; a field of access
    ``W1C`` has ``set`` and ``value``. Constant fields have no port."""
    if block.external:
        return ExternalSignature(block)
    signatures = {register.name: _register_signature(register) for register in block.registers}
    return wiring.Signature(
        {name: Out(signature) for name, signature in signatures.items() if signature.members}
    )


class RegisterFile(wiring.Component):
    """The registers of ``registers``, on ``bus``; every instance of a block is a port of its name.

    ``soft_reset`` returns stored fields to their reset values, but for locks and for blocks that survive it;
    it wins over everything else in that cycle."""

    def __init__(self, registers: RegisterMap) -> None:
        self.registers = registers
        ports = {
            instance: Out(signature)
            for block in registers.blocks
            for instance, _ in block.instances
            if (signature := block_signature(block)).members
        }
        bus = In(AxiLiteSignature(registers.address_bits))
        super().__init__({"bus": bus, "soft_reset": In(1), **ports})

    def _port(self, placed: Placed, name: str) -> Value:
        port = getattr(getattr(getattr(self, placed.instance), placed.register.name), name)
        return port[placed.index] if placed.register.count else port

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._writes(m)
        self._reads(m)
        return m

    def _writes(self, m: Module) -> None:
        bus = self.bus
        address_bits = self.registers.address_bits
        m.submodules.write_address = address = SkidBuffer(address_bits - 2)
        m.submodules.write_data = word = SkidBuffer(
            data.StructLayout({"data": REGISTER_BITS, "strb": REGISTER_BYTES})
        )
        m.d.comb += [
            address.i.payload.eq(bus.awaddr[2:]),
            address.i.valid.eq(bus.awvalid),
            bus.awready.eq(address.i.ready),
            word.i.payload.data.eq(bus.wdata),
            word.i.payload.strb.eq(bus.wstrb),
            word.i.valid.eq(bus.wvalid),
            bus.wready.eq(word.i.ready),
        ]

        write = Signal()
        write_hit = Signal()
        m.d.comb += write.eq(address.o.valid & word.o.valid & (~bus.bvalid | bus.bready))
        m.d.comb += [address.o.ready.eq(write), word.o.ready.eq(write)]
        with m.If(write):
            m.d.sync += bus.bvalid.eq(1)
            m.d.sync += bus.bresp.eq(Mux(write_hit, Response.OKAY, Response.SLVERR))
        with m.Elif(bus.bready):
            m.d.sync += bus.bvalid.eq(0)

        write_mask = Signal(REGISTER_BITS)
        m.d.comb += write_mask.eq(Cat(strobe.replicate(8) for strobe in word.o.payload.strb))
        with m.Switch(address.o.payload):
            for placed in self.registers.placed():
                with m.Case(placed.address // REGISTER_BYTES):
                    m.d.comb += write_hit.eq(1)
        for placed in self.registers.placed():
            self._write_register(m, placed, write, address.o.payload, word.o.payload.data, write_mask)

    def _write_register(
        self, m: Module, placed: Placed, write: Signal, address: Value, written: Value, mask: Value
    ) -> None:
        register = placed.register
        if not register.writable:
            return
        suffix = f"_{placed.index}" if register.count else ""
        select = Signal(name=f"{placed.instance}_{register.name}{suffix}_select")
        unlocked: Value = C(1)
        if register.locked_by:
            lock_register, _, lock_field = register.locked_by.partition(".")
            unlocked = ~getattr(getattr(getattr(self, placed.instance), lock_register), lock_field)
        m.d.comb += select.eq(write & (address == placed.address // REGISTER_BYTES) & unlocked)
        if register.strobe:
            m.d.sync += self._port(placed, "written").eq(select)
        for field in register.fields:
            if not field.access.writable:
                continue
            bits = slice(field.lsb, field.lsb + field.bits)
            ones = written[bits] & mask[bits]
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
                        with m.If(select & mask[8 * byte]):
                            m.d.sync += port[low - field.lsb : high - field.lsb].eq(written[low:high])
            if field.access in (Access.RW, Access.W1C) and not placed.block.survives_soft_reset:
                stored = port.value if field.access is Access.W1C else port
                with m.If(self.soft_reset):
                    m.d.sync += stored.eq(field.reset)

    def _reads(self, m: Module) -> None:
        bus = self.bus
        m.submodules.read_address = address = SkidBuffer(self.registers.address_bits - 2)
        m.d.comb += [
            address.i.payload.eq(bus.araddr[2:]),
            address.i.valid.eq(bus.arvalid),
            bus.arready.eq(address.i.ready),
        ]

        # Room, once there, stays until this very read fills it, so a request to an external block is never
        # taken back.
        read_room = Signal()
        read_hit = Signal()
        read_done = Signal()
        read_value = Signal(REGISTER_BITS)
        m.d.comb += read_room.eq(~bus.rvalid | bus.rready)
        m.d.comb += read_done.eq(1)
        with m.Switch(address.o.payload):
            for placed in self.registers.placed():
                with m.Case(placed.address // REGISTER_BYTES):
                    m.d.comb += read_hit.eq(1)
                    if placed.block.external:
                        keeper = getattr(self, placed.instance)
                        m.d.comb += keeper.request.eq(address.o.valid & read_room)
                        m.d.comb += [read_done.eq(keeper.done), read_value.eq(keeper.data)]
                    else:
                        m.d.comb += read_value.eq(self._value(placed))
        for block in self.registers.blocks:
            if block.external:
                for instance, _ in block.instances:
                    m.d.comb += getattr(self, instance).word.eq(address.o.payload)

        m.d.comb += address.o.ready.eq(read_room & read_done)
        with m.If(address.o.valid & address.o.ready):
            m.d.sync += bus.rvalid.eq(1)
            m.d.sync += bus.rdata.eq(read_value)
            m.d.sync += bus.rresp.eq(Mux(read_hit, Response.OKAY, Response.SLVERR))
        with m.Elif(bus.rready):
            m.d.sync += bus.rvalid.eq(0)

    def _value(self, placed: Placed) -> Value:
        value: Value = C(0, REGISTER_BITS)
        for field in placed.register.fields:
            match field.access:
                case Access.CONSTANT:
                    bits: Value = C(field.reset, field.bits)
                case Access.PULSE:
                    continue
                case Access.W1C:
                    bits = self._port(placed, field.name).value
                case _:
                    bits = self._port(placed, field.name)
            value = value | bits.shift_left(field.lsb)
        return value[:REGISTER_BITS]
