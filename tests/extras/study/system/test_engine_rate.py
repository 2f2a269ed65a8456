"""The law of the engine's cycles, against the RTL in simulation and against the measured file."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from cdma.base.toml_table import Table, TableError, read_json
from cdma.hdl.codec.generate import Compressor, Decompressor
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format
from cdma.sim.codec.headers import codes_of
from cdma.sim.codec.words import Words
from cdma.study.system.engine_rate import (
    CODEC_DIRECTIONS,
    fit,
    fit_engine,
    measured_engine_laws,
    measured_laws,
    scattered_work,
)
from tests.support.codec_bench import stream_of
from tests.support.paths import DATA
from tests.support.stream_bench import StreamBench, beats_of

CONFIG = CodecConfig()
WINDOWS = 40
IDLE = 16


def window_work(words: Words, format: Format) -> int:
    """Words on the longer side of every window of a packet, all together: what the law is stated in."""
    count, window = len(words), format.window
    windows = -(-count // window)
    literal = np.zeros(windows * window, bool)
    literal[:count] = codes_of(words, format) == format.literal_code
    raw = np.full(windows, window)
    raw[-1:] = count - (windows - 1) * window
    return int(np.maximum(raw, format.header_words + literal.reshape(windows, window).sum(axis=1)).sum())


def masks() -> dict[str, np.ndarray]:
    """Packets unlike the scattered ones that were measured: alternating, clustered, ragged, dense."""
    window = CONFIG.format.window
    alternating = np.zeros((WINDOWS, window), bool)
    alternating[::2] = True
    ramp = np.arange(WINDOWS * window) % window < np.repeat(np.arange(WINDOWS), window)
    ragged = np.random.default_rng(7).random(WINDOWS * window - 15) < 0.97
    return {"alternating": alternating.ravel(), "ramp": ramp, "ragged": ragged}


def idle_before_each(beats: Sequence[int]) -> Callable[[], bool]:
    """Pauses for some cycles before each packet, whose beats are given, and never within one."""
    plan = iter([pause for count in beats for pause in [True] * IDLE + [False] * count])
    return lambda: next(plan)


@pytest.mark.slow
def test_law_is_within_five_per_cent_of_the_rtl() -> None:
    """Of the cycles from first beat in to last beat out, each packet from idle."""
    draw = random.Random(3)
    packets = [
        [draw.randrange(1, 1 << CONFIG.format.word_bits) if literal else 0 for literal in mask]
        for mask in masks().values()
    ]
    streams = [stream_of(packet, CONFIG) for packet in packets]
    for direction, dut, inputs in (
        ("compress", Compressor(CONFIG), packets),
        ("decompress", Decompressor(CONFIG), streams),
    ):
        bench = StreamBench(dut)
        beats = [beats_of(packet, CONFIG.lanes) for packet in inputs]
        sizes = [len(packet) for packet in beats]
        bench.source("input", [beat for packet in beats for beat in packet], idle_before_each(sizes))
        if direction == "decompress":
            bench.source("length", [len(packet) for packet in packets])
        received = bench.packets("output", len(packets))
        bench.collect("report", len(packets))
        bench.run(10_000)
        first = 0
        for (name, mask), size, packet in zip(masks().items(), sizes, received, strict=True):
            counted = packet.cycles[-1] - bench.accepted["input"][first] + 1
            first += size
            work = window_work(mask.astype(np.uint32), CONFIG.format)
            law = measured_laws()[direction].cycles(work, CONFIG.lanes)
            assert law == pytest.approx(counted, rel=0.05), (direction, name)


def test_laws_are_within_five_per_cent_of_every_measurement() -> None:
    rows = read_json(DATA / "engine_cycles.json").rows("codec")
    assert len({(row.get("word_bits"), row.get("lanes"), row.get("direction")) for row in rows}) >= 6
    for row in rows:
        format = Format(word_bits=row.get("word_bits"), window=row.get("window"))
        law = measured_laws()[row.get("direction")]
        beats = row.get("in_beats") if row.get("direction") == "compress" else row.get("out_beats")
        work = beats * row.get("lanes") * scattered_work(row.get("density"), format)
        assert law.cycles(work, row.get("lanes")) == pytest.approx(row.get("cycles"), rel=0.05)
    rows = read_json(DATA / "engine_cycles.json").rows("engine")
    assert len({(row.get("bytes"), row.get("memory_latency"), row.get("density")) for row in rows}) >= 5
    for row in rows:
        assert predicted(row) == pytest.approx(row.get("cycles"), rel=0.05)


def predicted(row: Table) -> float:
    """The cycles of a row of an engine, by the law."""
    work = scattered_work(row.get("density"), Format(word_bits=row.get("word_bits")))
    beats = row.get("bytes") * row.get("descriptors") / row.get("port_bytes") * work
    return measured_engine_laws()[CODEC_DIRECTIONS[row.get("direction")]].cycles(
        beats, row.get("memory_latency")
    )


def test_scattered_work_is_the_average_of_window_work() -> None:
    format = Format()
    for density in (0.0, 0.3, 0.9, 1.0):
        words = (np.random.default_rng(1).random(200_000) < density).astype(np.uint32)
        work = window_work(words, format) / len(words)
        assert work == pytest.approx(scattered_work(density, format), rel=2e-3)
    # A partial window counts as what it is.
    assert window_work(np.zeros(33, np.uint32), format) == 33
    assert window_work(np.ones(33, np.uint32), format) == 33 + 2


ROW = {"word_bits": 32, "lanes": 8, "window": 32, "density": 0.0}
ENGINE_ROW = {"word_bits": 32, "port_bytes": 32, "density": 0.0, "descriptors": 2}


@pytest.mark.parametrize(
    ("made", "changes", "message"),
    [
        (fit, {"direction": "up"}, "direction = 'up'; it must be one of compress, decompress"),
        (fit, {"cycles": 0}, "cycles = 0; it must be a finite number and more than 0"),
        (fit, {"density": 1.2}, "density = 1.2"),
        (fit, {"in_beats": 0}, "in_beats = 0; it must be a whole number, 1 or more"),
        (fit, {}, "fewer than two different loads of direction 'compress'"),
        (fit_engine, {}, "fewer than two different loads and latencies of direction 'compress'"),
        (fit_engine, {"direction": "both"}, "direction = 'both'; it must be one of offload, prefetch"),
        (fit_engine, {"memory_latency": -1}, "memory_latency = -1; it must be a finite number and at least"),
    ],
)
def test_fits_refuse(made: Callable[..., object], changes: dict[str, object], message: str) -> None:
    beats = {"direction": "compress", "in_beats": 64, "out_beats": 64, "cycles": 70}
    transfer = {"direction": "offload", "bytes": 4096, "memory_latency": 10, "cycles": 300}
    row = ROW | beats if made is fit else ENGINE_ROW | transfer
    with pytest.raises(TableError) as caught:
        made([Table("row", row | changes)])
    assert message in str(caught.value)
