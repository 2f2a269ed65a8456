"""Keeps a channel's descriptors until it takes them: fetched ahead from its ring, or pushed."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cdma.hdl.axi.ports import Response
from cdma.hdl.engine.channel.descriptor import Request
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.records import RECORD_BYTES, Status

__all__ = ["Fetcher"]

_WORD = 32
_FAULTS = (Status.OK, Status.FETCH_SLVERR, Status.FETCH_DECERR, Status.WINDOW)
_REFUSED = _FAULTS.index(Status.WINDOW)


class Fetcher(wiring.Component):
    """The descriptors from index ``head`` up to ``tail``, up to ``config.descriptors`` ahead, in order, and one
    that was pushed, which goes first.

    ``wanted``, ``asked``
        The descriptor at index ``asked`` should be fetched. ``ask``: it is being, from ``address``.
        ``refuse``, only while nothing is ``under_way``: it must not be; it comes out as a request with that
        fault.
    ``beat``, ``last``, ``response``, ``data``
        What comes back from memory; always taken.
    ``word_valid``, ``word``
        ``data``, every 32 bits of it, is this word of the descriptor that is pushed; the last one completes it. Never
        together with ``beat`` or ``refuse``.
        ``pushed`` is then high until the channel has ``taken_push`` it.
    ``checking``
        The channel works on the request: it must stay.
    ``enable``
        While low, ``head`` is 0 and what was fetched is forgotten, but for a request that the channel works on.
    ``stop``
        While high nothing new is asked for.
    ``upper``
        Where a beat holds two records: the one that comes is the upper one.
    """

    def __init__(self, config: EngineConfig) -> None:
        self.config = config
        self.depth = config.descriptors
        self.part_bits = min(config.host_data_bits, 8 * RECORD_BYTES)
        self.parts = 8 * RECORD_BYTES // self.part_bits
        super().__init__(
            {
                "enable": In(1),
                "tail": In(config.index_bits),
                "head": Out(config.index_bits),
                "wanted": Out(1),
                "asked": Out(config.index_bits),
                "ask": In(1),
                "refuse": In(1),
                "address": In(64),
                "under_way": Out(1),
                "beat": In(1),
                "last": In(1),
                "response": In(Response),
                "data": In(self.part_bits),
                "upper": Out(1),
                "word_valid": In(1),
                "word": In(4),
                "pushed": Out(1),
                "taken_push": Out(1),
                "requests": Out(stream.Signature(Request)),
                "checking": In(1),
                "stop": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        request = self.requests
        shown = Signal()
        shown_push = Signal()
        running = Signal()
        inside = Signal()
        under_way = Signal(range(self.depth + 1))
        finished = Signal()
        m.d.comb += [
            inside.eq((self.enable | (self.checking & shown & ~shown_push)) & running),
            self.under_way.eq(under_way != 0),
            finished.eq(self.beat & self.last),
        ]
        with m.If(running):
            m.d.sync += running.eq(inside)
        with m.Elif(self.enable & ~self.under_way & ~self.stop):
            m.d.sync += running.eq(1)
        m.d.sync += under_way.eq(under_way + self.ask - finished)

        # Of the indexes, the low bits are places in the store. A ring may have fewer entries than the store.
        place_bits = min(len(self.head), self.depth.bit_length())
        next_ = Signal(place_bits)
        leaves = Signal()
        m.d.comb += self.wanted.eq(
            inside
            & self.enable
            & ~self.stop
            & (self.asked != self.tail)
            & ((self.asked - next_)[:place_bits] != self.depth)
        )
        with m.If(running):
            m.d.sync += [
                self.asked.eq(self.asked + (self.ask | self.refuse)),
                self.head.eq(self.head + (finished | self.refuse)),
                next_.eq(next_ + leaves),
            ]
        with m.Else():
            m.d.sync += [self.asked.eq(0), self.head.eq(0), next_.eq(0)]

        part = Signal(range(self.parts))
        fault = Signal(range(len(_FAULTS)))
        worst = Signal(range(len(_FAULTS)))
        m.d.comb += worst.eq(fault)
        with m.If(fault == 0), m.Switch(self.response):
            with m.Case(Response.SLVERR):
                m.d.comb += worst.eq(_FAULTS.index(Status.FETCH_SLVERR))
            with m.Case(Response.DECERR):
                m.d.comb += worst.eq(_FAULTS.index(Status.FETCH_DECERR))
        with m.If(self.beat):
            m.d.sync += [part.eq(Mux(self.last, 0, part + 1)), fault.eq(Mux(self.last, 0, worst))]
        if self.config.host_data_bits > self.part_bits:
            # Known from the time of asking; all records under way are of one ring.
            odd = Signal()
            with m.If(self.ask):
                m.d.sync += odd.eq(self.address[RECORD_BYTES.bit_length() - 1] ^ self.asked[0])
            m.d.comb += self.upper.eq(odd ^ self.head[0])

        # The store: the pushed descriptor lies behind the fetched ones.
        push_place = self.depth
        place = Signal(range(self.depth + 1))
        low = min(place_bits, self.depth.bit_length() - 1)
        write_place = Signal.like(place)
        read_place = Signal.like(place)
        m.d.comb += write_place.eq(Mux(self.word_valid, push_place, self.head[:low]))
        read = Signal()
        reading = {"addr": read_place, "en": read}
        record = []
        words = self.part_bits // _WORD
        for number in range(self.parts):
            memory = Memory(shape=self.part_bits, depth=self.depth + 1, init=[])
            m.submodules[f"part_{number}"] = memory
            write, out = memory.write_port(granularity=_WORD), memory.read_port(domain="sync")
            m.d.comb += [write.addr.eq(write_place), write.data.eq(self.data)]
            with m.If(self.word_valid):
                for lane in range(words):
                    m.d.comb += write.en[lane].eq(self.word == number * words + lane)
            with m.Else():
                m.d.comb += write.en.eq((self.beat & inside & (part == number)).replicate(words))
            m.d.comb += [getattr(out, name).eq(value) for name, value in reading.items()]
            record.append(out.data)
        m.submodules.faults = memory = Memory(shape=len(fault), depth=self.depth + 1, init=[])
        write, fault_out = memory.write_port(), memory.read_port(domain="sync")
        m.d.comb += [
            write.addr.eq(write_place),
            write.data.eq(Mux(self.word_valid, 0, Mux(self.refuse, _REFUSED, worst))),
            write.en.eq(self.word_valid | (inside & (finished | self.refuse))),
        ]
        m.d.comb += [getattr(fault_out, name).eq(value) for name, value in reading.items()]
        m.submodules.addresses = memory = Memory(
            shape=self.config.host_address_bits, depth=self.depth, init=[]
        )
        write, address_out = memory.write_port(), memory.read_port(domain="sync")
        m.d.comb += [
            write.addr.eq(self.asked[:low]),
            write.data.eq(self.address),
            write.en.eq(self.ask | self.refuse),
            address_out.addr.eq(read_place[: len(address_out.addr)]),
            address_out.en.eq(read),
        ]

        # What is shown is in the memories' read registers. A pushed descriptor takes the place of a fetched one
        # that the channel has not begun to look at.
        takes_over = Signal()
        fetched = Signal()
        after = (next_ + leaves)[:place_bits]
        m.d.comb += [
            takes_over.eq(self.pushed & shown & ~shown_push & ~self.checking),
            request.valid.eq(shown & (shown_push | inside) & ~takes_over),
            leaves.eq(request.valid & request.ready & ~shown_push),
            self.taken_push.eq(request.valid & request.ready & shown_push),
            fetched.eq(inside & (after != self.head[:place_bits])),
            read.eq(~shown | takes_over | (request.valid & request.ready)),
            read_place.eq(Mux(self.pushed & ~shown_push, push_place, after[:low])),
            request.payload.descriptor.eq(Cat(record)),
            request.payload.address.eq(address_out.data),
        ]
        with m.Switch(fault_out.data):
            for number, status in enumerate(_FAULTS):
                with m.Case(number):
                    m.d.comb += request.payload.fault.eq(status)
        with m.If(read):
            push_next = self.pushed & ~shown_push
            m.d.sync += [shown.eq(push_next | fetched), shown_push.eq(push_next)]
        with m.Elif(~inside & ~shown_push):
            m.d.sync += shown.eq(0)
        with m.If(self.taken_push):
            m.d.sync += self.pushed.eq(0)
        with m.Elif(self.word_valid & (self.word == 8 * RECORD_BYTES // _WORD - 1)):
            m.d.sync += self.pushed.eq(1)
        return m
