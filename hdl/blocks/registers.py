"""Beats, and registers in streams."""

from __future__ import annotations

from collections.abc import Callable

from amaranth.hdl import Cat, DomainRenamer, Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out


class StreamRegister(wiring.Component):
    """Holds one transfer.

    Throughput: one transfer per cycle. Latency: one cycle. ``ready`` of the input follows that of the output within the
    cycle.
    """

    def __init__(self, shape: ShapeLike) -> None:
        super().__init__({"input": In(stream.Signature(shape)), "output": Out(stream.Signature(shape))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.input.ready.eq(~self.output.valid | self.output.ready)
        with m.If(self.input.ready):
            m.d.sync += [self.output.valid.eq(self.input.valid), self.output.payload.eq(self.input.payload)]
        return m


class SkidBuffer(wiring.Component):
    """Holds up to two transfers, so that ready, valid and payload each come from flip-flops.

    Throughput: one transfer per cycle. Latency: one cycle. Valid is low in reset; ready is low too, and in the cycle
    after it. The payload has no reset.
    """

    def __init__(self, shape: ShapeLike) -> None:
        super().__init__({"input": In(stream.Signature(shape)), "output": Out(stream.Signature(shape))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        offered = Signal.like(self.output.payload, reset_less=True)
        spare = Signal.like(self.input.payload, reset_less=True)
        spare_full = Signal()
        accepted = Signal()
        m.d.comb += [accepted.eq(self.input.valid & self.input.ready), self.output.payload.eq(offered)]
        with m.If(~self.output.valid | self.output.ready):
            m.d.sync += [
                self.output.valid.eq(spare_full | accepted),
                spare_full.eq(0),
                self.input.ready.eq(1),
            ]
            with m.If(spare_full):
                m.d.sync += offered.eq(spare)
            with m.Else():
                m.d.sync += offered.eq(self.input.payload)
        with m.Elif(accepted):
            m.d.sync += [spare_full.eq(1), self.input.ready.eq(0)]
        # While it is not full it loads any payload: one flip-flop enables all of it.
        with m.If(~spare_full):
            m.d.sync += spare.eq(self.input.payload)
        return m


def slice_before(
    m: Module, name: str, sink: stream.Interface, domain: str = "sync", *, when: object = True
) -> stream.Interface:
    """Puts a skid buffer before the input ``sink`` of a block; the input for its producer. Without ``when``: ``sink``."""
    if not when:
        return sink
    buffer = SkidBuffer(sink.payload.shape())
    m.submodules[name] = DomainRenamer(domain)(buffer)
    wiring.connect(m, buffer.output, sink)
    return buffer.input


def slice_after(
    m: Module,
    name: str,
    source: stream.Interface,
    domain: str = "sync",
    *,
    kind: Callable[[ShapeLike], wiring.Component] = SkidBuffer,
    when: object = True,
) -> stream.Interface:
    """Puts a buffer of that ``kind`` after the output ``source`` of a block; the output for its consumer. Without ``when``,
    ``source`` itself."""
    if not when:
        return source
    buffer = kind(source.payload.shape())
    m.submodules[name] = DomainRenamer(domain)(buffer)
    wiring.connect(m, source, buffer.input)
    return buffer.output


class ElasticBuffer(wiring.Component):
    """Holds up to two transfers. Ready and valid come from flip-flops, and the payload from a multiplexer after them.

    Throughput: one transfer per cycle. Latency: one cycle. Valid is low in reset; ready is low too, and in the cycle
    after it.

    In a :class:`.SkidBuffer`, ``output.ready`` reaches all flip-flops of the payload, and the payload comes from them. In
    this buffer it reaches a few: each register loads any payload while it is empty, and a flip-flop selects the one that
    is offered. A wide payload has parts with flip-flops of their own, so that none of their wires crosses an FPGA.

    ``part_bits``: Most bits of a part.
    """

    def __init__(self, shape: ShapeLike, *, part_bits: int = 128) -> None:
        self.part_bits = part_bits
        super().__init__({"input": In(stream.Signature(shape)), "output": Out(stream.Signature(shape))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        source, sink = Value.cast(self.input.payload), Value.cast(self.output.payload)
        for low in range(0, max(1, len(source)), self.part_bits):
            part = slice(low, low + self.part_bits)
            name = f"_{low}" if low else ""
            ready, valid = (Signal(name=f"{which}{name}") for which in ("ready", "valid"))
            self._add_part(m, name, ready, valid, source[part], sink[part])
            if not low:
                m.d.comb += [self.input.ready.eq(ready), self.output.valid.eq(valid)]
        return m

    def _add_part(
        self, m: Module, name: str, ready: Signal, valid: Signal, source: Value, sink: Value
    ) -> None:
        """Adds the registers of some bits. Every part depends on its own flip-flops, or synthesis would merge them."""
        full = Signal(2, name=f"full{name}")
        full_next = Signal(2, name=f"full_next{name}")
        into = Signal(name=f"into{name}")
        offered = Signal(name=f"offered{name}")
        put = Signal(name=f"put{name}")
        leaves = Signal(name=f"leaves{name}")
        kept = [Signal(len(source), name=f"kept_{number}{name}", reset_less=True) for number in range(2)]
        m.d.comb += [put.eq(self.input.valid & ready), leaves.eq(valid & self.output.ready)]
        for number, register in enumerate(kept):
            goes, comes = leaves & (offered == number), put & (into == number)
            m.d.comb += full_next[number].eq((full[number] & ~goes) | comes)
            with m.If(~full[number]):
                m.d.sync += register.eq(source)
        m.d.sync += [
            full.eq(full_next),
            into.eq(into ^ put),
            offered.eq(offered ^ leaves),
            ready.eq(~full_next.all()),
            valid.eq(full_next.any()),
        ]
        m.d.comb += sink.eq(Mux(offered, kept[1], kept[0]))


class Beat(data.StructLayout):
    """One beat of a packet. Words are packed from lane 0, and only the last beat of a packet may be partial.

    ``data``: Words of all ``lanes``.
    ``keep``: The words that are valid, one bit each.
    ``last``: Ends the packet.
    """

    def __init__(self, word_bits: int, lanes: int) -> None:
        super().__init__({"data": data.ArrayLayout(word_bits, lanes), "keep": lanes, "last": 1})
        self.word_bits = word_bits
        self.lanes = lanes


def malformed(beat: Value) -> Value:
    """Whether a beat is empty, has a hole, or is partial without being the last."""
    keep = beat.keep
    hole = (keep[1:] & ~keep[:-1]).any()
    return hole | ~keep[0] | (~beat.last & ~keep[-1])


def count_kept(keep: Value) -> Value:
    """The number of ones in ``keep``, which are its lowest bits."""
    # Bit n of the number: an odd multiple of 2**n is reached.
    return Cat(keep[(1 << bit) - 1 :: 1 << bit].xor() for bit in range(len(keep).bit_length()))


class BeatSlice(wiring.Component):
    """A :class:`.SkidBuffer` for beats, with their data in an :class:`.ElasticBuffer` of the same handshakes.

    So ``output.ready`` does not reach the flip-flops of the data, and ``keep`` and ``last``, which decide, come from
    flip-flops.
    """

    def __init__(self, beat: Beat) -> None:
        self.beat = beat
        super().__init__({"input": In(stream.Signature(beat)), "output": Out(stream.Signature(beat))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        source, sink = self.input, self.output
        ends = data.StructLayout({name: self.beat[name].shape for name in ("keep", "last")})
        m.submodules.ends = decides = SkidBuffer(ends)
        m.submodules.data = carries = ElasticBuffer(self.beat["data"].shape)
        m.d.comb += [
            source.ready.eq(decides.input.ready),
            sink.valid.eq(decides.output.valid),
            sink.payload.data.eq(carries.output.payload),
            carries.input.payload.eq(source.payload.data),
        ]
        for name in ("keep", "last"):
            m.d.comb += [
                decides.input.payload[name].eq(source.payload[name]),
                sink.payload[name].eq(decides.output.payload[name]),
            ]
        for buffer in (decides, carries):
            m.d.comb += [buffer.input.valid.eq(source.valid), buffer.output.ready.eq(sink.ready)]
        return m
