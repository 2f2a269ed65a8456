"""The engine under Verilator, between two memories, with our checker on every cycle of both
ports.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.options import MOST_PAIRS, Sideband
from cdma.hdl.spec.records import RECORD_BYTES
from cdma.study.recorded import recorded_samples
from cdma.verif.campaigns.regression import Regression, plan_of, verify
from cdma.verif.engine.design import SMALL, EngineDesign
from cdma.verif.engine.measure import cases, measure_engine, round_trip
from tests.support.engines import (
    FIELDS,
    FIELDS_TO_A_BYTE,
    STREAMING,
    TO_A_BYTE,
    TO_A_WORD,
    engines_of,
)
from tests.support.thorough import TURNS, cases_of, this_turn, turn_of

pytestmark = [pytest.mark.verilator, pytest.mark.slow]

small = partial(replace, SMALL)

#: What the ports say beside addresses, different for each.
BESIDE = Sideband(
    dev_axcache=2, host_axcache=10, ring_axcache=15, axprot=5, axqos=9, axuser_bits=7, axuser=0x55
)

#: Records wider and narrower than the port, words of every size, one code bit and four.
WIDE = EngineConfig(
    format=Format(word_bits=8, window=64, code_bits=4, values=(0,)),
    lanes=16,
    dev_data_bits=128,
    host_data_bits=1024,
    burst_beats=64,
    outstanding=2,
    latency=8,
    read_buffer_beats=128,
    descriptors=2,
    ring_entries=16,
    sideband=BESIDE,
)
NARROW = EngineConfig(
    format=Format(word_bits=32),
    lanes=4,
    dev_data_bits=256,
    host_data_bits=64,
    dev_address_bits=32,
    host_address_bits=32,
    burst_beats=256,
    latency=64,
    descriptors=8,
    ring_entries=8,
    sideband=BESIDE,
)


#: A field in words of four bytes, without a code of zero words.
FIELDS_OF_WORDS = replace(
    NARROW, format=Format(32, 32, 4, field_bits=8, rotate=1), lanes=4, alignment="word", registers=False
)
#: No table: the codes are of zero words and of literals.
WITHOUT_TABLE = small(format=Format(16, 32, 1, (), field_bits=8, zero=True), lanes=8)
PADDED = small(format=Format.preset("aie2p"), lanes=16, lossy="fp16", keep_nonzero=True)
#: One burst in flight, in memories of one word.
CODES_OF_THREE_BITS = replace(NARROW, format=Format(code_bits=3), outstanding=1)

#: Several device ports, in the shortest stripes, and so many that a remainder of three is needed; codes of a field in
#: windows that are padded.
UNITS = small(units=6, stripe_bytes=256, sideband=BESIDE, group_bursts=3)
TWO_UNITS = replace(UNITS, units=2)
UNITS_WITH_FIELDS = replace(FIELDS, units=2, stripe_bytes=512, registers=False)

#: 64 words a beat, more than the codec takes. With 128 it takes minutes to build.
WIDE_TO_A_BYTE = replace(WIDE, host_data_bits=512, alignment="word")


#: As many pairs as an engine may have.
MANY_PAIRS = EngineConfig(
    lanes=2,
    dev_data_bits=64,
    host_data_bits=64,
    burst_beats=8,
    outstanding=4,
    latency=32,
    descriptors=4,
    ring_entries=16,
    channels=MOST_PAIRS,
)

#: What the ports say beside addresses, and a format with two levels.
BESIDES = small(sideband=BESIDE)
LEVELS = replace(BESIDES, format=Format(16, levels=2))

#: Configurations, and what is run on them beside the tests of every one.
_SHAPES = """
wide: WIDE; ring_errors soft_resets
wide-slices: WIDE group_bursts=2 group_ports=all register_slices=in,out sideband_registers register_protection=privileged
    smallest_memory=1000 quiescence; ring_errors watchdog hard_resets soft_resets sideband rights quiescence
    quiescence_of_rings quiescence_of_registers
to-a-byte: WIDE_TO_A_BYTE; capacity corrupt
to-a-word: NARROW alignment=word registers=false; capacity corrupt
fields-of-words: FIELDS_OF_WORDS; capacity corrupt refusals
without-table: WITHOUT_TABLE; corrupt registers
padded: PADDED; corrupt lossy padding hard_resets
half-bytes: HALF_BYTES; capacity corrupt crc lossy padding refusals registers pace
half-bytes-to-a-byte: HALF_BYTES alignment=word registers=false lossy=fp32 keep_nonzero; bus_errors capacity corrupt
    crc lossy
narrow-three-bits: CODES_OF_THREE_BITS; corrupt capacity hard_resets register_bus
units: UNITS; bus_errors uneven silent_unit soft_resets
units-checked: TWO_UNITS memories_protect=secded stream_id_bits=11; bus_errors corrupt capacity uneven silent_unit
    soft_resets owners registers
