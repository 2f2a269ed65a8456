"""The error-bounded stages: numbers to integers and the report of those out of range, and integers to numbers.

Then the stages as designs of their own, and their Verilog.
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.blocks.arithmetic import WideCounter, popcount
from cdma.hdl.blocks.elaboration import copies, optional
from cdma.hdl.blocks.registers import Beat
from cdma.hdl.spec.settings import check_choice
from cdma.hdl.spec.stage import STAGES, Quantisation, StageConfig
from cdma.hdl.verilog.emit import Verilog, emit, wished
from cdma.hdl.verilog.names import kept_words
from cdma.hdl.verilog.shell import CLOCK_AND_RESET, Port, Shell, axis_ports


class Scaled(data.StructLayout):
    """The magnitude of a number in steps.

    ``negative``: The sign.
    ``whole``, ``half``, ``rest``: The whole steps, the bit after them, and whether a bit after that is set.
    ``beyond``, ``nan``: The number is too large, infinite or NaN, and the fields above are undefined; it is NaN.
    ``nonzero``: The number is not zero; in a form that keeps such numbers from 0.
    """

    def __init__(self, form: Quantisation) -> None:
        super().__init__(
            {
                "negative": 1,
                "whole": form.bits - 1,
                "half": 1,
                "rest": 1,
                "beyond": 1,
                "nan": 1,
                **optional(form.keep_nonzero, nonzero=1),
            }
        )


class Scaling(wiring.Component):
    """Divides a number by the step: a shift by the difference of two exponents. Combinational.

    ``word``: The number.
    ``top``: The stored exponent of the numbers whose leading bit is the first of ``bits - 1`` whole ones: ``bits - 2``
        more than that of the step.
    ``scaled``: The number in steps.
    """

    def __init__(self, form: Quantisation) -> None:
        self.form = form
        number = form.number_type
        super().__init__(
            {"word": In(number.bits), "top": In(number.exponent_bits), "scaled": Out(Scaled(form))}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        number, bits = self.form.number_type, self.form.bits
        fraction = self.word[: number.fraction_bits]
        stored = self.word[number.fraction_bits : -1]
        normal = stored.any()
        # A subnormal number has the exponent of the smallest normal ones, and no leading one.
        exponent = Signal(number.exponent_bits)
        m.d.comb += exponent.eq(Cat(stored[0] | ~normal, stored[1:]))
        right = Signal(number.exponent_bits + 1)
        m.d.comb += right.eq(self.top - exponent)
        beyond = right[-1]
        few = exact_log2(bits)
        # After a longer shift not even the bit after the whole steps is left.
        vanishes = right[few:].any()
        kept = Cat(fraction, normal)
        shifted, rest = kept[-bits:], kept[:-bits].any()
        for level in range(few):
            by = 1 << level
            rest = rest | (right[level] & shifted[:by].any())
            shifted = Mux(right[level], shifted[by:], shifted)
        m.d.comb += [
            self.scaled.negative.eq(self.word[-1]),
            Cat(self.scaled.half, self.scaled.whole).eq(Mux(vanishes, 0, shifted)),
            self.scaled.rest.eq(rest),
            self.scaled.beyond.eq(beyond),
            self.scaled.nan.eq(stored.all() & fraction.any()),
        ]
        if self.form.keep_nonzero:
            m.d.comb += self.scaled.nonzero.eq(normal | fraction.any())
        return m


class Rounding(wiring.Component):
    """Rounds to the nearest integer, and ties to even. Combinational.

    ``scaled``: A number in steps.
    ``integer``: The integer, in two's complement: of a number that is too large the limit, with its sign, and of NaN 0.
    ``reported``: The number is NaN, or its integer is beyond the limit.
    """

    def __init__(self, form: Quantisation) -> None:
        self.form = form
        super().__init__({"scaled": In(Scaled(form)), "integer": Out(form.bits), "reported": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        scaled, bits = self.scaled, self.form.bits
        up = Signal()
        rounds: Value = scaled.half & (scaled.rest | scaled.whole[0])
        if self.form.keep_nonzero:
            rounds = rounds | (scaled.nonzero & ~scaled.whole.any())
        m.d.comb += up.eq(rounds)
        # One addition rounds and negates: -(whole + up) is ~whole + ~up.
        sign = scaled.negative.replicate(bits)
        rounded = Signal(bits)
        m.d.comb += rounded.eq((Cat(scaled.whole, 0) ^ sign) + (up ^ scaled.negative))
        beyond = Signal()
        m.d.comb += beyond.eq(scaled.beyond | (scaled.whole.all() & up))
        limit = Cat(1, (~scaled.negative).replicate(bits - 2), scaled.negative)
        m.d.comb += [
            self.reported.eq(beyond),
            self.integer.eq(Mux(beyond, limit & (~scaled.nan).replicate(bits), rounded)),
        ]
        return m


_INDEX_BITS = 32


class OutOfRange(data.StructLayout):
    """The report of a packet.

    ``count``: Number of numbers that are NaN, infinite or too large.
    ``first``: The index of the first of them in the packet; 0 if there is none.
    """

    def __init__(self) -> None:
        super().__init__({"count": _INDEX_BITS, "first": _INDEX_BITS})


class RangeReport(wiring.Component):
    """Counts the numbers that lanes report.

    ``beat``, ``reported``, ``last``: A beat leaves the lanes; those that report their number; it ends a packet. Only
        while ``available`` is high.
    ``available``: Low from the end of a packet until its report is accepted, at least for one cycle.
    ``report``: One for each packet, two cycles after its last beat.
    """

    def __init__(self, lanes: int) -> None:
        self.lanes = lanes
        super().__init__(
            {
                "beat": In(1),
                "reported": In(lanes),
                "last": In(1),
                "available": Out(1),
                "report": Out(stream.Signature(OutOfRange())),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # A cycle later: the long adders start from registers.
        counts = Signal()
        reported = Signal(self.lanes)
        ends = Signal()
        begins = Signal(init=1)
        m.d.sync += [counts.eq(self.beat), ends.eq(self.beat & self.last)]
        with m.If(self.beat):
            m.d.sync += reported.eq(self.reported)
        with m.If(counts):
            m.d.sync += begins.eq(ends)

        m.submodules.numbers = numbers = WideCounter(self.lanes, _INDEX_BITS)
        place_bits = exact_log2(self.lanes)
        m.submodules.beats = beats = WideCounter(1, _INDEX_BITS - place_bits)
        m.d.comb += [
            numbers.clear.eq(counts & begins),
            numbers.amount.eq(Mux(counts, popcount(reported), 0)),
            # The beats before this one.
            beats.clear.eq(counts & begins),
            beats.amount.eq(counts),
        ]
        place = Signal(place_bits)
        for lane in reversed(range(self.lanes)):
            with m.If(reported[lane]):
                m.d.comb += place.eq(lane)
        found = Signal()
        first = Signal(_INDEX_BITS)
        any_reported: Value = reported.any()
        with m.If(counts):
            m.d.sync += found.eq(any_reported | (found & ~begins))
            with m.If(begins | ~found):
                m.d.sync += first.eq(Mux(any_reported, Cat(place, Mux(begins, 0, beats.value)), 0))
            m.d.sync += self.report.valid.eq(ends)
        with m.Elif(self.report.ready):
            m.d.sync += self.report.valid.eq(0)
        m.d.comb += [
            self.available.eq(~ends & (~self.report.valid | self.report.ready)),
            self.report.payload.count.eq(numbers.value),
            self.report.payload.first.eq(first),
        ]
        return m


class Quantiser(wiring.Component):
    """Converts each number of a packet to an integer.

    Throughput: one beat per cycle; a packet costs one cycle more. Latency: two cycles. ``ready`` of the input follows that
    of the output within the cycle.

    ``step``: The exponent of the step as a number stores it: with the bias added. It is valid for a beat from the cycle
        before the beat is accepted.
    ``input``: Packets of numbers.
    ``output``: Beats of as many integers, in the same lanes.
    ``report``: One for each packet, two cycles after its last beat has left the lanes; the next packet waits for it to
        be accepted.
    """

    def __init__(self, form: Quantisation, lanes: int) -> None:
        self.form = form
        self.lanes = lanes
        number = form.number_type
        super().__init__(
            {
                "step": In(number.exponent_bits),
                "input": In(stream.Signature(Beat(number.bits, lanes))),
                "output": Out(stream.Signature(Beat(form.bits, lanes))),
                "report": Out(stream.Signature(OutOfRange())),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        form, lanes = self.form, self.lanes
        source, sink = self.input, self.output
        m.submodules.range_report = numbers = RangeReport(lanes)
        wiring.connect(m, numbers.report, wiring.flipped(self.report))

        top = Signal(form.number_type.exponent_bits)
        m.d.sync += top.eq(self.step + form.bits - 2)
        scaled = Signal(data.ArrayLayout(Scaled(form), lanes))
        keep = Signal(lanes)
        last = Signal()
        waits = Signal()
        leaves = Signal()
        m.d.comb += [
            leaves.eq(waits & numbers.available & (~sink.valid | sink.ready)),
            source.ready.eq(~waits | leaves),
        ]
        reported = Signal(lanes)
        integers = Signal(data.ArrayLayout(form.bits, lanes))
        for lane in range(lanes):
            m.submodules[f"scaling_{lane}"] = scaling = Scaling(form)
            m.submodules[f"rounding_{lane}"] = rounding = Rounding(form)
            m.d.comb += [
                scaling.word.eq(source.payload.data[lane]),
                scaling.top.eq(top),
                rounding.scaled.eq(scaled[lane]),
                integers[lane].eq(rounding.integer),
                reported[lane].eq(rounding.reported & keep[lane]),
            ]
            with m.If(source.ready):
                m.d.sync += scaled[lane].eq(scaling.scaled)
        with m.If(source.ready):
            m.d.sync += [
                waits.eq(source.valid),
                Cat(keep, last).eq(Cat(source.payload.keep, source.payload.last)),
            ]
        with m.If(leaves):
            m.d.sync += [
                sink.valid.eq(1),
                sink.payload.data.eq(integers),
                sink.payload.keep.eq(keep),
                sink.payload.last.eq(last),
            ]
        with m.Elif(sink.ready):
            m.d.sync += sink.valid.eq(0)
        m.d.comb += [numbers.beat.eq(leaves), numbers.reported.eq(reported), numbers.last.eq(last)]
        return m


class Restoring(wiring.Component):
    """Multiplies an integer by the step, exactly. Combinational.

    ``integer``: In two's complement.
    ``step``: The exponent of the step as a number stores it.
    ``negative``, ``exponent``, ``fraction``: Fields of the number; of the fraction the upper ``bits - 1`` bits, the
        others are 0.
    """

    def __init__(self, form: Quantisation) -> None:
        self.form = form
        exponent_bits = form.number_type.exponent_bits
        super().__init__(
            {
                "integer": In(form.bits),
                "step": In(exponent_bits),
                "negative": Out(1),
                "exponent": Out(exponent_bits),
                "fraction": Out(form.bits - 1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bits = self.form.bits
        negative = self.integer[-1]
        magnitude = Signal(bits)
        m.d.comb += magnitude.eq((self.integer ^ negative.replicate(bits)) + negative)
        # Shifted left until the leading one is at the top; ``shifts`` are the bits of the distance.
        shifted: Value = magnitude
        shifts: list[Value] = []
        for level in reversed(range(exact_log2(bits))):
            by = 1 << level
            empty = ~shifted[-by:].any()
            shifts.append(empty)
            shifted = Mux(empty, Cat(Value.cast(0).replicate(by), shifted[:-by]), shifted)
        zero = ~shifted[-1]
        place = ~Cat(reversed(shifts))
        m.d.comb += [
            self.negative.eq(negative),
            self.exponent.eq(Mux(zero, 0, self.step + place)),
            self.fraction.eq(shifted[:-1]),
        ]
        return m


class Dequantiser(wiring.Component):
    """Converts each integer of a packet to a number, exactly.

    Throughput: one beat per cycle. Latency: one cycle. ``ready`` of the input follows that of the output within the cycle.

    ``step``: The exponent of the step as a number stores it: with the bias added. It is valid for a beat when the beat
        is accepted.
    ``input``: Packets of integers in two's complement.
    ``output``: Beats of as many numbers, in the same lanes.
    """

    def __init__(self, form: Quantisation, lanes: int) -> None:
        self.form = form
        self.lanes = lanes
        number = form.number_type
        super().__init__(
            {
                "step": In(number.exponent_bits),
                "input": In(stream.Signature(Beat(form.bits, lanes))),
                "output": Out(stream.Signature(Beat(number.bits, lanes))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        number, bits, lanes = self.form.number_type, self.form.bits, self.lanes
        source, sink = self.input, self.output
        # The lower bits of a fraction are 0 and need no register.
        numbers = Signal(data.ArrayLayout(number.exponent_bits + bits, lanes))
        for lane in range(lanes):
            m.submodules[f"restoring_{lane}"] = restoring = Restoring(self.form)
            m.d.comb += [
                restoring.integer.eq(source.payload.data[lane]),
                restoring.step.eq(self.step),
                sink.payload.data[lane].eq(
                    Cat(Value.cast(0).replicate(number.fraction_bits - bits + 1), numbers[lane])
                ),
            ]
            with m.If(source.ready):
                m.d.sync += numbers[lane].eq(Cat(restoring.fraction, restoring.exponent, restoring.negative))
        m.d.comb += source.ready.eq(~sink.valid | sink.ready)
        with m.If(source.ready):
            m.d.sync += [sink.valid.eq(source.valid), *copies(sink.payload, source.payload, "keep", "last")]
        return m


def _beat(bits: int, lanes: int) -> dict[str, int]:
    """Widths of the signals of a stream; an integer of 4 bits has a bit of ``tkeep`` of its own."""
    return {"data": bits * lanes, "keep": max(1, bits // 8) * lanes, "last": 1}


def stage_ports(kind: str, config: StageConfig) -> tuple[Port, ...]:
    """The ports of a quantiser or a dequantiser."""
    number = config.form.number_type
    numbers, integers = _beat(number.bits, config.lanes), _beat(config.form.bits, config.lanes)
    to_integers = kind == STAGES[0]
    return (
        *CLOCK_AND_RESET,
        Port("step", "input", number.exponent_bits),
        *axis_ports("s_axis", "input", **(numbers if to_integers else integers)),
        *axis_ports("m_axis", "output", **(integers if to_integers else numbers)),
        *(axis_ports("m_report", "output", data=OutOfRange().size) if to_integers else ()),
    )


class StageShell(Shell):
    """AXI-Stream around a ``quantiser``, which has the port ``m_report``, or a ``dequantiser``.

    The port ``step`` is as the block has it. A beat that keeps only a part of a number, or a number above one that it does
    not keep, keeps none.
    """

    def __init__(self, kind: str, config: StageConfig) -> None:
        self.kind = kind
        self.config = config
        super().__init__(stage_ports(kind, config))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self.add_domain(m)
        form, lanes = self.config.form, self.config.lanes
        core = Quantiser(form, lanes) if self.kind == STAGES[0] else Dequantiser(form, lanes)
        m.submodules.core = core
        beat, result = core.input.payload, core.output.payload
        keep_in, keep_out = self.port("s_axis_tkeep"), self.port("m_axis_tkeep")
        m.d.comb += [
            core.step.eq(self.port("step")),
            beat.data.eq(self.port("s_axis_tdata")),
            beat.keep.eq(kept_words(m, keep_in, len(keep_in) // lanes)),
            beat.last.eq(self.port("s_axis_tlast")),
            self.port("m_axis_tdata").eq(result.data),
            keep_out.eq(Cat(word.replicate(len(keep_out) // lanes) for word in result.keep)),
            self.port("m_axis_tlast").eq(result.last),
        ]
        self.accept(m, "s_axis", core.input)
        self.offer(m, "m_axis", core.output)
        if isinstance(core, Quantiser):
            m.d.comb += self.port("m_report_tdata").eq(core.report.payload)
            self.offer(m, "m_report", core.report)
        return m


def stage_design(kind: str, config: StageConfig, **wishes: Any) -> Verilog:
    """The Verilog of a ``quantiser`` or ``dequantiser``, called ``cdma_KIND`` by default; ``wishes`` are those of
    :func:`emit`."""
    check_choice("kind", kind, STAGES)
    named, title = wished(f"cdma_{kind}", wishes), f"error-bounded {kind} with AXI-Stream ports"
    return emit(StageShell(kind, config), **named, title=title, parameters=config.describe())
