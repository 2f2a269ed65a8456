"""Packets as they should be: every length, long random runs, other sources and sinks."""

from __future__ import annotations

from itertools import repeat

from cocotb.triggers import ClockCycles
from cocotbext.axi import AxiStreamBus, AxiStreamFrame, AxiStreamSink, AxiStreamSource

from cdma.verif.codec import stimulus
from cdma.verif.codec.context import Context, codec_test
from cdma.verif.monitors.pauses import always, pattern
from cdma.verif.monitors.rules import RuleError

__all__: list[str] = []


@codec_test
async def lengths(context: Context) -> None:
    for density in (0.0, 0.1, 0.5, 0.9, 1.0):
        packets = [
            context.from_mask(stimulus.scattered(context.np, length, density))
            for length in stimulus.boundary_lengths(context.config)
        ]
        context.bench.set_pauses()
        await context.bench.run(packets)
        context.rng.shuffle(packets)
        context.bench.set_pauses(**context.any_pauses())
        await context.bench.run(packets)


@codec_test
async def endings(context: Context) -> None:
    packets = [context.from_mask(mask) for mask in stimulus.endings(context.config)]
    context.bench.set_pauses()
    await context.bench.run(packets)
    context.rng.shuffle(packets)
    context.bench.set_pauses(**context.any_pauses())
    await context.bench.run(packets)


@codec_test
async def soak(context: Context) -> None:
    left = context.budget
    while left > 0:
        count = min(left, context.rng.choice((1, 5, 20, 40)))
        context.new_table()
        context.bench.set_pauses(**context.any_pauses())
        await context.bench.run([context.any_packet() for _ in range(count)])
        left -= count


@codec_test
async def start(context: Context) -> None:
    bench = context.bench
    bench.set_pauses()
    await bench.run([context.any_packet() for _ in range(20)])
    bench.set_pauses(**context.any_pauses())
    await bench.run([context.any_packet() for _ in range(20)])
    context.tally.notes["digest"] = bench.digest


@codec_test
async def interop(context: Context) -> None:
    dut = context.dut
    source = AxiStreamSource(AxiStreamBus.from_prefix(dut, "s_axis"), dut.aclk, dut.aresetn, False)
    sink = AxiStreamSink(AxiStreamBus.from_prefix(dut, "m_axis"), dut.aclk, dut.aresetn, False)
    reports = AxiStreamSink(AxiStreamBus.from_prefix(dut, "m_report"), dut.aclk, dut.aresetn, False)
    lengths = None
    if not context.compresses:
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
            raw = b"".join(beat.data.to_bytes(beat.keep.bit_length(), "little") for beat in packet.beats)
            await source.send(AxiStreamFrame(raw))
            if lengths is not None:
                assert packet.length is not None
                await lengths.send(AxiStreamFrame(packet.length.to_bytes(4, "little")))
        for index, packet in enumerate(packets):
            frame = await sink.recv()
            report = await reports.recv()
            want = packet.report
            fields = (want.words_in, want.words_out, want.literals, want.error)
            expected = sum(value << shift for value, shift in zip(fields, (0, 32, 64, 96), strict=True))
            assert packet.expected is not None
            delivered = b"".join(
                beat.data.to_bytes(beat.keep.bit_length(), "little") for beat in packet.expected
            )
            if bytes(frame.tdata) != delivered or int.from_bytes(report.tdata, "little") != expected:
                raise RuleError(f"round {round_}, packet {index}: data or report differ from the model's")
            context.tally.packets += 1
            context.tally.words += packet.words
            context.tally.checks += 2