units-to-any-byte: TWO_UNITS alignment=byte stripe_bytes=512 pages; bus_errors corrupt capacity uneven refusals
    soft_resets pages page_errors
pipelined-units-to-any-byte: SMALL alignment=byte registers=false pipelined units=2 stripe_bytes=256; bus_errors
    corrupt capacity uneven refusals
long-stripes: SMALL units=2; silent_unit
units-with-fields: UNITS_WITH_FIELDS; corrupt padding uneven
units-with-fields-to-any-byte: UNITS_WITH_FIELDS alignment=byte; corrupt padding uneven capacity
pairs: BESIDES lanes=8 host_data_bits=256 register_slices=in,out sideband_registers register_protection=privileged
    smallest_memory=1000 quiescence clocks=host,registers channels=3 msi; pairs pair_windows ring_errors watchdog
    hard_resets soft_resets lone_resets register_bus sideband rights messages quiescence quiescence_of_rings
    quiescence_of_registers
pairs-with-pages: BESIDES sideband_registers pages substream_id_bits=4 channels=3 msi; pairs owners pair_owners pages
    page_errors page_windows page_stops sideband messages
pairs-checked: SMALL group_bursts=1 group_ports=all memories_protect=secded pages substream_id_bits=5 channels=2; pairs
    owners pair_owners pages page_windows page_stops
pairs-pipelined: SMALL pipelined register_slices=in,out crc quiescence stream_id_bits=3 substream_id_bits=5 channels=2
    msi; pairs limits shares aborts soft_resets hard_resets messages owners pair_owners quiescence quiescence_of_rings
    quiescence_of_registers
deltas: LEVELS group_bursts=2 crc pages delta stream_id_bits=3; deltas wrong_bases base_errors silent_base limits
    refusals corrupt capacity crc pages owners pace
deltas-to-any-byte: SMALL alignment=byte pipelined memories_protect=secded dimensions=1 delta channels=2; deltas
    wrong_bases base_errors silent_base refusals pairs soft_resets hard_resets watchdog
deltas-of-narrow-memory: NARROW dev_data_bits=64 host_data_bits=256 registers=false register_slices=in,out delta;
    deltas wrong_bases base_errors silent_base early_aborts hard_resets
deltas-in-units: UNITS delta pages; deltas wrong_bases base_errors silent_base uneven bus_errors soft_resets silent_unit
deltas-in-units-to-any-byte: SMALL alignment=byte pipelined units=2 stripe_bytes=512 dimensions=1 delta
    memories_protect=parity stream_id_bits=3; deltas wrong_bases base_errors silent_base refusals capacity corrupt owners
pipelined: SMALL pipelined memories_protect=parity substream_id_bits=20 msi; capacity corrupt hard_resets soft_resets
    owners registers messages
pipelined-fields: FIELDS_TO_A_BYTE alignment=beat pages=false; capacity corrupt crc lossy padding
clocks: SMALL group_bursts=2 group_ports=host clocks=device,host,registers msi; bus_errors ring_errors watchdog
    hard_resets soft_resets lone_resets messages
clocks-checked: BESIDES register_slices=in,out sideband_registers quiescence clock_gates clocks=device,host,registers
    memories_protect=parity stream_id_bits=3 substream_id_bits=5; hard_resets soft_resets lone_resets owners sideband
    quiescence quiescence_of_rings quiescence_of_registers quiescence_apart registers register_bus
clocks-pairs: BESIDES register_slices=out sideband_registers quiescence clock_gates clocks=host,registers pages
    stream_id_bits=3 channels=2 msi; pairs shares pair_windows pair_owners pages page_windows page_stops sideband
    hard_resets lone_resets messages quiescence quiescence_of_rings quiescence_of_registers
host-clock: SMALL registers=false pipelined register_slices=in,out quiescence clocks=host; bus_errors hard_resets
    quiescence
slices: BESIDES register_slices=in,out sideband_registers register_protection=privileged memories_protect=secded
    stream_id_bits=1 substream_id_bits=1; watchdog hard_resets soft_resets sideband rights owners register_bus
slices-of-outputs: SMALL registers=false register_slices=out crc quiescence; bus_errors crc hard_resets quiescence
"""
SHAPES = engines_of(_SHAPES, globals())
#: Those of this run: others with every revision. ``make thorough`` runs all at once.
NOW = this_turn(list(SHAPES), turn_of())


#: Engines that take shapes, and what is run on them: the tests of shapes, and those that have shapes among their transfers.
_WITH_SHAPES = (
    "soak aborts early_aborts hard_resets shape_refusals shape_windows shape_errors shape_aborts far_rows"
)
_OTHERS = "lengths limits refusals windows bus_errors corrupt capacity watchdog halting"
_SHAPED = """
two units, and pages: TWO_UNITS dimensions=3 pages stream_id_bits=11 substream_id_bits=5; shape_rings uneven
    silent_unit soft_resets owners registers pages page_errors page_drops page_windows page_stops OTHERS
