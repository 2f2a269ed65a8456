"""The engine as a module with AXI names: ``aclk``, ``aresetn``, ``m_axi_dev_*``, ``m_axi_host_*``,
``s_axil_*``.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from amaranth.hdl import (
    C,
    Cat,
    ClockDomain,
    Const,
    DomainRenamer,
    Elaboratable,
    Module,
    Mux,
    Shape,
    Signal,
    Value,
)
from amaranth.lib import data, stream, wiring

from cdma.hdl.axi.bursts import AddressFirst
from cdma.hdl.axi.crossings import LiteCrossing, PortCrossing
from cdma.hdl.axi.ports import ReadPort, WritePort, each_port
from cdma.hdl.blocks.arithmetic import one_of
from cdma.hdl.blocks.clocks import ClockGates, Synchroniser, declare_always
from cdma.hdl.blocks.memories import FlipFlops, MemoryCoding, elaborated
from cdma.hdl.blocks.registers import SkidBuffer, slice_after, slice_before
from cdma.hdl.engine.channel.interfaces import CHANNELS, ChannelControl, ChannelStatus, OwnerLayout
from cdma.hdl.engine.control.quiescence import CONTROL, Closing, Quiescence, accessed, settling_cycles
from cdma.hdl.engine.control.registers import RegisterBlock
from cdma.hdl.engine.pairs.sharing import list_ids, message_ids, ring_ids
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.options import OWNER_PORTS, has_slices, reset_of
from cdma.hdl.spec.records import RECORD_BYTES
from cdma.hdl.verilog.shell import CLOCK_GATE, SCAN_ENABLE, Port, Shell, axis_ports, clocked, handshaken

from .core import EngineCore, host_ports
from .managed import (
    LIST_IDS,
    MESSAGE_IDS,
    OFFLOAD_RING_ID,
    PREFETCH_RING_ID,
    ManagedEngine,
    host_id_bits,
)
from .shared import SharedEngine

__all__ = ["BareEngine", "Engine", "engine_ports", "engine_shell"]

_DEV_ID_BITS = 1
#: Words of the deepest memory that is no buffer of data, and of none of bursts in flight.
_QUEUES = 128

#: Width and value of what every address says: INCR bursts, no lock.
_CONSTANTS = {"burst": (2, 0b01), "lock": (1, 0)}


#: The payload of each channel of AXI4-Lite, in the order of the ports.
_LITE_FIELDS = {
    "aw": ("addr", "prot"),
    "w": ("data", "strb"),
    "b": ("resp",),
    "ar": ("addr", "prot"),
    "r": ("data", "resp"),
}
#: Its requests, and what answers them.
_LITE_REQUESTS = {"aw": "b", "w": "b", "ar": "r"}


class _Domain(NamedTuple):
    """The clock domain of ports, and what is high while these may do anything."""

    name: str
    runs: Value


def _axi_ports(
    name: str, data_bits: int, address_bits: int, id_bits: int, config: EngineConfig
) -> tuple[Port, ...]:
    """The ports of an AXI4 manager."""
    address = {"id": id_bits, "addr": address_bits, "len": 8, "size": 3}
    address |= {field: bits for field, (bits, _) in (_CONSTANTS | config.sideband.values("dev")).items()}
    address |= {OWNER_PORTS[field]: bits for field, (_, bits) in config.records.owner_fields.items()}
    return (
        *handshaken(f"{name}_aw", "output", address),
        *handshaken(f"{name}_w", "output", {"data": data_bits, "strb": data_bits // 8, "last": 1}),
        *handshaken(f"{name}_b", "input", {"id": id_bits, "resp": 2}),
        *handshaken(f"{name}_ar", "output", address),
        *handshaken(f"{name}_r", "input", {"id": id_bits, "data": data_bits, "resp": 2, "last": 1}),
    )


def _lite_ports(name: str, address_bits: int) -> tuple[Port, ...]:
    """The ports of an AXI4-Lite subordinate with 32 bits of data."""
    bits = {"addr": address_bits, "prot": 3, "data": 32, "strb": 4, "resp": 2}
    return tuple(
        port
        for channel, fields in _LITE_FIELDS.items()
        for port in handshaken(
            f"{name}_{channel}",
            "output" if channel in ("b", "r") else "input",
            {field: bits[field] for field in fields},
        )
    )


def _control_ports(config: EngineConfig) -> tuple[Port, ...]:
    """What controls an engine with registers: the bus of the registers, the interrupt and with coded memories the alert."""
    levels = ("irq", "alert") if config.coded_memories else ("irq",)
    return (
        *(Port(name, "output", config.channels) for name in levels),
        *_lite_ports("s_axil", config.register_address_bits),
    )


def _quiescence_ports(config: EngineConfig) -> tuple[Port, ...]:
    """The Q-channel."""
    if not config.quiescence:
        return ()
    return (Port("qreqn", "input"), *(Port(name, "output") for name in ("qacceptn", "qdeny", "qactive")))


def _controls(config: EngineConfig) -> dict[str, int]:
    """The inputs that control a channel, and their bits: a codec without a table has no values."""
    members = ChannelControl(config).members.items()
    return {name: bits for name, member in members if (bits := Shape.cast(member.shape).width)}


def _bare_ports(config: EngineConfig) -> tuple[Port, ...]:
    """What controls an engine without registers."""
    # A descriptor and, in an engine with shapes, its extension.
    entries = 2 if config.dimensions else 1
    ports = [
        *([Port("watchdog_cycles", "input", 32)] if config.times else []),
        *(
            Port(f"{port}_window_{edge}", "input", 64)
            for port in ("dev", "host")
            for edge in ("base", "limit")
            if config.windows
        ),
    ]
    for channel in CHANNELS:
        ports += [
            *axis_ports(f"s_{channel}_descriptor", "input", data=8 * RECORD_BYTES * entries),
            *axis_ports(f"m_{channel}_completion", "output", data=8 * RECORD_BYTES),
            *(Port(f"{channel}_{name}", "input", bits) for name, bits in _controls(config).items()),
            *(Port(f"{channel}_{name}", "output") for name in ChannelStatus.members),
        ]
    return tuple(ports)


def engine_ports(config: EngineConfig) -> tuple[Port, ...]:
    """The ports of the engine that ``config`` describes."""
    id_bits = host_id_bits(config) if config.registers else _DEV_ID_BITS
    clocks = config.domains
    control = _control_ports(config) if config.registers else _bare_ports(config)
    used = dict.fromkeys((clocks.core, clocks.host, *([clocks.registers] if config.registers else [])))
    return (
        *(Port(name, "input", clock=clock) for clock in used for name in (clock, reset_of(clock))),
        *(clocked((SCAN_ENABLE,), clocks.core) if config.clock_gates else ()),
        *clocked(_quiescence_ports(config), clocks.core),
        *clocked(control, clocks.registers if config.registers else clocks.core),
        *(
            port
            for name in config.dev_ports
            for port in clocked(
                _axi_ports(
                    f"m_axi_{name}", config.dev_data_bits, config.dev_address_bits, _DEV_ID_BITS, config
                ),
                clocks.core,
            )
        ),
        *clocked(
            _axi_ports("m_axi_host", config.host_data_bits, config.host_address_bits, id_bits, config),
            clocks.host,
        ),
    )


class _AxiShell(Shell):
    """What both shells share: the two AXI4 ports, the reset, and where register slices stand.

    Valid and ready of a channel without a slice are forced low in reset; with one, they come from flip-flops. Without any
    slice the reset of the inside comes from a flip-flop. A slice is reset by ``aresetn`` itself, because its outputs must
    be low from the first edge on, and so is what it belongs to; and so is an engine without registers, whose status is at
    outputs.
    """

    def __init__(self, config: EngineConfig) -> None:
        self.config = config
        #: Each is high while nothing is open on the other side of a crossing that this one does not know of.
        self._links: list[Value] = []
        self.slices_in, self.slices_out = (
            has_slices(config.register_slices, direction) for direction in ("in", "out")
        )
        super().__init__(engine_ports(config))
        self._core = _Domain("sync", self.open)

    def _reset(self, m: Module, coding: MemoryCoding | None = None) -> None:
        """Declares the domain of the engine; coded memories are filled before it leaves reset."""
        filling = None if coding is None else coding.filling
        self.add_domain(
            m, registered=self._resets_inside(), longer=self._clock() is not None, holding=filling
        )
        if coding is not None:
            place = Signal.like(coding.place, name="place_to_fill", reset_less=True)
            fills = Signal(name="fills_memories", init=1, reset_less=True)
            m.d.comb += [coding.filling.eq(fills), coding.place.eq(place)]
            with m.If(~self.resetn):
                m.d.sync += [place.eq(0), fills.eq(1)]
            with m.Elif(fills):
                m.d.sync += [place.eq(place + 1), fills.eq(~place.all())]

    def _resets_inside(self) -> bool:
        return self.config.registers and not (self.slices_in or self.slices_out)

    def _clock(self) -> Signal | None:
        """The clock, for an engine whose parts have resets of their own."""
        return self.clock if self.config.pipelined and self._resets_inside() else None

    def _foreign(self, m: Module, name: str, clock: str) -> _Domain:
        """Declares the domain of another clock, whose reset port gates the handshakes of its ports."""
        domain = ClockDomain(name)
        domain.clk = self.port(clock)
        m.domains += domain
        resetn = self.port(reset_of(clock))
        m.d.comb += domain.rst.eq(~resetn)
        return _Domain(name, resetn)

    def _gates(self) -> ClockGates | None:
        """The gates of its clocks, if there are any."""
        return ClockGates(CLOCK_GATE, self.port(SCAN_ENABLE.name)) if self.config.clock_gates else None

    def _before(
        self, m: Module, name: str, sink: stream.Interface, domain: _Domain | None = None
    ) -> stream.Interface:
        """An input of the engine, or the slice before it."""
        domain = domain or self._core
        return slice_before(m, f"{name}_slice", sink, domain.name) if self.slices_in else sink

    def _after(
        self, m: Module, name: str, source: stream.Interface, domain: _Domain | None = None
    ) -> stream.Interface:
        """An output of the engine, or the slice after it."""
        domain = domain or self._core
        return slice_after(m, f"{name}_slice", source, domain.name) if self.slices_out else source

    def _connect_memories(self, m: Module, engine: ManagedEngine | SharedEngine | EngineCore) -> None:
        """Connects the ports of device memory and of host memory."""
        reads, writes = each_port(engine.dev_read), each_port(engine.dev_write)
        for name, read, write in zip(self.config.dev_ports, reads, writes, strict=True):
            self._connect_axi(m, name, read, write, self._core)
        if self.config.domains.host_crosses:
            self._cross_host(m, engine.host_read, engine.host_write)
        else:
            self._connect_axi(m, "host", engine.host_read, engine.host_write, self._core)

    def _cross_host(self, m: Module, read: ReadPort, write: WritePort) -> None:
        """Connects the host port, which has another clock. What addresses say beside, and registers may change, goes with
        them."""
        config = self.config
        domain = self._foreign(m, "host", config.domains.host)
        goes = config.sideband_registers or config.records.owner_bits
        beside = data.StructLayout(self._beside_bits("host")) if goes else None
        ports = host_ports(config, len(read.ar.payload.id), beside.size if beside else 0)
        crossing = PortCrossing(*ports, self._host_ids(), self._most(), bus=domain.name)
        m.submodules.host_crossing = self._of_few_words(crossing)
        self._links.append(crossing.linked)
        for channel, near, far in (("ar", read.ar, crossing.read.ar), ("aw", write.aw, crossing.write.aw)):
            payload = near.payload.as_value()
            if config.records.tag_bits:
                payload = payload[: -config.records.tag_bits]
            if beside:
                payload = Cat(payload, self._beside("host", channel, near.payload).values())
            m.d.comb += [
                far.payload.eq(payload),
                far.valid.eq(near.valid),
                near.ready.eq(far.ready),
            ]
        wiring.connect(m, write.w, crossing.write.w)
        wiring.connect(m, crossing.write.b, write.b)
        wiring.connect(m, crossing.read.r, read.r)
        self._connect_axi(m, "host", crossing.bus_read, crossing.bus_write, domain, beside)

    def _working(self, busy: Value) -> Value:
        """Whether the engine is ``busy``, or something is open on the other side of a crossing."""
        return busy | ~Cat(self._links).all() if self._links else busy

    def _of_few_words(self, crossing: wiring.Component) -> Elaboratable:
        """A crossing. Its words are read by another clock than that which would check them, so where memories have checks
        they are no memories."""
        return elaborated(crossing, FlipFlops()) if self.config.coded_memories else crossing

    def _host_ids(self) -> Sequence[int]:
        """The IDs of transactions on the host port."""
        return (0,)

    def _most(self) -> int:
        """Bounds the transactions of an ID and kind on the host port."""
        config = self.config
        return max(config.outstanding, config.ring_reads, config.ring_writes, config.list_reads)

    def _connect_quiescence(
        self,
        m: Module,
        inputs: Mapping[str, str],
        working: Value,
        pending: Value,
        unanswered: Value,
        domain: _Domain,
        begun: Mapping[str, Value],
    ) -> dict[str, Value]:
        """Connects the Q-channel, with the name of each input and the prefix of its handshake; gives by name what is high
        while that input may be taken. What was taken may be ``unanswered``, and at some inputs half of it may have
        ``begun`` at another one. The inputs are in a ``domain``."""
        far = domain is not self._core
        m.submodules.quiescence = quiescence = Quiescence(far=far)
        closed = quiescence.closed
        if far:
            m.submodules.closing = closing = Closing(bus=domain.name)
            m.d.comb += [closing.closed.eq(closed), quiescence.shut.eq(closing.shut)]
            closed = closing.closes
        offers = {name: self.port(f"{prefix}valid") for name, prefix in inputs.items()}
        takes: dict[str, Value] = {}
        for name, prefix in inputs.items():
            # What the engine has seen is taken, although it closes.
            held = Signal(name=f"{name}_held")
            may = ~closed | held
            if far and name in begun:
                # Nothing is denied for what is open there: it must end, so the other half is taken.
                may |= begun[name]
            takes[name] = domain.runs & may
            m.d[domain.name] += held.eq(takes[name] & offers[name] & ~self.port(f"{prefix}ready"))
        seen = Cat(takes[name] & offers[name] for name in inputs).any()
        active = Signal()
        #: What is in the other domain, and keeps the engine active.
        there = [unanswered] if far else []
        if far:
            m.d.sync += active.eq(working | pending)
            taking = closing.open
        else:
            m.d.sync += active.eq(working | pending | unanswered)
            taking = quiescence.taking
        m.d.comb += [
            quiescence.request_n.eq(self.port("qreqn")),
            quiescence.working.eq(working),
            taking.eq(seen | unanswered),
            quiescence.pending.eq(pending),
            self.port("qacceptn").eq(quiescence.accept_n & self.open),
            self.port("qdeny").eq(quiescence.deny & self.open),
            self.port("qactive").eq((active | Cat(offers.values(), there).any()) & self.open),
        ]
        return takes

    def _connect_axi(
        self,
        m: Module,
        name: str,
        read: ReadPort,
        write: WritePort,
        domain: _Domain,
        beside: data.StructLayout | None = None,
    ) -> None:
        """Connects an AXI4 port, ``m_axi_`` and ``name``. Addresses bring with them what they say ``beside``, or it is known
        here."""
        bus = f"m_axi_{name}"
        gate = Const(1) if self.slices_out else domain.runs
        aw = self._after(m, f"{name}_aw", write.aw, domain)
        ar = self._after(m, f"{name}_ar", read.ar, domain)
        w = self._after(m, f"{name}_w", self._behind_addresses(m, name, aw, write.w, domain), domain)
        for channel, source in (("aw", aw), ("ar", ar)):
            m.d.comb += [
                self.port(f"{bus}_{channel}id").eq(source.payload.id),
                self.port(f"{bus}_{channel}addr").eq(source.payload.address),
                self.port(f"{bus}_{channel}len").eq(source.payload.len),
                self.port(f"{bus}_{channel}size").eq(source.payload.size),
            ]
            for field, (_, value) in _CONSTANTS.items():
                m.d.comb += self.port(f"{bus}_{channel}{field}").eq(value)
            if beside:
                brought = data.View(beside, source.payload.owner)
                said = {field: brought[field] for field in beside.members}
            else:
                said = self._beside("host" if name == "host" else "dev", channel, source.payload)
            m.d.comb += [self.port(f"{bus}_{channel}{field}").eq(value) for field, value in said.items()]
        word_bytes = self.config.moved_bits // 8
        m.d.comb += [
            self.port(f"{bus}_wdata").eq(w.payload.data),
            self.port(f"{bus}_wstrb").eq(Cat(word.replicate(word_bytes) for word in w.payload.keep)),
            self.port(f"{bus}_wlast").eq(w.payload.last),
        ]
        for channel, source in (("aw", aw), ("ar", ar), ("w", w)):
            m.d.comb += [
                self.port(f"{bus}_{channel}valid").eq(source.valid & gate),
                source.ready.eq(self.port(f"{bus}_{channel}ready")),
            ]
        self._connect_answers(m, name, read, write, domain)

    def _beside_bits(self, port: str) -> dict[str, int]:
        """The bits of what :meth:`_beside` gives."""
        owner = self.config.records.owner_fields
        return {
            **{field: bits for field, (bits, _) in self.config.sideband.values(port).items()},
            **{OWNER_PORTS[field]: bits for field, (_, bits) in owner.items()},
        }

    def _beside(self, port: str, channel: str, address: data.View) -> dict[str, Value]:
        """What an address of ``channel`` says beside."""
        said = self._sideband(port, channel, address)
        if self.config.records.owner_bits:
            owner = self._owner(port, address)
            said |= {OWNER_PORTS[field]: owner[field] for field in owner.shape().members}
        return said

    def _owner(self, port: str, address: data.View) -> data.View:
        """Whose an address is."""
        owner = OwnerLayout(self.config.records)
        return data.View(owner, address.owner[: owner.size])

    def _sideband(self, port: str, channel: str, address: data.View) -> dict[str, Value]:
        """What an address of ``channel`` says beside: on the host port, ID 0 is data, and the others are rings."""
        sideband = self.config.sideband
        rings = sideband.values("ring" if port == "host" and self.config.registers else port)
        said: dict[str, Value] = {}
        for field, (bits, value) in sideband.values(port).items():
            ring = rings[field][1]
            said[field] = (
                C(value, bits) if value == ring else Mux(address.id == 0, C(value, bits), C(ring, bits))
            )
        return said

    def _connect_answers(
        self, m: Module, name: str, read: ReadPort, write: WritePort, domain: _Domain
    ) -> None:
        gate = Const(1) if self.slices_in else domain.runs
        b, r = self._before(m, f"{name}_b", write.b, domain), self._before(m, f"{name}_r", read.r, domain)
        for channel, sink, fields in (("b", b, ("id", "resp")), ("r", r, ("id", "data", "resp", "last"))):
            bus = f"m_axi_{name}_{channel}"
            for field in fields:
                m.d.comb += sink.payload[field].eq(self.port(f"{bus}{field}"))
            m.d.comb += [
                sink.valid.eq(self.port(f"{bus}valid")),
                self.port(f"{bus}ready").eq(sink.ready & gate),
            ]

    def _behind_addresses(
        self, m: Module, name: str, aw: stream.Interface, w: stream.Interface, domain: _Domain
    ) -> stream.Interface:
        """Write data that reach the bus after their address, although the slice before it has taken that."""
        if not self.slices_out:
            return w
        config = self.config
        # What data, both rings and messages have open at most.
        most = config.outstanding + config.channels * (2 * max(config.descriptors, 4) + config.msi)
        order = AddressFirst(w.payload.shape(), most)
        m.submodules[f"{name}_order"] = DomainRenamer(domain.name)(order)
        wiring.connect(m, w, order.input)
        m.d.comb += order.taken.eq(aw.valid & aw.ready)
        return order.output


class Engine(_AxiShell):
    """The engine with registers, rings, ``irq`` and, with coded memories, ``alert``."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        coding = self._coding()
        self._reset(m, coding)
        registers: RegisterBlock | SharedEngine
        engine: ManagedEngine | SharedEngine
        if self.config.channels > 1:
            self._shared = registers = engine = SharedEngine(self.config, self._clock(), self._gates())
        else:
            self._registers = registers = RegisterBlock(self.config)
            gates = self._gates()
            engine = ManagedEngine(self.config, self._clock(), gates)
            built = registers if coding is None else elaborated(registers, coding)
            m.submodules.registers = built if gates is None else self._gated(m, built, engine, gates)
            wiring.connect(m, registers.control, engine.control)
        m.submodules.engine = engine if coding is None else elaborated(engine, coding)
        self._connect_memories(m, engine)
        bus, domain = registers.bus, self._core
        levels: Sequence[Value] = _levels(self.config, registers)
        if self.config.domains.registers_cross:
            bus, levels, domain = self._cross_registers(m, registers.bus, levels)
        for pin, level in zip(_levels(self.config, self), levels, strict=True):
            if self.slices_out:
                m.d[domain.name] += pin.eq(level)
            else:
                m.d.comb += pin.eq(level & domain.runs.replicate(len(pin)))
        takes: dict[str, Value] = dict.fromkeys(_LITE_REQUESTS, domain.runs)
        if self.config.quiescence:
            inputs = {channel: f"s_axil_{channel}" for channel in _LITE_REQUESTS}
            open_ = self._accesses(m, domain)
            # The address of a write that is taken waits for its data, and these for it.
            begun = {"aw": open_["w"] > open_["aw"], "w": open_["aw"] > open_["w"]}
            takes = self._connect_quiescence(
                m,
                inputs,
                self._working(engine.working),
                engine.pending,
                Cat(open_.values()).any(),
                domain,
                begun,
            )
        for channel in (*_LITE_REQUESTS, "b", "r"):
            self._connect_lite(m, bus, channel, takes.get(channel), domain)
        return m

    def _gated(
        self, m: Module, registers: Elaboratable, engine: ManagedEngine, gates: ClockGates
    ) -> Elaboratable:
        """The registers, in the domain of what is in no channel: its clock stops as well."""
        declare_always(m)
        active = Signal(name="control_active")
        m.d.comb += active.eq(Cat(engine.active, *accessed(self._registers.bus)).any())
        settling = settling_cycles(self._registers)
        return gates.gated(m, CONTROL, registers, active, settling, local=False)

    def _host_ids(self) -> Sequence[int]:
        config = self.config
        if (pairs := config.channels) > 1:
            # Those of lists and of messages follow those of rings.
            return range(1 + 2 * (pairs * (1 + config.msi) + config.pages))
        lists, messages = LIST_IDS if config.pages else (), MESSAGE_IDS if config.msi else ()
        return (0, OFFLOAD_RING_ID, PREFETCH_RING_ID, *lists, *messages)

    def _cross_registers(
        self, m: Module, bus: wiring.PureInterface, levels: Sequence[Value]
    ) -> tuple[wiring.PureInterface, Sequence[Value], _Domain]:
        """Takes the bus of the registers, and levels, to another clock; gives them there, and their domain."""
        clock = self.config.domains.registers
        if clock == self.config.domains.host and self.config.domains.host_crosses:
            domain = _Domain("host", self.port(reset_of(clock)))
        else:
            domain = self._foreign(m, "registers", clock)
        crossing = LiteCrossing(self.config.register_address_bits, bus=domain.name)
        m.submodules.register_crossing = self._of_few_words(crossing)
        self._links.append(crossing.linked)
        wiring.connect(m, crossing.registers, bus)
        count = len(Cat(levels))
        cell = Synchroniser(count)
        m.submodules.irq_synchroniser = DomainRenamer(domain.name)(cell)
        m.d.comb += cell.input.eq(Cat(levels))
        each = count // len(levels)
        return crossing.bus_port, [cell.output[at : at + each] for at in range(0, count, each)], domain

    def _accesses(self, m: Module, domain: _Domain) -> dict[str, Signal]:
        """The requests of accesses to registers that are not answered at the port."""
        counts = {}
        for request, answer in _LITE_REQUESTS.items():
            # No more are open than slices and the register block take.
            count = counts[request] = Signal(4, name=f"open_{request}")
            begins, ends = (
                self.port(f"s_axil_{channel}valid") & self.port(f"s_axil_{channel}ready")
                for channel in (request, answer)
            )
            m.d[domain.name] += count.eq(count + begins - ends)
        return counts

    def _coding(self) -> MemoryCoding | None:
        """The coding of the memories, if they have one."""
        config = self.config
        if not config.coded_memories:
            return None
        stripes = config.piece_beats if config.units > 1 else 0
        deepest = max(config.read_buffer, config.write_buffer, config.outstanding, stripes, _QUEUES)
        return MemoryCoding(config.memories_protect, deepest, config.smallest_memory)

    def _of_rings(self, id: Value) -> tuple[Value, Value]:
        """Whether an ID on the host port is one of the rings of offload, and of prefetch, or of their lists or messages."""
        of_offload, of_prefetch = id == OFFLOAD_RING_ID, id == PREFETCH_RING_ID
        for there, (offload, prefetch) in ((self.config.pages, LIST_IDS), (self.config.msi, MESSAGE_IDS)):
            if there:
                of_offload, of_prefetch = of_offload | (id == offload), of_prefetch | (id == prefetch)
        return of_offload, of_prefetch

    def _owner(self, port: str, address: data.View) -> data.View:
        of_data = super()._owner(port, address)
        if port == "dev":
            return of_data
        if self.config.channels > 1:
            return data.View(of_data.shape(), self._owner_in_pairs(address, of_data))
        control = self._registers.control
        of_offload, of_prefetch = self._of_rings(address.id)
        rings = Mux(of_prefetch, control.prefetch.ring_owner.as_value(), of_data.as_value())
        said = Mux(of_offload, control.offload.ring_owner.as_value(), rings)
        return data.View(OwnerLayout(self.config.records), said)

    def _owner_in_pairs(self, address: data.View, of_data: data.View) -> Value:
        """Whose an address on the host port is, in an engine with several pairs."""
        owners = self._shared.ring_owners
        return self._of_pairs(address, of_data.as_value(), [owner.as_value() for owner in owners])

    def _sideband_in_pairs(self, port: str, channel: str, address: data.View) -> dict[str, Value]:
        """What an address says beside, in an engine with several pairs."""
        sidebands = list(self._shared.sidebands)
        # Offload reads device memory and writes host memory.
        mine = sidebands[0 if (channel == "ar") == (port == "dev") else 1 :: 2]
        said: Value = one_of(
            *((self._pair_of(address) == number, each[port].as_value()) for number, each in enumerate(mine))
        )
        if port == "host":
            said = self._of_pairs(address, said, [each["ring"].as_value() for each in sidebands])
        layout = sidebands[0][port].shape()
        return {name: data.View(layout, said)[name] for name in layout.members}

    def _pair_of(self, address: data.View) -> Value:
        """The pair of a descriptor's address."""
        return address.owner[self.config.records.owner_bits :]

    def _of_pairs(self, address: data.View, of_data: Value, of_rings: Sequence[Value]) -> Value:
        """The value for an address on the host port: that of data, or of the rings of a channel."""
        pairs, pages = self.config.channels, self.config.pages
        cases = [(address.id == 0, of_data)]
        for index, value in enumerate(of_rings):
            number, direction = divmod(index, 2)
            mine = [ring_ids(number)[direction]]
            if self.config.msi:
                mine.append(message_ids(number, pairs, pages=pages)[direction])
            cases.append((address.id.matches(*mine), value))
            if pages:
                lists = address.id == list_ids(pairs)[direction]
                cases.append((lists & (self._pair_of(address) == number), value))
        return one_of(*cases)

    def _sideband(self, port: str, channel: str, address: data.View) -> dict[str, Value]:
        if not self.config.sideband_registers:
            return super()._sideband(port, channel, address)
        if self.config.channels > 1:
            return self._sideband_in_pairs(port, channel, address)
        offload, prefetch = self._registers.control.offload, self._registers.control.prefetch
        # Offload reads device memory and writes host memory.
        owner = offload if (channel == "ar") == (port == "dev") else prefetch
        fields = self.config.sideband.values(port)
        if port == "dev":
            return {name: owner.dev_sideband[name] for name in fields}
        of_offload, of_prefetch = self._of_rings(address.id)
        return {
            name: Mux(
                of_offload,
                offload.ring_sideband[name],
                Mux(of_prefetch, prefetch.ring_sideband[name], owner.host_sideband[name]),
            )
            for name in fields
        }

    def _connect_lite(
        self,
        m: Module,
        bus: wiring.PureInterface,
        channel: str,
        takes: Value | None,
        domain: _Domain,
    ) -> None:
        """A channel of AXI4-Lite: a request into the register block while it ``takes`` any, or a response out of it."""
        request = takes is not None
        fields = _LITE_FIELDS[channel]
        inner = {name: getattr(bus, f"{channel}{name}") for name in (*fields, "valid", "ready")}
        outer = {name: self.port(f"s_axil_{channel}{name}") for name in inner}
        source, sink = (outer, inner) if request else (inner, outer)
        if self.slices_in if request else self.slices_out:
            buffer = SkidBuffer(_layout(inner, fields))
            m.submodules[f"registers_{channel}_slice"] = DomainRenamer(domain.name)(buffer)
            gate = takes if request and self.config.quiescence else Const(1)
            _pass_on(m, source, _signals(buffer.input, fields), offers=gate, takes=gate)
            _pass_on(m, _signals(buffer.output, fields), sink)
        elif request:
            _pass_on(m, source, sink, offers=takes if self.config.quiescence else 1, takes=takes)
        else:
            _pass_on(m, source, sink, offers=domain.runs)


