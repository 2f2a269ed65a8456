"""The engine's register block: the register file wired to :class:`~cdma.hdl.engine.control.interfaces.ControlSignature`."""

from amaranth.hdl import Cat, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib import enum, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.axi.ports import AxiLiteSignature
from cdma.hdl.blocks.elaboration import optional
from cdma.hdl.blocks.memories import PlainMemories, coding_of
from cdma.hdl.engine.channel.interfaces import CHANNELS
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.options import PROTECTIONS, SIDEBAND_TARGETS
from cdma.hdl.spec.registers.map import register_map

from .interfaces import ControlSignature
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
    """The registers of the engine, and its interrupt.

    A soft reset keeps the channels from starting anything until the registers that would let them are clear.

    ``bus``
        AXI4-Lite.
    ``control``
        The engine.
    ``irq``
        The interrupt: a level, out of a flip-flop.
    ``alert``
        With coded memories: a word is lost, and `flips.lost` counts it. High until `clear_flips`.
    """

    def __init__(self, config: EngineConfig) -> None:
        self.config = config
        self.registers = register_map(config)
        super().__init__(
            {
                "bus": In(AxiLiteSignature(self.registers.address_bits)),
                "control": Out(ControlSignature(config)),
                "irq": Out(1),
                **optional(config.coded_memories, alert=Out(1)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        file = RegisterFile(
            self.registers, pipelined=self.config.pipelined, protection=self.config.register_protection
        )
        m.submodules.register_file = self._checked(m, file, coding_of(platform))
        wiring.connect(m, wiring.flipped(self.bus), file.bus)
        wiring.connect(m, wiring.flipped(self.control.stored), file.stored)
        wiring.connect(m, wiring.flipped(self.control.report), file.report)
        m.d.comb += self.control.changes.eq(file.changes)
        forget = self._soft_reset(m, file)
        self._shared(m, file)
        self._push(m, file, forget)
        if self.config.register_protection != PROTECTIONS[0]:
            self._deny(m, file)
        irqs = [self._channel(m, file, name, forget) for name in CHANNELS]
        m.d.comb += [file.engine.status.offload_irq.eq(irqs[0]), file.engine.status.prefetch_irq.eq(irqs[1])]
        m.d.sync += self.irq.eq(irqs[0] | irqs[1])
        return m

    def _checked(self, m: Module, file: RegisterFile, coding: PlainMemories) -> Elaboratable:
        """The register file; with coded memories the words that are found wrong, there and elsewhere, are counted."""
        coding = coding.part()
        built = coding.built(file)
        if not coding.coded:
            return built
        found = coding.found()
        m.d.comb += self.control.register_lost.eq(coding.loses(lasting=True))
        shown = file.engine.flips
        m.d.sync += self.alert.eq(shown.lost != 0)
        for count, here, there in (
            (shown.corrected, found.corrected, self.control.word_corrected),
            (shown.lost, found.lost, self.control.word_lost),
        ):
            wrong = Signal(name=f"{count.name}_found")
            m.d.sync += wrong.eq(here | there)
            with m.If(file.engine.command.clear_flips):
                m.d.sync += count.eq(0)
            with m.Elif(wrong & ~count.all()):
                m.d.sync += count.eq(count + 1)
        return built

    def _soft_reset(self, m: Module, file: RegisterFile) -> Signal:
        """Gives a signal that is high while rings must count as disabled although the registers are not clear yet. After
        it the register file is not settled until they are."""
        control = self.control
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
                m.d.comb += [forget.eq(1), file.soft_reset.eq(1)]
                m.d.sync += state.eq(_Reset.NONE)
        # A second command during a soft reset changes nothing.
        m.d.comb += control.soft_reset.eq(file.engine.command.soft_reset & (state == _Reset.NONE))
        m.d.comb += file.engine.status.resetting.eq(
            control.soft_reset | (state != _Reset.NONE) | ~file.settled
        )
        return forget

    def _shared(self, m: Module, file: RegisterFile) -> None:
        """Connects what belongs to both channels, and the counters."""
        control = self.control
        m.d.comb += [
            control.clear_counters.eq(file.engine.command.clear_counters),
            control.watchdog_cycles.eq(file.engine.watchdog.value),
        ]
        for name in CHANNELS:
            port = f"{name}_counters"
            wiring.connect(m, getattr(file, port), wiring.flipped(getattr(control, port)))
            if self.config.channels > 1:
                said, shares = (getattr(each, f"{name}_shares") for each in (control, file))
                m.d.comb += said.period.eq(shares.period.cycles)
                for number in range(self.config.channels):
                    m.d.comb += [
                        said.share[number].weight.eq(shares.share.weight[number]),
                        said.share[number].level.eq(shares.share.priority[number]),
                        said.limit[number].eq(shares.limit.units[number]),
                    ]

    def _deny(self, m: Module, file: RegisterFile) -> None:
        """Shows the accesses that are refused."""
        m.submodules.denials = denials = Denials(self.registers.address_bits)
        shown = file.engine.denied
        m.d.comb += [
            denials.write.eq(file.denied_write),
            denials.read.eq(file.denied_read),
            denials.clear.eq(file.engine.command.clear_denied),
            shown.address.eq(denials.address),
            shown.prot.eq(denials.prot),
            shown.write.eq(denials.is_write),
            shown.count.eq(denials.count),
        ]

    def _push(self, m: Module, file: RegisterFile, forget: Value) -> None:
        """Keeps a pushed descriptor pending until the channel has taken it; its registers are locked meanwhile.

        A soft reset forgets it: between the engine's reset and that of ``pending``, the engine must not see it again.
        """
        pending = Signal(len(CHANNELS))
        submit = Cat(file.push.submit.offload, file.push.submit.prefetch)
        m.d.comb += file.push.status.pending.eq((pending | submit).any())
        for index, name in enumerate(CHANNELS):
            channel = getattr(self.control, name)
            m.d.comb += channel.push.eq(pending[index] & ~forget)
            with m.If(file.soft_reset):
                m.d.sync += pending[index].eq(0)
            with m.Elif(submit[index]):
                m.d.sync += pending[index].eq(1)
            with m.Elif(channel.push_taken):
                m.d.sync += pending[index].eq(0)

    def _channel(self, m: Module, file: RegisterFile, name: str, forget: Value) -> Value:
        """Connects one channel to its registers; gives whether it asserts the interrupt."""
        registers = getattr(file, name)
        channel = getattr(self.control, name)
        m.d.comb += [
            channel.enable.eq(registers.control.enable & ~file.engine.status.resetting),
            channel.halt_on_error.eq(registers.control.halt_on_error),
            channel.resume.eq(registers.command.resume),
            channel.abort.eq(registers.command.abort_now),
            channel.error_clear.eq(registers.command.clear_error),
            channel.ring_log2.eq(registers.ring_size.log2),
            channel.hold_counters.eq(registers.counter_hold.hold),
            registers.counter_hold.held.eq(channel.counters_held),
            channel.coalesce_count.eq(registers.coalesce_count.value),
        ]
        if self.config.codec.table_size:
            m.d.comb += channel.values.eq(Cat(registers.table.entry))
        if self.config.sideband_registers:
            # The channel says busy from the doorbell until the last response, so that an address that waits keeps its own.
            with m.If(~channel.status.busy):
                for target in SIDEBAND_TARGETS:
                    shown, written = (getattr(each, f"{target}_sideband") for each in (channel, registers))
                    m.d.sync += [shown[name].eq(getattr(written, name)) for name in shown.shape().members]
        if fields := self.config.records.owner_fields:
            owner = getattr(file, f"{name}_owner")
            for field, (lsb, bits) in fields.items():
                m.d.comb += [
                    channel.owner_value[lsb : lsb + bits].eq(getattr(owner.value, field)),
                    channel.owner_mask[lsb : lsb + bits].eq(getattr(owner.mask, field)),
                ]
                with m.If(~channel.status.busy):
                    m.d.sync += channel.ring_owner[field].eq(getattr(owner.ring, field))
        forgotten = Signal(name=f"{name}_forgotten")
        m.d.sync += forgotten.eq(forget | ~file.settled)
        for port, prefix, enable in (
            (channel.ring, "ring", registers.control.ring_enable),
            (channel.completions, "completion", registers.control.completion_ring_enable),
        ):
            m.d.comb += [
                port.enable.eq(enable & ~forget & ~forgotten),
                port.tail.eq(getattr(registers, f"{prefix}_tail").value),
                getattr(registers, f"{prefix}_head").value.eq(port.head),
            ]

        m.d.comb += [
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
            message, said = getattr(file, f"{name}_message"), channel.message
            m.d.comb += [
                said.shown.eq(Mux(message.control.enable, Cat(completion, error), 0)),
                said.comes.eq(Cat(channel.completion_irq, channel.error_irq)),
                message.status.pending.eq(said.pending),
                message.status.failed.set.eq(said.failed),
                message.status.locked.eq(file.host_window.lock.locked),
            ]
        return completion | error
