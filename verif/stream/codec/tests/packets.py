"""Packets as they should be: every length, long random runs, other sources and sinks."""

from __future__ import annotations

from itertools import repeat

from cocotb.triggers import ClockCycles
from cocotbext.axi import AxiStreamBus, AxiStreamFrame, AxiStreamSink, AxiStreamSource

from cdma.verif.simulator.monitors.rules import Beat, RuleError
from cdma.verif.simulator.monitors.stream_ends import always, pattern
from cdma.verif.simulator.plan import planned
from cdma.verif.stream.bench import in_any_order, random_traffic, same_from_any_start
from cdma.verif.stream.codec import stimulus
from cdma.verif.stream.codec.context import Context, codec_test


@planned(
    "every length next to a lane or window boundary, empty, half full and dense",
    "every word, keep, last and report",
)
@codec_test
async def lengths(context: Context) -> None:
    for density in (0.0, 0.1, 0.5, 0.9, 1.0):
        packets = [
            context.from_mask(stimulus.scattered(context.np, length, density))
            for length in stimulus.boundary_lengths(context.config)
        ]
        await in_any_order(context, packets)


@planned(
    "each fill of the last beat before a dense last window of each short length",
    "every word, keep, last and report",
)
@codec_test
async def endings(context: Context) -> None:
    await in_any_order(context, [context.from_mask(mask) for mask in stimulus.endings(context.config)])


soak = planned(
    "random packets, lengths and tables under random pauses on every stream",
    "every word, keep, last and report",
    weight=12,
)(codec_test(random_traffic, "soak"))
start = planned(
    "the same traffic from several random start values of the registers",
    "no output differs on any cycle",
    starts=3,
    weight=4,
)(codec_test(same_from_any_start, "start"))


def _lanes(beat: Beat, bits: int) -> bytes:
    """What is in a beat of words of so many bits, an element for each bit of ``keep``, as cocotbext-axi has it."""
    size = min(8, bits)
    return bytes(beat.data >> size * lane & (1 << size) - 1 for lane in range(beat.keep.bit_length()))


@planned("cocotbext-axi's own sources and sinks, with pauses", "every word, keep, last and report")
@codec_test
async def interop(context: Context) -> None:
    dut = context.dut
    source = AxiStreamSource(AxiStreamBus.from_prefix(dut, "s_axis"), dut.aclk, dut.aresetn, False)
    sink = AxiStreamSink(AxiStreamBus.from_prefix(dut, "m_axis"), dut.aclk, dut.aresetn, False)
    reports = AxiStreamSink(AxiStreamBus.from_prefix(dut, "m_report"), dut.aclk, dut.aresetn, False)
    lengths = None
    if context.design.decompresses:
        lengths = AxiStreamSource(AxiStreamBus.from_prefix(dut, "s_length"), dut.aclk, dut.aresetn, False)
    ends = [end for end in (source, sink, reports, lengths) if end is not None]
    for end in ends:
        end.log.setLevel("WARNING")
    await ClockCycles(dut.aclk, 2)
    for round_ in range(4):
        for end in ends:
            pause = pattern(context.rng, sink=False)[1] if round_ else always(context.rng)
            end.set_pause_generator(map(pause, repeat(True)))
        packets = [context.any_packet() for _ in range(10)]
        for packet in packets:
            raw = b"".join(_lanes(beat, context.design.bits_in) for beat in packet.beats)
            await source.send(AxiStreamFrame(raw))
            if lengths is not None:
                assert packet.length is not None
                await lengths.send(AxiStreamFrame(packet.length.to_bytes(4, "little")))
        for index, packet in enumerate(packets):
            frame = await sink.recv()
            report = await reports.recv()
            fields = packet.fields(0).values()
            expected = sum(value << (32 * place) for place, value in enumerate(fields))
            assert packet.expected is not None
            delivered = b"".join(_lanes(beat, context.design.streams.word_bits) for beat in packet.expected)
            if bytes(frame.tdata) != delivered or int.from_bytes(report.tdata, "little") != expected:
                raise RuleError(f"round {round_}, packet {index}: data or report differ from the model's")
            context.tally.packets += 1
            context.tally.words += packet.words
            context.tally.checks += 2