class BareEngine(_AxiShell):
    """The engine without registers: logic gives it descriptors and takes completions, 64 bytes each."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._reset(m)
        m.submodules.core = core = EngineCore(self.config, self._gates())
        self._connect_memories(m, core)
        if self.config.times:
            m.d.comb += core.watchdog_cycles.eq(self.port("watchdog_cycles"))
        for window in ("dev_window", "host_window") if self.config.windows else ():
            for edge in ("base", "limit"):
                m.d.comb += getattr(core, window)[edge].eq(self.port(f"{window}_{edge}"))
        takes: dict[str, Value] = {}
        if self.config.quiescence:
            inputs = {name: f"s_{name}_descriptor_t" for name in CHANNELS}
            waiting = Cat(self.port(f"{prefix}valid") for prefix in inputs.values()).any()
            takes = self._connect_quiescence(
                m, inputs, self._working(self._busy(core)), waiting, C(0), self._core, {}
            )
        for name in CHANNELS:
            self._connect_channel(m, name, getattr(core, name), takes.get(name))
        return m

    def _busy(self, core: EngineCore) -> Value:
        """Whether a descriptor is in flight, or in a slice, or its completion not taken."""
        channels = [(name, getattr(core, name)) for name in CHANNELS]
        return Cat(
            *(channel.status.busy | channel.requests.valid for _, channel in channels),
            *(self.port(f"m_{name}_completion_tvalid") for name, _ in channels),
        ).any()

    def _connect_channel(
        self, m: Module, name: str, channel: wiring.PureInterface, takes: Value | None
    ) -> None:
        requests = self._before(m, f"{name}_descriptor", channel.requests)
        completion = self._after(m, f"{name}_completion", channel.completion)
        if takes is not None:
            given, taken = (self.port(f"s_{name}_descriptor_{signal}") for signal in ("tvalid", "tready"))
            m.d.comb += [requests.valid.eq(given & takes), taken.eq(requests.ready & takes)]
        else:
            self.accept(m, f"s_{name}_descriptor", requests, registered=self.slices_in)
        self.offer(m, f"m_{name}_completion", completion, registered=self.slices_out)
        given = self.port(f"s_{name}_descriptor_tdata")
        if self.config.dimensions:
            m.d.comb += requests.payload.extension.eq(given[8 * RECORD_BYTES :])
        m.d.comb += [
            requests.payload.descriptor.eq(given),
            self.port(f"m_{name}_completion_tdata").eq(completion.payload),
        ]
        for signal in _controls(self.config):
            m.d.comb += getattr(channel, signal).eq(self.port(f"{name}_{signal}"))
        status = {signal: channel.status[signal] for signal in ChannelStatus.members}
        if self.slices_out:
            # Completions of an abort may still be in the slice when the channel has done with it.
            leaving = Signal(name=f"{name}_leaving")
            status["aborting"] = status["aborting"] | (leaving & completion.valid)
            m.d.sync += leaving.eq(status["aborting"])
        for signal, value in status.items():
            m.d.comb += self.port(f"{name}_{signal}").eq(value)


def _layout(signals: Mapping[str, Value], fields: Sequence[str]) -> data.StructLayout:
    """The fields of a channel side by side."""
    return data.StructLayout({name: signals[name].shape() for name in fields})


def _levels(config: EngineConfig, of: Engine | RegisterBlock | SharedEngine) -> list[Signal]:
    """The interrupt and, with coded memories, the alert."""
    return [of.irq, of.alert] if config.coded_memories else [of.irq]


def _signals(port: stream.Interface, fields: Sequence[str]) -> dict[str, Value]:
    """The signals of a stream of :func:`_layout`."""
    return {name: port.payload[name] for name in fields} | {"valid": port.valid, "ready": port.ready}


def _pass_on(
    m: Module,
    source: Mapping[str, Value],
    sink: Mapping[str, Value],
    *,
    offers: Value | int = 1,
    takes: Value | int = 1,
) -> None:
    """Connects a channel; while ``offers`` is low the sink sees nothing, while ``takes`` is low the source sees no
    ready."""
    m.d.comb += [sink[name].eq(source[name]) for name in source if name not in ("valid", "ready")]
    m.d.comb += [sink["valid"].eq(source["valid"] & offers), source["ready"].eq(sink["ready"] & takes)]


def engine_shell(config: EngineConfig) -> Shell:
    """The engine that ``config`` describes: with registers or bare."""
    return Engine(config) if config.registers else BareEngine(config)
