"""The engine's register block: the register file wired to :class:`~cdma.hdl.engine.control.interfaces.ControlSignature`."""

from amaranth.hdl import C, Cat, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import Out

from cdma.hdl.blocks.arithmetic import one_of
from cdma.hdl.blocks.elaboration import optional
from cdma.hdl.blocks.memories import PlainMemories, coding_of
from cdma.hdl.engine.channel.interfaces import CHANNELS
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.options import PROTECTIONS, SIDEBAND_TARGETS, WEIGHT_BITS
from cdma.hdl.spec.registers.map import register_map

from .interfaces import ControlSignature, CounterPort, EntryLayout
from .register_file import RegisterFile
from .windows import Denials


class _Reset(enum.Enum):
    """Where a soft reset is."""

    NONE = 0
    #: The engine has just got the command.
    BEGIN = 1
    #: The engine finishes its transactions.
    WAIT = 2
    #: The registers return to their reset values.
    FORGET = 3


class RegisterBlock(wiring.Component):
    """The registers of all pairs of the engine, and their interrupts.

    A soft reset keeps the channels from starting anything until the registers that would let them are clear.

    ``bus``: AXI4-Lite.
    ``control_0``, …: What each pair has of them.
    ``irq``: Of each pair the interrupt: a level, out of a flip-flop.
    ``alert``: With coded memories, of each pair: a word is lost, and `flips.lost` counts it. High until `clear_flips`.
    ``stored``, ``report``, ``changes``: The memory of registers: reads and writes of hardware, and all that is written
        into it.
    ``counters``, ``reader``: Reads a counter of the channel in bit 0 of ``reader`` and the pair in its other bits.
    """

    def __init__(self, config: EngineConfig) -> None:
        self.config = config
        self.registers = register_map(config)
        several = config.channels > 1
        self._file = RegisterFile(
            self.registers,
            register_map(config.of_pair(1)) if several else None,
            pairs=config.channels,
            pipelined=config.pipelined,
            protection=config.register_protection,
        )
        members = self._file.signature.members
        super().__init__(
            {
                **{name: members[name] for name in ("bus", "stored", "report", "changes")},
                **{
                    f"control_{number}": Out(ControlSignature(config.of_pair(number)))
                    for number in range(config.channels)
                },
                "irq": Out(config.channels),
                **optional(config.coded_memories, alert=Out(config.channels)),
                "counters": Out(CounterPort()),
                "reader": Out(range(2 * config.channels)),
            }
        )

    @property
    def controls(self) -> list[wiring.PureInterface]:
        """What each pair has of them."""
        return [getattr(self, f"control_{number}") for number in range(self.config.channels)]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        file = self._file
        m.submodules.register_file = self._checked(m, file, coding_of(platform))
        for name in ("bus", "stored", "report"):
            wiring.connect(m, wiring.flipped(getattr(self, name)), getattr(file, name))
        m.d.comb += self.changes.eq(file.changes)
        self._count(m, file)
        self._keep_tables(m)
        for pair, control in enumerate(self.controls):
            ports = file.of_pair(pair)
            forget = self._soft_reset(m, file, pair, control)
            self._shared(m, ports, control)
            self._push(m, ports, control, file.soft_reset[pair], forget)
            if self.config.register_protection != PROTECTIONS[0]:
                self._deny(m, file, pair)
            irqs = [self._channel(m, ports, control, name, forget, file.settled[pair]) for name in CHANNELS]
            m.d.comb += [
                ports.engine.status.offload_irq.eq(irqs[0]),
                ports.engine.status.prefetch_irq.eq(irqs[1]),
            ]
            m.d.sync += self.irq[pair].eq(irqs[0] | irqs[1])
        return m

    def _count(self, m: Module, file: RegisterFile) -> None:
        """Reads the counters of both channels through one port."""
        ports = [getattr(file, f"{name}_counters") for name in CHANNELS]
        m.d.comb += [
            self.counters.request.eq(ports[0].request | ports[1].request),
            self.counters.word.eq(ports[0].word),
            self.reader.eq(Cat(ports[1].request, file.reader)),
        ]
        for port in ports:
            m.d.comb += [
                port.done.eq(self.counters.done),
                port.data.eq(Mux(port.request, self.counters.data, 0)),
            ]

    def _checked(self, m: Module, file: RegisterFile, coding: PlainMemories) -> Elaboratable:
        """The register file; with coded memories the words that are found wrong, there and elsewhere, are counted."""
        coding = coding.part()
        built = coding.built(file)
        if not coding.coded:
            return built
        found, loses = coding.found(), coding.loses(lasting=True)
        read = Signal.like(file.stored.pair, name="stored_pair")
        m.d.sync += read.eq(file.stored.pair)
        for pair, control in enumerate(self.controls):
            engine = file.of_pair(pair).engine
            shown = engine.flips
            m.d.comb += control.register_lost.eq(loses & ((read == pair) | (file.shown == pair)))
            m.d.sync += self.alert[pair].eq(shown.lost != 0)
            for count, here, there in (
                (shown.corrected, found.corrected, control.word_corrected),
                (shown.lost, found.lost, control.word_lost),
            ):
                wrong = Signal(name=f"{count.name}_found")
                m.d.sync += wrong.eq(here | there)
                with m.If(engine.command.clear_flips):
                    m.d.sync += count.eq(0)
                with m.Elif(wrong & ~count.all()):
                    m.d.sync += count.eq(count + 1)
        return built

    def _soft_reset(self, m: Module, file: RegisterFile, pair: int, control: wiring.PureInterface) -> Signal:
        """Gives a signal that is high while rings must count as disabled although the registers are not clear yet. After
        it the register file is not settled until they are."""
        engine = file.of_pair(pair).engine
        state = Signal(_Reset)
        forget = Signal()
        with m.Switch(state):
            with m.Case(_Reset.NONE), m.If(control.soft_reset):
                m.d.sync += state.eq(_Reset.BEGIN)
            with m.Case(_Reset.BEGIN):
                m.d.sync += state.eq(_Reset.WAIT)
            with m.Case(_Reset.WAIT), m.If(~control.resetting):
                m.d.comb += forget.eq(1)
                m.d.sync += state.eq(_Reset.FORGET)
            with m.Case(_Reset.FORGET):
                m.d.comb += [forget.eq(1), file.soft_reset[pair].eq(1)]
                m.d.sync += state.eq(_Reset.NONE)
        # A second command during a soft reset changes nothing.
        m.d.comb += control.soft_reset.eq(engine.command.soft_reset & (state == _Reset.NONE))
        m.d.comb += engine.status.resetting.eq(
            control.soft_reset | (state != _Reset.NONE) | ~file.settled[pair]
        )
        return forget

    def _shared(self, m: Module, ports: wiring.PureInterface, control: wiring.PureInterface) -> None:
        """Connects what belongs to both channels; in the first pair, to those of all pairs."""
        m.d.comb += [
            control.clear_counters.eq(ports.engine.command.clear_counters),
            control.watchdog_cycles.eq(ports.engine.watchdog.value),
        ]
        if self.config.group_bursts:
            m.d.comb += control.group_bursts.eq(ports.engine.groups.value)
        for name in (f"{name}_shares" for name in CHANNELS):
            if name in control.signature.members:
                said, shares = getattr(control, name), getattr(ports, name)
                m.d.comb += said.period.eq(shares.period.cycles)
                self._tell_terms(m, name, said)

    def _word(self, name: str) -> int:
        """The word of a register in the memory."""
        return self._file.rows.words[self.registers[name].address]

    def _tell_terms(self, m: Module, name: str, said: wiring.PureInterface) -> None:
        """Tells of changes of weights and limits, and keeps the levels."""
        changes, term = self.changes, said.term
        weighs, limits = (changes.index == self._word(f"{name}.{array}[0]") for array in ("share", "limit"))
        m.d.comb += [
            term.row.eq(Cat(changes.pair, limits)),
            term.data.eq(changes.data),
            term.enable.eq(Mux(weighs | limits, changes.enable, 0)),
        ]
        levels = Signal.like(said.levels, name=f"{name}_levels")
        m.d.comb += said.levels.eq(levels)
        with m.If(weighs & changes.enable[WEIGHT_BITS // 8]):
            m.d.sync += levels[changes.pair].eq(changes.data[WEIGHT_BITS:])

    def _tell_entries(self, m: Module, name: str, entry: data.View) -> None:
        """Tells of changes of the tables of a direction."""
        changes = self.changes
        places = range(self.config.codec.table_size)
        here = [changes.index == self._word(f"{name}.table[{place}]") for place in places]
        m.d.comb += [
            entry.pair.eq(changes.pair),
            entry.place.eq(one_of(*((bit, C(place)) for place, bit in enumerate(here)))),
            entry.data.eq(changes.data),
            entry.enable.eq(Mux(Cat(here).any(), changes.enable, 0)),
        ]

    def _keep_tables(self, m: Module) -> None:
        """Has the tables of a pair that is alone in flip-flops, or tells of those of all pairs."""
        control = self.controls[0]
        for name in CHANNELS if self.config.codec.table_size else ():
            if self.config.channels > 1:
                self._tell_entries(m, name, getattr(control, f"{name}_shares").entry)
                continue
            entry = Signal(EntryLayout(self.config), name=f"{name}_entry")
            self._tell_entries(m, name, entry)
            values = getattr(control, name).values
            kept = Signal.like(values, name=f"{name}_values", reset_less=True)
            m.d.comb += values.eq(kept)
            for byte, enable in enumerate(entry.enable):
                bits = slice(8 * byte, 8 * byte + 8)
                with m.If(enable):
                    m.d.sync += Value.cast(kept[entry.place])[bits].eq(entry.data[bits])

    def _deny(self, m: Module, file: RegisterFile, pair: int) -> None:
        """Shows the accesses to the page of a pair that are refused."""
        denials = Denials(self.registers.address_bits)
        m.submodules[f"denials_{pair}" if self.config.channels > 1 else "denials"] = denials
        engine = file.of_pair(pair).engine
        shown = engine.denied
        for way in ("write", "read"):
            denied, mine = getattr(file, f"denied_{way}"), getattr(denials, way)
            m.d.comb += [
                mine.address.eq(denied.address),
                mine.prot.eq(denied.prot),
                mine.valid.eq(denied.valid & (denied.pair == pair)),
            ]
        m.d.comb += [
            denials.clear.eq(engine.command.clear_denied),
            shown.address.eq(denials.address),
            shown.prot.eq(denials.prot),
            shown.write.eq(denials.is_write),
            shown.count.eq(denials.count),
        ]

    def _push(
        self,
        m: Module,
        ports: wiring.PureInterface,
        control: wiring.PureInterface,
        soft_reset: Value,
        forget: Value,
    ) -> None:
        """Keeps a pushed descriptor pending until the channel has taken it; its registers are locked meanwhile.

        A soft reset forgets it: between the engine's reset and that of ``pending``, the engine must not see it again.
        """
        pending = Signal(len(CHANNELS))
        submit = Cat(ports.push.submit.offload, ports.push.submit.prefetch)
        m.d.comb += ports.push.status.pending.eq((pending | submit).any())
        for index, name in enumerate(CHANNELS):
            channel = getattr(control, name)
            m.d.comb += channel.push.eq(pending[index] & ~forget)
            with m.If(soft_reset):
                m.d.sync += pending[index].eq(0)
            with m.Elif(submit[index]):
                m.d.sync += pending[index].eq(1)
            with m.Elif(channel.push_taken):
                m.d.sync += pending[index].eq(0)

    def _channel(
        self,
        m: Module,
        ports: wiring.PureInterface,
        control: wiring.PureInterface,
        name: str,
        forget: Value,
        settled: Value,
    ) -> Value:
        """Connects one channel to its registers; gives whether it asserts the interrupt."""
        registers, channel = (getattr(each, name) for each in (ports, control))
        m.d.comb += [
            channel.enable.eq(registers.control.enable & ~ports.engine.status.resetting),
            channel.halt_on_error.eq(registers.control.halt_on_error),
            channel.resume.eq(registers.command.resume),
            channel.abort.eq(registers.command.abort_now),
            channel.error_clear.eq(registers.command.clear_error),
            channel.hold_counters.eq(registers.counter_hold.hold),
            registers.counter_hold.held.eq(channel.counters_held),
        ]
        if self.config.sideband_registers:
            # The channel says busy from the doorbell until the last response, so that an address that waits keeps its own.
            with m.If(~channel.status.busy):
                for target in SIDEBAND_TARGETS:
                    shown, written = (getattr(each, f"{target}_sideband") for each in (channel, registers))
                    m.d.sync += [shown[name].eq(getattr(written, name)) for name in shown.shape().members]
        if fields := self.config.records.owner_fields:
            owner = getattr(ports, f"{name}_owner")
            for field, (lsb, bits) in fields.items():
                m.d.comb += [
                    channel.owner_value[lsb : lsb + bits].eq(getattr(owner.value, field)),
                    channel.owner_mask[lsb : lsb + bits].eq(getattr(owner.mask, field)),
                ]
                with m.If(~channel.status.busy):
                    m.d.sync += channel.ring_owner[field].eq(getattr(owner.ring, field))
        forgotten = Signal(name=f"{name}_forgotten")
        m.d.sync += forgotten.eq(forget | ~settled)
        m.d.comb += [
            channel.ring_enable.eq(registers.control.ring_enable & ~forget & ~forgotten),
            channel.completions_enable.eq(registers.control.completion_ring_enable & ~forget & ~forgotten),
            registers.status.busy.eq(channel.status.busy),
            registers.status.halted.eq(channel.status.halted),
            registers.status.aborting.eq(channel.status.aborting),
            registers.status.stuck.eq(channel.status.stuck),
            registers.status.completion_waiting.eq(channel.completion_waiting),
            channel.pop.eq(registers.command.pop_completion),
            registers.error.valid.eq(channel.error_valid),
            registers.irq_status.completion.set.eq(channel.completion_irq),
            registers.irq_status.error.set.eq(channel.error_irq),
        ]
        completion = registers.irq_status.completion.value & registers.irq_enable.completion
        error = registers.irq_status.error.value & registers.irq_enable.error
        if self.config.msi:
            message, said = getattr(ports, f"{name}_message"), channel.message
            m.d.comb += [
                said.shown.eq(Mux(message.control.enable, Cat(completion, error), 0)),
                said.comes.eq(Cat(channel.completion_irq, channel.error_irq)),
                message.status.pending.eq(said.pending),
                message.status.failed.set.eq(said.failed),
                message.status.locked.eq(ports.host_window.lock.locked),
            ]
        return completion | error
