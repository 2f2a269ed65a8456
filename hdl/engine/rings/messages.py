"""The bundles between pairs and their rings, and the words in which records are copied. What the sequencer of the rings
does: a list of jobs, and of the errors that it logs. The interrupts of both channels as writes of a word, one for each
event.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, enum, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.axi.ports import WritePort
from cdma.hdl.blocks.elaboration import optional
from cdma.hdl.blocks.memories import coding_of
from cdma.hdl.engine.channel.interfaces import CHANNELS
from cdma.hdl.engine.control.interfaces import (
    ChangeLayout,
    ChannelSignature,
    MessageSignature,
)
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.records import RECORD_BYTES
from cdma.hdl.spec.registers.description import REGISTER_BITS, REGISTER_BYTES
from cdma.hdl.spec.registers.map import register_map

#: Records are copied between registers and rings in words of this many bits, one per cycle.
WORD_BITS = 32
RECORD_WORDS = 8 * RECORD_BYTES // WORD_BITS


class RingClient(wiring.Signature):
    """A channel as its rings see it."""

    def __init__(self) -> None:
        super().__init__(
            {
                "offers": Out(1),  # the store has a descriptor of the ring, or a pushed one
                "waiting": In(1),  # a completion waits, which the rings are shown in a job of the queue
                "taken": Out(1),  # pulse: the rings have it
                "aborting": In(1),  # the channel drops what has started
                "settling": Out(1),  # completions from before the end of that are not in memory yet
                "halt": Out(1),  # pulse: halts the channel as an error does
                "extra_error": Out(1),  # pulse: an error without a completion
            }
        )


class RingLink(wiring.Signature):
    """A pair as the rings see it.

    ``offload``, ``offload_control``, ``prefetch``, ``prefetch_control``: Its channels, and the registers of each.
    ``busy``, ``stuck``: High, one bit per channel, while there is something to do, and while the port does not answer.
    ``stop``, ``stopped``, ``clear``: While ``stop`` is high, no job of the pair begins. Once nothing of it is in
        flight, ``stopped`` is high, and ``clear`` may reset what the rings keep of it.
    ``register_lost``, ``loses``: With coded memories: the registers have lost a word; and a word is lost that its
        transfers depend on.
    ``pending``: In an engine with a Q-channel: a ring has descriptors that are not fetched yet, or one is pushed.
    """

    def __init__(self, config: EngineConfig) -> None:
        super().__init__(
            {
                **{name: Out(RingClient()) for name in CHANNELS},
                **{f"{name}_control": In(ChannelSignature(config)) for name in CHANNELS},
                "busy": Out(2),
                "stuck": Out(2),
                "stop": In(1),
                "stopped": Out(1),
                "clear": In(1),
                **optional(config.coded_memories, register_lost=In(1), loses=Out(1)),
                **optional(config.quiescence, pending=Out(1)),
            }
        )


def queue_bits(config: EngineConfig) -> int:
    """Bits of the number of a queue, one direction of a pair: 2k is the offload of pair k, and 2k + 1 its prefetch."""
    return (2 * config.channels - 1).bit_length()


def select(number: Value, values: Iterable[Any]) -> Value:
    """The one of ``values`` with that number."""
    left = [Value.cast(value) for value in values]
    for bit in number:
        pairs = [left[at : at + 2] for at in range(0, len(left), 2)]
        left = [Mux(bit, pair[-1], pair[0]) if len(pair) > 1 else pair[0] for pair in pairs]
    return left[0]


class Job(enum.Enum):
    """A job of the sequencer."""

    #: Requests a descriptor from its ring.
    FETCH = 0
    #: Copies a pushed descriptor to where the fetched ones are.
    PUSH = 1
    #: Writes a completion into its ring.
    SEND = 2
    #: Writes a completion into the registers.
    SHOW = 3
    #: Writes an error into the registers: that of a completion, or one of a ring.
    LOG = 4


class Cause(enum.Enum):
    """The error that a ``LOG`` writes."""

    #: The completion at the input reports it.
    OWN = 0
    #: The slot of that completion is outside the window.
    REFUSED = 1
    #: The write of an earlier completion was answered with an error.
    ANSWER = 2
    #: The port does not answer the fetch of a descriptor.
    FETCH_LOST = 3
    #: The port does not answer the write of a completion.
    SEND_LOST = 4


#: The next job of a queue. It stays until the sequencer has done it, or until its reason is gone.
Wish = data.StructLayout({"valid": 1, "job": Job, "cause": Cause})


class Messages(wiring.Component):
    """Writes the messages of both channels, one at a time. An event that comes before the message of its channel has begun
    shares it, and one that comes later has another one. A message whose causes software has cleared does not begin.

    ``changes``: All that is written into the memory of registers.
    ``offload``, ``prefetch``: The causes of each channel, and what becomes of its messages.
    ``stop``: While high, none begins, and those that have not begun are forgotten.
    ``busy``: One is to be written, or its write is not answered yet.
    ``port``: The AXI4 port, with the number of a channel for ID.
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
                "changes": In(ChangeLayout()),
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
        begins = Signal()
        chosen = Signal()
        #: Whose message it is, or was.
        number = Signal()
        wants = [self._wants(m, name, begins & (chosen == index)) for index, name in enumerate(CHANNELS)]
        step = Signal(range(len(self.parts) + 1))
        reading = Signal()
        failed = Signal()
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
        coding = coding_of(platform)
        return coding.watch(copies) & (step != 0) if coding.coded else C(0)
