"""Writes completions into a ring in host memory."""

from amaranth.hdl import C, Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..params import EngineConfig
from .axi import Response, WritePort
from .descriptor import Completion, StatusShape
from .fetcher import in_window, slot_address
from .fifo import Fifo
from .interfaces import Window
from .records import RECORD_BYTES, Status

__all__ = ["CompletionWriter"]

#: Completions whose write response has not come yet.
_UNDER_WAY = 4


class CompletionWriter(wiring.Component):
    """Each completion is one burst at the next slot of the ring, as soon as software has left that slot:
    while ``enable`` is high, at most ``2**ring_log2`` completions are ahead of ``tail``.

    ``head`` counts completions whose write response has come; it is 0 while ``enable`` is low and nothing is
    under way.

    ``written``
        High for one cycle with each write response; ``counts`` is then what ``interrupt`` was beside the
        completion.
    ``failed``
        High for one cycle: a write was answered with an error, or the slot is outside the window and the
        completion was dropped. Then ``status``, ``tag`` and ``address`` say what happened where.
    ``busy``
        The completion at the input is on its way and must stay.
    ``stop``, ``idle``, ``progress``, ``oldest``
        As for the fetcher.
    """

    def __init__(self, config: EngineConfig) -> None:
        self.config = config
        self.data_bits = config.host_data_bits
        self.address_bits = config.host_address_bits
        self.part_bits = min(self.data_bits, 8 * RECORD_BYTES)
        self.parts = 8 * RECORD_BYTES // self.part_bits
        super().__init__(
            {
                "enable": In(1),
                "base": In(64),
                "ring_log2": In(4),
                "tail": In(config.index_bits),
                "head": Out(config.index_bits),
                "window": In(Window),
                "completion": In(stream.Signature(Completion)),
                "interrupt": In(1),
                "port": Out(WritePort(self.data_bits, self.address_bits, config.format.word_bits)),
                "busy": Out(1),
                "stop": In(1),
                "idle": Out(1),
                "progress": Out(1),
                "oldest": Out(64),
                "written": Out(1),
                "counts": Out(1),
                "failed": Out(1),
                "status": Out(StatusShape),
                "tag": Out(32),
                "address": Out(64),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        aw, w, b = self.port.aw, self.port.w, self.port.b
        completion = self.completion.payload
        pending_shape = data.StructLayout({"tag": 32, "interrupt": 1, "address": 64})
        m.submodules.pending = pending = Fifo(pending_shape, _UNDER_WAY)
        under_way = Signal(range(_UNDER_WAY + 1))

        index = Signal.like(self.head)
        address = Signal(64)
        full, allowed, begin, refuse = Signal(), Signal(), Signal(), Signal()
        closing = Signal()
        part = Signal(range(self.parts))
        ahead = Signal.like(self.head)
        size_log2 = self.ring_log2
        m.d.comb += [
            address.eq(slot_address(self.base, index, size_log2)),
            ahead.eq(index - self.tail),
            full.eq((ahead >> size_log2) != 0),
            allowed.eq(in_window(address, self.window, self.address_bits)),
        ]

        # The completion itself stays at the input until its last beat has gone.
        last_part = Signal()
        parts = [
            completion.as_value()[n * self.part_bits : (n + 1) * self.part_bits] for n in range(self.parts)
        ]
        # The phase, the last bit of a completion, is this ring's own: 1 in its first pass.
        phase = ~index.bit_select(size_log2, 1)
        parts[-1] = Cat(parts[-1][:-1], phase)
        words = Signal(self.part_bits)
        with m.Switch(part):
            for number, value in enumerate(parts):
                with m.Case(number):
                    m.d.comb += words.eq(value)
        part_words = self.part_bits // self.config.format.word_bits
        strobes = C((1 << part_words) - 1, part_words)
        if self.data_bits == self.part_bits:
            m.d.comb += [w.payload.data.eq(words), w.payload.keep.eq(strobes)]
        else:
            upper = address[RECORD_BYTES.bit_length() - 1]
            m.d.comb += [
                w.payload.data.eq(Cat(words, words)),
                w.payload.keep.eq(Mux(upper, strobes << len(strobes), strobes)),
            ]
        m.d.comb += [
            aw.payload.address.eq(address),
            aw.payload.len.eq(self.parts - 1),
            aw.payload.size.eq((self.part_bits // 8).bit_length() - 1),
            last_part.eq(part == self.parts - 1),
            w.payload.last.eq(last_part),
            pending.input.payload.tag.eq(completion.tag),
            pending.input.payload.interrupt.eq(self.interrupt),
            pending.input.payload.address.eq(address),
        ]
        with m.FSM() as fsm:
            with m.State("wait"):
                with m.If(
                    self.completion.valid & self.enable & ~closing & ~self.stop & ~full & pending.input.ready
                ):
                    m.d.comb += [
                        begin.eq(allowed & (under_way != _UNDER_WAY)),
                        refuse.eq(~allowed & (under_way == 0)),
                    ]
                with m.If(begin):
                    m.next = "address"
                m.d.comb += self.completion.ready.eq(refuse)
            with m.State("address"):
                m.d.comb += [aw.valid.eq(1), pending.input.valid.eq(aw.ready)]
                with m.If(aw.ready):
                    m.next = "data"
            with m.State("data"):
                m.d.comb += [w.valid.eq(1), self.completion.ready.eq(w.ready & last_part)]
                with m.If(w.ready):
                    m.d.sync += part.eq(part + 1)
                    with m.If(last_part):
                        m.d.sync += [part.eq(0), index.eq(index + 1)]
                        m.next = "wait"

        oldest = pending.output.payload
        answer, error = Signal(), Signal()
        m.d.comb += [
            b.ready.eq(pending.output.valid),
            pending.output.ready.eq(b.valid),
            answer.eq(b.valid & b.ready),
            error.eq(b.payload.resp.as_value()[1]),
            self.written.eq(answer),
            self.counts.eq(oldest.interrupt),
            self.failed.eq(refuse | (answer & error)),
            self.busy.eq(~fsm.ongoing("wait")),
            self.idle.eq(~self.busy & (under_way == 0)),
            self.progress.eq((aw.valid & aw.ready) | (w.valid & w.ready) | answer),
            self.oldest.eq(Mux(pending.output.valid, oldest.address, address)),
        ]
        with m.If(refuse):
            m.d.comb += [
                self.status.eq(Status.WINDOW),
                self.tag.eq(completion.tag),
                self.address.eq(address),
            ]
        with m.Else():
            m.d.comb += [
                self.status.eq(
                    Mux(b.payload.resp == Response.DECERR, Status.COMPLETION_DECERR, Status.COMPLETION_SLVERR)
                ),
                self.tag.eq(oldest.tag),
                self.address.eq(oldest.address),
            ]
        m.d.sync += under_way.eq(under_way + begin - answer)
        with m.If(answer):
            m.d.sync += self.head.eq(self.head + 1)
        # A ring that was disabled, however shortly, begins anew, but not before the old one's answers are
        # there.
        with m.If((~self.enable | closing) & self.idle):
            m.d.sync += [self.head.eq(0), index.eq(0), closing.eq(0)]
        with m.Elif(~self.enable):
            m.d.sync += closing.eq(1)
        return m
