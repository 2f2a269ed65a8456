"""The engine as a module with AXI names: ``aclk``, ``aresetn``, ``m_axi_dev_*``, ``m_axi_host_*``,
``s_axil_*``.
"""

from collections.abc import Mapping, Sequence

from amaranth.hdl import (
    C,
    Cat,
    Const,
    DomainRenamer,
    Module,
    Signal,
    Value,
)
from amaranth.lib import data, stream, wiring

from cdma.hdl.axi.crossings import LiteCrossing
from cdma.hdl.blocks.clocks import Synchroniser
from cdma.hdl.blocks.memories import MemoryCoding, elaborated
from cdma.hdl.blocks.registers import SkidBuffer
from cdma.hdl.engine.channel.interfaces import CHANNELS, ChannelStatus
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.options import reset_of
from cdma.hdl.spec.records import RECORD_BYTES
from cdma.hdl.spec.registers.map import register_map
from cdma.hdl.verilog.shell import Shell

from .core import EngineCore
from .managed import HostIds, ManagedEngine
from .pins import LITE_FIELDS, LITE_REQUESTS, controls
from .shell import AxiShell, Domain

#: Words of the deepest memory that is no buffer of data, and of none of bursts in flight.
_QUEUES = 128


class Engine(AxiShell):
    """The engine with registers, rings, ``irq`` and, with coded memories, ``alert``."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        coding = self._coding()
        self._reset(m, coding)
        engine = ManagedEngine(self.config, self._clocking())
        m.submodules.engine = engine if coding is None else elaborated(engine, coding)
        if self.config.group_bursts:
            self.group_bursts = engine.group_bursts
        self._connect_memories(m, engine)
        bus, domain = engine.bus, self._core
        levels: Sequence[Value] = _levels(self.config, engine)
        if self.config.domains.registers_cross:
            bus, levels, domain = self._cross_registers(m, engine.bus, levels)
        for pin, level in zip(_levels(self.config, self), levels, strict=True):
            if self.slices_out:
                m.d[domain.name] += pin.eq(level)
            else:
                m.d.comb += pin.eq(level & domain.runs.replicate(len(pin)))
        takes: dict[str, Value] = dict.fromkeys(LITE_REQUESTS, domain.runs)
        if self.config.quiescence:
            inputs = {channel: f"s_axil_{channel}" for channel in LITE_REQUESTS}
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
        for channel in (*LITE_REQUESTS, "b", "r"):
            self._connect_lite(m, bus, channel, takes.get(channel), domain)
        return m

    def _host_ids(self) -> Sequence[int]:
        return sorted(HostIds.of(self.config).all)

    def _cross_registers(
        self, m: Module, bus: wiring.PureInterface, levels: Sequence[Value]
    ) -> tuple[wiring.PureInterface, Sequence[Value], Domain]:
        """Takes the bus of the registers, and levels, to another clock; gives them there, and their domain."""
        clock = self.config.domains.registers
        if clock == self.config.domains.host and self.config.domains.host_crosses:
            domain = Domain("host", self.port(reset_of(clock)))
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

    def _accesses(self, m: Module, domain: Domain) -> dict[str, Signal]:
        """The requests of accesses to registers that are not answered at the port."""
        counts = {}
        for request, answer in LITE_REQUESTS.items():
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
        words = len(register_map(config).kept) << (config.channels - 1).bit_length()
        deepest = max(config.read_buffer, config.write_buffer, config.outstanding, stripes, words, _QUEUES)
        return MemoryCoding(config.memories_protect, deepest, config.smallest_memory)

    def _connect_lite(
        self,
        m: Module,
        bus: wiring.PureInterface,
        channel: str,
        takes: Value | None,
        domain: Domain,
    ) -> None:
        """A channel of AXI4-Lite: a request into the register block while it ``takes`` any, or a response out of it."""
        request = takes is not None
        fields = LITE_FIELDS[channel]
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


class BareEngine(AxiShell):
    """The engine without registers: logic gives it descriptors and takes completions, 64 bytes each."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._reset(m)
        m.submodules.core = core = EngineCore(self.config, self._clocking())
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
        for signal in controls(self.config):
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


def _levels(config: EngineConfig, of: Engine | ManagedEngine) -> list[Signal]:
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
