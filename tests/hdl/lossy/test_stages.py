"""The error-bounded stage as blocks: packets through a quantiser and back, against the specification."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cdma.hdl.lossy.stages import Dequantiser, Quantiser
from cdma.hdl.spec.stage import Quantisation
from cdma.sim.codec.quantise import dequantise, quantise
from cdma.verif.stream.stage.packet import any_words
from tests.support.stimuli import Pause, by_phases, never
from tests.support.stream_bench import Packet, StreamBench, beats_of

#: Each with lanes and the exponent of a step: the least and the greatest are among them. Every number and step is proven.
SHAPES = [
    (Quantisation(), 8, -3),
    (Quantisation("bf16", 8), 4, Quantisation("bf16", 8).least_exponent),
    (Quantisation("fp16", 4, keep_nonzero=True), 2, Quantisation("fp16", 4).greatest_exponent),
    (Quantisation(bits=16), 1, 0),
]


def _packets(form: Quantisation, lanes: int, exponent: int) -> list[list[int]]:
    source = random.Random(7)
    lengths = [1, lanes, lanes + 1, 3 * lanes, 1, 1, *(source.randint(1, 9 * lanes) for _ in range(20))]
    packets = [any_words(source, form, exponent, length) for length in lengths]
    # Nothing to report, and a report of the last word alone.
    packets += [[0] * (2 * lanes), [0] * (2 * lanes) + [(1 << (form.number_type.bits - 1)) - 1]]
    return packets


@pytest.mark.parametrize(("form", "lanes", "exponent"), SHAPES, ids=str)
def test_quantiser(form: Quantisation, lanes: int, exponent: int) -> None:
    packets = _packets(form, lanes, exponent)
    phases = (by_phases(side) for side in ("input", "output", "report"))
    bench, received, reports = _quantise(form, lanes, exponent, packets, *phases)
    bench.run(20_000)
    bits = f"u{form.number_type.bits // 8}"
    for words, packet, (_, said) in zip(packets, received, reports, strict=True):
        expected = quantise(np.array(words, bits), exponent, form)
        assert packet.words == [int(integer) & ((1 << form.bits) - 1) for integer in expected.integers]
        assert (said.count, said.first) == (expected.reported, expected.first)


def _later(pause: Pause) -> Pause:
    """Rests in the first cycle, in which the step comes."""
    first = iter([True])
    return lambda: next(first, False) or pause()


def _quantise(
    form: Quantisation,
    lanes: int,
    exponent: int,
    packets: list[list[int]],
    send: Pause,
    receive: Pause,
    report: Pause,
) -> tuple[StreamBench, list[Packet], list[tuple[int, Any]]]:
    dut = Quantiser(form, lanes)
    bench = StreamBench(dut)
    bench.simulator.add_testbench(_with_step(dut, exponent + form.number_type.bias))
    bench.source("input", [beat for words in packets for beat in beats_of(words, lanes)], _later(send))
    received = bench.packets("output", len(packets), receive)
    return bench, received, bench.collect("report", len(packets), report)


def _with_step(dut: Quantiser | Dequantiser, step: int) -> Callable[[Any], Any]:
    async def set_step(ctx: Any) -> None:
        ctx.set(dut.step, step)

    return set_step


def test_quantiser_takes_a_beat_per_cycle() -> None:
    """And one cycle more for each packet; a beat comes out two cycles after it went in."""
    form, lanes = Quantisation(), 8
    packets = [any_words(random.Random(3), form, 0, 32 * lanes) for _ in range(3)]
    bench, received, _ = _quantise(form, lanes, 0, packets, never, never, never)
    bench.run(1_000)
    accepted = bench.accepted["input"]
    assert received[0].cycles[0] - accepted[0] == 2
    for packet in received:
        assert packet.cycles[-1] - packet.cycles[0] == 31
    assert accepted[-1] - accepted[0] <= 3 * 32 - 1 + 2


@pytest.mark.parametrize(("form", "lanes", "exponent"), SHAPES, ids=str)
def test_dequantiser(form: Quantisation, lanes: int, exponent: int) -> None:
    source = random.Random(8)
    packets = [
        [source.getrandbits(form.bits) for _ in range(length)]
        for length in (1, lanes, lanes + 1, *(source.randint(1, 9 * lanes) for _ in range(20)))
    ]
    dut = Dequantiser(form, lanes)
    bench = StreamBench(dut)
    bench.simulator.add_testbench(_with_step(dut, exponent + form.number_type.bias))
    send, receive = (never, never) if lanes == 8 else (by_phases("input"), by_phases("output"))
    bench.source("input", [beat for words in packets for beat in beats_of(words, lanes)], send)
    received = bench.packets("output", len(packets), receive)
    bench.run(20_000)
    for words, packet in zip(packets, received, strict=True):
        signed = np.array([word - (word >> (form.bits - 1) << form.bits) for word in words])
        assert packet.words == list(map(int, dequantise(signed, exponent, form)))
    if send is never:
        cycles = [cycle for packet in received for cycle in packet.cycles]
        assert cycles[0] - bench.accepted["input"][0] == 1
        assert cycles[-1] - cycles[0] == len(cycles) - 1
