"""The counters of a channel: 64 bits each, kept in one small memory, with a single adder."""

from amaranth.hdl import C, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from .channel import ChannelEvents
from .counter_list import COUNTERS
from .descriptor import Completion
from .interfaces import CounterPort
from .records import Status

__all__ = ["Counters"]

_SLOTS = 16

#: The event that counts a cycle or a beat.
_EVENTS = {
    "cycles": "under_way",
    "read_beats": "read_beat",
    "write_beats": "write_beat",
    "stall_source": "stall_source",
    "stall_codec": "stall_codec",
    "stall_sink": "stall_sink",
}


class Counters(wiring.Component):
    """Counts ``events``, and completions as they pass from ``input`` to ``output``.

    The memory is visited round and round, a counter per cycle. Events wait in a few bits of their own for
    their turn; a completion waits at ``input`` until all its numbers are added, at most two rounds of 16
    cycles.

    ``words``, ``extra_error``
        Beside the completion: raw words that passed through the codec. An error that has no completion.
    ``clear``
        All counters are 0 within two rounds; so they are after a reset.
    ``read``
        A read waits for its counter's turn.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "events": In(ChannelEvents),
                "input": In(stream.Signature(Completion)),
                "words": In(32),
                "extra_error": In(1),
                "output": Out(stream.Signature(Completion)),
                "clear": In(1),
                "read": In(CounterPort()),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.memory = memory = Memory(shape=64, depth=_SLOTS, init=[])
        write, fetch = memory.write_port(), memory.read_port(domain="sync")
        names = [name for name, _ in COUNTERS]
        assert len(names) <= _SLOTS
        slot = Signal(range(_SLOTS))
        value = Signal(64)
        addend = Signal(33)
        # `slot` is written now; the next one is read for the next cycle.
        m.d.sync += slot.eq(slot + 1)
        m.d.comb += [fetch.addr.eq(slot + 1), fetch.en.eq(1), write.addr.eq(slot), write.en.eq(1)]

        # A clearing round goes from one slot 0 to the next; the first is after reset.
        asked = Signal(init=1)
        clearing = Signal(init=1)
        with m.If(slot == _SLOTS - 1):
            m.d.sync += [clearing.eq(asked), asked.eq(0)]
        with m.If(self.clear):
            m.d.sync += asked.eq(1)
        m.d.comb += [value.eq(Mux(clearing, 0, fetch.data + addend)), write.data.eq(value)]

        # So does the round that adds a completion, whose numbers stand at the input all the while.
        adding, added = Signal(), Signal()
        completion = self.input.payload
        with m.If(slot == _SLOTS - 1):
            m.d.sync += [adding.eq(self.input.valid & ~adding & ~added), added.eq(added | adding)]
        m.d.comb += [
            self.output.payload.eq(completion),
            self.output.valid.eq(self.input.valid & added),
            self.input.ready.eq(self.output.ready & added),
        ]
        with m.If(self.output.valid & self.output.ready):
            m.d.sync += added.eq(0)

        numbers = {
            "bytes_read": completion.bytes_read[:33],
            "bytes_written": completion.bytes_written[:33],
            "literals": completion.literals,
            "raw_words": self.words,
            "descriptors": C(1),
        }
        # Events since their counter's last turn.
        counts = {name: Signal(range(_SLOTS + 1), name=f"{name}_events") for name in (*_EVENTS, "errors")}
        for name, count in counts.items():
            event = self.extra_error if name == "errors" else self.events[_EVENTS[name]]
            m.d.sync += count.eq(Mux(slot == names.index(name), 0, count) + event)
        high = Signal(32)
        with m.Switch(slot):
            for number, name in enumerate(names):
                with m.Case(number):
                    if name in numbers:
                        m.d.comb += addend.eq(Mux(adding, numbers[name], 0))
                    elif name == "errors":
                        m.d.comb += addend.eq((adding & (completion.status != Status.OK)) + counts[name])
                    else:
                        m.d.comb += addend.eq(counts[name])

        with m.If(self.read.request):
            with m.If(self.read.word[0]):
                m.d.comb += [self.read.data.eq(high), self.read.done.eq(1)]
            with m.Elif(slot == self.read.word[1:]):
                m.d.comb += [self.read.data.eq(value[:32]), self.read.done.eq(1)]
                m.d.sync += high.eq(value[32:])
        return m