three: SMALL crc dimensions=3; shape_rings limits
one: WIDE dimensions=1; shape_rings OTHERS
of-pairs: SMALL memories_protect=secded dimensions=2 channels=2; shape_rings pairs limits
four-of-streams: SMALL registers=false register_slices=in,out dimensions=4; OTHERS
of-numbers: PADDED sideband_registers dimensions=2; shape_rings lossy soft_resets registers register_bus ring_errors
    OTHERS
of-fields: FIELDS dimensions=2; shape_rings padding OTHERS
of-words: WIDE_TO_A_BYTE dimensions=2 pages; shape_rings pages OTHERS
of-bytes: TO_A_BYTE dimensions=3 pages; shape_rings soft_resets pages OTHERS
of-bytes-of-numbers: FIELDS_TO_A_BYTE pipelined=false dimensions=2; lossy padding OTHERS
of-bytes-in-pipelines: TO_A_BYTE ring_entries=16 pipelined dimensions=3 pages; shape_rings soft_resets pages OTHERS
of-fields-in-pipelines: FIELDS_TO_A_BYTE dimensions=2; shape_rings lossy padding OTHERS
of-units: TWO_UNITS alignment=byte stripe_bytes=512 dimensions=3 pages; shape_rings uneven soft_resets pages OTHERS
of-units-in-pipelines: SMALL alignment=word pipelined units=2 stripe_bytes=256 dimensions=2; shape_rings uneven OTHERS
of-half-bytes: HALF_BYTES alignment=word dimensions=2; shape_rings lossy OTHERS
narrow: NARROW dimensions=2; shape_rings ring_wrap silent_host OTHERS
"""
SHAPED = engines_of(_SHAPED.replace("OTHERS", _OTHERS), globals())


def _failures(result: Regression) -> dict[str, str]:
    return {outcome.test: outcome.failure for outcome in result.outcomes if outcome.failure is not None}


def test_regression() -> None:
    """Every test of the plan, on a configuration with small queues."""
    design = EngineDesign(SMALL)
    result = verify(design, seed=1, packets=15)
    assert not _failures(result)
    assert [outcome.test for outcome in result.outcomes] == [
        point.name for point in plan_of(design).choose(design)
    ]


_OF_STREAMS = "soak owners limits refusals windows aborts early_aborts hard_resets watchdog halting"


def test_without_registers() -> None:
    """What is different where descriptors and completions are streams."""
    design = EngineDesign(STREAMING)
    assert not _failures(verify(design, tests=_OF_STREAMS.split(), seed=1, packets=15))


@pytest.mark.thorough
def test_without_windows_and_times() -> None:
    """Addresses and lengths are still checked, and all ends by itself, in an engine that leaves out what it can."""
    bare = small(registers=False, windows=False, times=False, longest_bytes=1 << 16)
    tests = ["soak", "limits", "refusals", "capacity", "aborts", "hard_resets", "halting"]
    assert not _failures(verify(EngineDesign(bare), tests=tests, seed=1, packets=10))


@pytest.mark.parametrize(("config", "more"), cases_of(SHAPES, SHAPES.keys() - NOW))
def test_other_shapes(config: EngineConfig, more: str) -> None:
    tests = ["soak", "lengths", "windows", "aborts", *more.split()]
    # Several pairs share one data path, whose limits those in a pipeline show.
    tests += ["limits"] if config.channels == 1 else []
    assert not _failures(verify(EngineDesign(config), tests=tests, seed=2, packets=15, short=True))


@pytest.mark.thorough
def test_the_most_pairs() -> None:
    """A small engine, whose model is the size of a large one's and takes minutes to build."""
    tests = ["pairs", "pair_windows", "shares", "registers", "register_bus"]
    assert not _failures(verify(EngineDesign(MANY_PAIRS), tests=tests, seed=2, packets=15, short=True))


def test_as_many_revisions_as_turns_take_all_shapes() -> None:
    for shapes, most in ((SHAPES, 2), (SHAPED, 1)):
        turns = [this_turn(list(shapes), turn) for turn in range(TURNS)]
        assert set.union(*turns) == set(shapes)
        assert max(map(len, turns)) == most


@pytest.mark.parametrize(
    ("config", "more"), cases_of(SHAPED, SHAPED.keys() - this_turn(list(SHAPED), turn_of()))
)
def test_shapes_in_device_memory(config: EngineConfig, more: str) -> None:
    tests = f"{_WITH_SHAPES} {more}".split()
    assert not _failures(verify(EngineDesign(config), tests=tests, seed=6, packets=15))


