"""Counts the numbers of a packet that are not within the bound."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.blocks.counter import WideCounter
from cdma.hdl.blocks.gates import popcount

__all__ = ["OutOfRange", "RangeReport"]

_INDEX_BITS = 32


class OutOfRange(data.StructLayout):
    """What is said of a packet.

    ``count``
        How many numbers are NaN, infinite or too large.
    ``first``
        The index of the first of them in the packet; 0 if there is none.
    """

    def __init__(self) -> None:
        super().__init__({"count": _INDEX_BITS, "first": _INDEX_BITS})


class RangeReport(wiring.Component):
    """Counts what lanes report.

    ``beat``, ``reported``, ``last``
        A beat has left the lanes; what they report of it; it ends a packet. Only while ``available`` is high.
    ``available``
        Is low from the end of a packet until its report is accepted, at least for one cycle.
    ``report``
        One for each packet, two cycles after its last beat.
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
            # It counts the beats before this one.
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
