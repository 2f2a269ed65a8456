"""The interrupts of both channels as writes of a word, one for each event."""

from amaranth.hdl import C, Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.axi.ports import WritePort
from cdma.hdl.blocks.coded_memory import MemoryCoding
from cdma.hdl.engine.channel.interfaces import CHANNELS
from cdma.hdl.engine.control.interfaces import MessageSignature
from cdma.hdl.engine.control.register_ports import ChangeLayout
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.registers.description import REGISTER_BITS, REGISTER_BYTES
from cdma.hdl.spec.registers.map import register_map

__all__ = ["Messages"]


class Messages(wiring.Component):
    """Writes the messages of both channels, one at a time. An event that comes before the message of its channel has begun
    shares it, and one that comes later has another one. A message whose causes software has cleared does not begin.

    ``changes``
        All that is written into the memory of registers.
    ``offload``, ``prefetch``
        The causes of each channel, and what becomes of its messages.
    ``stop``
        While high, none begins, and those that have not begun are forgotten.
    ``busy``
        One is to be written, or its write is not answered yet.
    ``port``
        The AXI4 port, with the number of a channel for ID.
    """

    def __init__(self, config: EngineConfig) -> None:
        self.registers = register_map(config)
        self.moved_bits = config.moved_bits
        #: The registers of a message, in the order in which they are read. A port of few address bits has no upper half.
        self.parts = [
            part
            for part in ("address_low", "address_high", "data")
            if config.host_address_bits > REGISTER_BITS or part != "address_high"
        ]
        super().__init__(
            {
                "changes": In(ChangeLayout(len(self.registers.kept))),
                **{name: In(MessageSignature()) for name in CHANNELS},
                "stop": In(1),
                "busy": Out(1),
                "port": Out(
                    WritePort(config.host_data_bits, config.host_address_bits, config.moved_bits, id_bits=1)
                ),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        aw, w, b = self.port.aw, self.port.w, self.port.b
        begins, chosen = Signal(), Signal()
        #: Whose message it is, or was.
        number = Signal()
        wants = [self._wants(m, name, begins & (chosen == index)) for index, name in enumerate(CHANNELS)]
        step = Signal(range(len(self.parts) + 1))
        reading, failed = Signal(), Signal()
        lost = self._read(m, platform, number, step, reading)
        with m.FSM() as fsm:
            with m.State("rest"):
                # Both channels have their turn.
                m.d.comb += [
                    chosen.eq(wants[1] & ~(wants[0] & number)),
                    begins.eq((wants[0] | wants[1]) & ~self.stop),
                ]
                with m.If(begins):
                    m.d.sync += [number.eq(chosen), step.eq(0)]
                    m.next = "read"
            with m.State("read"):
                m.d.comb += [reading.eq(step != len(self.parts)), failed.eq(lost)]
                m.d.sync += step.eq(step + 1)
                with m.If(lost):
                    m.next = "rest"
                with m.Elif(~reading):
                    m.next = "address"
            with m.State("address"):
                m.d.comb += aw.valid.eq(1)
                with m.If(aw.ready):
                    m.next = "data"
            with m.State("data"):
                m.d.comb += w.valid.eq(1)
                with m.If(w.ready):
                    m.next = "answer"
            with m.State("answer"):
                m.d.comb += [b.ready.eq(1), failed.eq(b.valid & Value.cast(b.payload.resp)[1])]
                with m.If(b.valid):
                    m.next = "rest"
        resting = fsm.ongoing("rest")
        m.d.comb += [
            aw.payload.id.eq(number),
            aw.payload.size.eq(exact_log2(REGISTER_BYTES)),
            w.payload.last.eq(1),
            self.busy.eq(~resting | wants[0] | wants[1]),
        ]
        for index, name in enumerate(CHANNELS):
            channel, mine = getattr(self, name), number == index
            m.d.comb += [
                channel.pending.eq(wants[index] | (~resting & mine)),
                channel.failed.eq(failed & mine),
            ]
        return m

    def _wants(self, m: Module, name: str, begins: Value) -> Signal:
        """Whether a message of that channel is to be written, until it ``begins``."""
        channel = getattr(self, name)
        shown = Signal.like(channel.shown, name=f"{name}_shown")
        came = Signal.like(channel.comes, name=f"{name}_came")
        owed, wants = Signal(name=f"{name}_owed"), Signal(name=f"{name}_wants")
        m.d.sync += [shown.eq(channel.shown), came.eq(channel.comes)]
        # An event is a bit of the status in the cycle after, whether it was one before or not.
        with m.If(self.stop):
            m.d.sync += owed.eq(0)
        with m.Elif((channel.shown & (came | ~shown)).any()):
            m.d.sync += owed.eq(1)
        with m.Elif(begins | ~channel.shown.any()):
            m.d.sync += owed.eq(0)
        m.d.comb += wants.eq(owed & channel.shown.any())
        return wants

    def _read(self, m: Module, platform: object, number: Value, step: Value, reading: Value) -> Value:
        """Reads a part of the message of channel ``number`` in each ``step``, and gives it all to the port; says
        whether that of the step before is lost."""
        m.submodules.copies = copies = Memory(shape=REGISTER_BITS, depth=8, init=[])
        write, read = copies.write_port(granularity=8), copies.read_port(domain="sync")
        m.d.comb += [
            write.data.eq(self.changes.data),
            read.addr.eq(Cat(step, C(0, 2 - len(step)), number)),
            read.en.eq(reading),
        ]
        with m.Switch(self.changes.index):
            for channel, name in enumerate(CHANNELS):
                for place, part in enumerate(self.parts):
                    with m.Case(self.registers.word(f"{name}_message.{part}")):
                        m.d.comb += [
                            write.addr.eq(place | channel << 2),
                            write.en.eq(self.changes.enable),
                        ]
        address, w = Signal.like(self.port.aw.payload.address), self.port.w
        for place in range(len(self.parts) - 1):
            with m.If(step == place + 1):
                m.d.sync += address.word_select(place, REGISTER_BITS).eq(read.data)
        words = len(w.payload.data) // REGISTER_BITS
        strobes = REGISTER_BITS // self.moved_bits
        lane = address[exact_log2(REGISTER_BYTES) :][: exact_log2(words)]
        m.d.comb += [
            self.port.aw.payload.address.eq(address),
            w.payload.data.eq(read.data.replicate(words)),
            w.payload.keep.eq(Cat((lane == word).replicate(strobes) for word in range(words))),
        ]
        return platform.watch(copies) & (step != 0) if isinstance(platform, MemoryCoding) else C(0)