#: Engines whose host memory may be in pages alone, on ports of other widths, and what is run on them.
_OF_PAGES = (
    f"soak pages page_errors page_drops page_windows page_stops aborts hard_resets silent_host {_OTHERS}"
)
_PAGED = """
wide: WIDE sideband_registers pages; soft_resets sideband
narrow: NARROW pages; soft_resets ring_errors early_aborts
of-numbers: PADDED register_slices=in,out pages; lossy causes
checked: SMALL memories_protect=secded pages; soft_resets
to-a-byte: TO_A_BYTE pages; soft_resets ring_errors
to-a-word-in-pipelines: TO_A_WORD pipelined pages; soft_resets
units: SMALL units=2 pages; uneven silent_unit
units-in-pipelines: TWO_UNITS pipelined memories_protect=parity pages; uneven soft_resets
"""
PAGED = engines_of(_PAGED, globals())


@pytest.mark.thorough
@pytest.mark.parametrize(("config", "more"), PAGED.values(), ids=PAGED.keys())
def test_host_memory_in_pages(config: EngineConfig, more: str) -> None:
    assert not _failures(
        verify(EngineDesign(config), tests=f"{_OF_PAGES} {more}".split(), seed=7, packets=30)
    )


@pytest.mark.thorough
@pytest.mark.parametrize("config", [TO_A_WORD, TO_A_BYTE], ids=["word", "byte"])
def test_regression_to_a_word_or_byte(config: EngineConfig) -> None:
    """Every test of the plan with sources and destinations at any word, or with lengths of any byte too."""
    assert not _failures(verify(EngineDesign(config), seed=4, packets=20))


def test_regression_with_fields() -> None:
    """Every test of the plan but one with codes of a field and padded windows, with addresses and lengths of any byte, a CRC
    and an error-bounded stage, in a pipeline."""
    design = EngineDesign(FIELDS_TO_A_BYTE)
    tests = [point.name for point in plan_of(design).choose(design)]
    # Its bound has nothing for the four cycles more that a packet of fields takes in a pipelined decompressor.
    tests.remove("pace")
    assert not _failures(verify(design, tests=tests, seed=5, packets=10))


@pytest.mark.thorough
def test_regression_with_fields_in_no_pipeline() -> None:
    design = EngineDesign(replace(FIELDS_TO_A_BYTE, alignment="word", pipelined=False))
    assert not _failures(verify(design, seed=5, packets=10))


@pytest.mark.thorough
def test_pipelined_keeps_the_ports_busy() -> None:
    """The promise: 93 % for large tensors and 75 % for a few small ones back to back, at 100 cycles of latency."""
    design = EngineDesign(EngineConfig(pipelined=True))
    wanted = [case for case in cases((0.0, 0.5, 1.0), (4096, 1 << 17), (100,)) if case["mode"] == "zvc"]
    for case in wanted:
        case["descriptors"] = 16 if case["bytes"] == 4096 else 1
    for row in measure_engine(design, wanted):
        least = 0.75 if row["bytes"] == 4096 else 0.93
        assert row["utilisation"] >= least, row


@pytest.mark.parametrize(
    ("bits", "large"), [(256, 0.99), pytest.param(512, 0.985, marks=pytest.mark.thorough)]
)
def test_keeps_the_ports_busy(bits: int, large: float) -> None:
    """What the guide of the engine states for 100 cycles of latency, and its arithmetic: the cycles are those of the data,
    of the records on the host port, and 245 for the beginning and the end, however many descriptors."""
    config = EngineConfig(dev_data_bits=bits, host_data_bits=bits, lanes=bits // 32)
    wanted = cases((0.0, 0.5, 1.0), (4096,), (100,), port_bytes=bits // 8)
    wanted += [
        case
        for case in cases((1.0,), (1 << 20,), (100,))
        if case["mode"] == "zvc" and case["direction"] != "both"
    ]
    for row in measure_engine(EngineDesign(config), wanted):
        least = large if row["bytes"] > 4096 else 0.915 if row["concurrent"] else 0.92
        assert row["utilisation"] >= least, row
        data = row["utilisation"] * row["cycles"]
        records = row["descriptors"] * max(1, 8 * RECORD_BYTES // bits) * (2 if row["concurrent"] else 1)
        assert row["cycles"] <= data + records + 245.5, row


def test_takes_a_real_tensor_out_and_back() -> None:
    """The recorded activations of a trained network, in float32."""
    samples = recorded_samples()
    name = min(samples, key=lambda each: abs(samples[each].nbytes - 200_000))
    tensor = samples[name]
    trip = round_trip(EngineDesign(EngineConfig()), tensor)
    assert trip.raw_bytes == tensor.nbytes
    assert trip.ratio > 1.2
