"""What engines with registers and without have in common: AXI4 ports, resets, register slices, clocks and the Q-channel."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from amaranth.hdl import (
    Cat,
    ClockDomain,
    Const,
    DomainRenamer,
    Elaboratable,
    Module,
    Signal,
    Value,
    ValueLike,
)
from amaranth.lib import data, stream, wiring

from cdma.hdl.axi.bursts import AddressFirst
from cdma.hdl.axi.crossings import PortCrossing
from cdma.hdl.axi.ports import ReadPort, WritePort, each_port
from cdma.hdl.axi.turns import BurstTurns
from cdma.hdl.blocks.clocks import ClockGates, Clocking, StagedResets
from cdma.hdl.blocks.memories import FlipFlops, MemoryCoding, elaborated
from cdma.hdl.blocks.registers import slice_after, slice_before
from cdma.hdl.engine.control.quiescence import Closing, Quiescence
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.options import has_slices, reset_of
from cdma.hdl.verilog.shell import CLOCK_GATE, SCAN_ENABLE, Shell

from .core import EngineCore
from .managed import ManagedEngine
from .pins import CONSTANTS, engine_ports
from .user import UserLayout, host_ports


class Domain(NamedTuple):
    """The clock domain of ports, and what is high while these may do anything."""

    name: str
    runs: Value


class AxiShell(Shell):
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
        self._core = Domain("sync", self.open)
        #: Bursts of a group, where ports have groups.
        self.group_bursts: Value = Const(config.group_bursts, 9)

    def _reset(self, m: Module, coding: MemoryCoding | None = None) -> None:
        """Declares the domain of the engine; coded memories are filled before it leaves reset."""
        filling = None if coding is None else coding.filling
        self.add_domain(m, registered=self._resets_inside(), longer=self._clocking().staged, holding=filling)
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

    def _clocking(self) -> Clocking:
        """The clock and the resets of its parts."""
        if self.config.clock_gates:
            return ClockGates(CLOCK_GATE, self.port(SCAN_ENABLE.name))
        return StagedResets(self.clock) if self.config.pipelined and self._resets_inside() else Clocking()

    def _foreign(self, m: Module, name: str, clock: str) -> Domain:
        """Declares the domain of another clock, whose reset port gates the handshakes of its ports."""
        domain = ClockDomain(name)
        domain.clk = self.port(clock)
        m.domains += domain
        resetn = self.port(reset_of(clock))
        m.d.comb += domain.rst.eq(~resetn)
        return Domain(name, resetn)

    def _before(
        self, m: Module, name: str, sink: stream.Interface, domain: Domain | None = None
    ) -> stream.Interface:
        """An input of the engine, or the slice before it."""
        domain = domain or self._core
        return slice_before(m, f"{name}_slice", sink, domain.name) if self.slices_in else sink

    def _after(
        self, m: Module, name: str, source: stream.Interface, domain: Domain | None = None
    ) -> stream.Interface:
        """An output of the engine, or the slice after it."""
        domain = domain or self._core
        return slice_after(m, f"{name}_slice", source, domain.name) if self.slices_out else source

    def _connect_memories(self, m: Module, engine: ManagedEngine | EngineCore) -> None:
        """Connects the ports of device memory and of host memory."""
        reads, writes = each_port(engine.dev_read), each_port(engine.dev_write)
        for name, read, write in zip(self.config.dev_ports, reads, writes, strict=True):
            self._connect_axi(m, name, read, write, self._core)
        if self.config.domains.host_crosses:
            self._cross_host(m, engine.host_read, engine.host_write)
        else:
            self._connect_axi(m, "host", engine.host_read, engine.host_write, self._core)

    def _cross_host(self, m: Module, read: ReadPort, write: WritePort) -> None:
        """Connects the host port, which has another clock; groups are made on the engine's side."""
        domain = self._foreign(m, "host", self.config.domains.host)
        ports = host_ports(self.config, len(read.ar.payload.id))
        crossing = PortCrossing(*ports, self._host_ids(), self._most(), bus=domain.name)
        m.submodules.host_crossing = self._of_few_words(crossing)
        self._links.append(crossing.linked)
        ar, aw = self._in_turns(m, "host", read, write)
        wiring.connect(m, ar, crossing.read.ar)
        wiring.connect(m, read.r, crossing.read.r)
        wiring.connect(m, aw, crossing.write.aw)
        wiring.connect(m, write.b, crossing.write.b)
        wiring.connect(m, write.w, crossing.write.w)
        self._connect_axi(m, "host", crossing.bus_read, crossing.bus_write, domain)

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
        domain: Domain,
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
        domain: Domain,
    ) -> None:
        """Connects an AXI4 port, ``m_axi_`` and ``name``."""
        bus = f"m_axi_{name}"
        gate = Const(1) if self.slices_out else domain.runs
        inside = domain is self._core
        ar, aw = self._in_turns(m, name, read, write) if inside else (read.ar, write.aw)
        aw = self._after(m, f"{name}_aw", aw, domain)
        ar = self._after(m, f"{name}_ar", ar, domain)
        w = self._after(m, f"{name}_w", self._behind_addresses(m, name, aw, write.w, domain), domain)
        port = "host" if name == "host" else "dev"
        layout = UserLayout(self.config, port)
        constants: dict[str, ValueLike] = {
            field: value for field, (_, value) in (CONSTANTS | self.config.sideband.values(port)).items()
        }
        for channel, source in (("aw", aw), ("ar", ar)):
            m.d.comb += [
                self.port(f"{bus}_{channel}id").eq(source.payload.id),
                self.port(f"{bus}_{channel}addr").eq(source.payload.address),
                self.port(f"{bus}_{channel}len").eq(source.payload.len),
                self.port(f"{bus}_{channel}size").eq(source.payload.size),
            ]
            user = data.View(layout, source.payload.user)
            said = constants | {field: user[field] for field in layout.members}
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

    def _in_turns(
        self, m: Module, name: str, read: ReadPort, write: WritePort
    ) -> tuple[stream.Interface, stream.Interface]:
        """The addresses of a port: as they come, or in groups of reads and of writes."""
        port, without = ("host", "device") if name == "host" else ("dev", "host")
        if not self.config.group_bursts or self.config.group_ports == without:
            return read.ar, write.aw
        m.submodules[f"{name}_turns"] = turns = BurstTurns(self.config.most_open(port))
        m.d.comb += [
            turns.group.eq(self.group_bursts),
            turns.read_ended.eq(read.r.valid & read.r.ready & read.r.payload.last),
            turns.write_ended.eq(write.b.valid & write.b.ready),
        ]
        passed = []
        for way, source, passes in (("read", read.ar, turns.reads), ("write", write.aw, turns.writes)):
            sink = stream.Signature(source.payload.shape()).create(path=(f"{name}_{way}_addresses",))
            m.d.comb += [
                sink.payload.eq(source.payload),
                sink.valid.eq(source.valid & passes),
                source.ready.eq(sink.ready & passes),
                getattr(turns, f"{way}_waits").eq(source.valid),
                getattr(turns, f"{way}_taken").eq(sink.valid & sink.ready),
            ]
            passed.append(sink)
        return passed[0], passed[1]

    def _connect_answers(
        self, m: Module, name: str, read: ReadPort, write: WritePort, domain: Domain
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
        self, m: Module, name: str, aw: stream.Interface, w: stream.Interface, domain: Domain
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
