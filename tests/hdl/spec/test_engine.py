"""The parameters of an engine, and what follows from them. Shapes as plain data: what they span, in which order they are
walked, and what the engine refuses.
"""

from __future__ import annotations

import random
import re

import pytest

from cdma.base.errors import ParameterError
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.options import Sideband
from cdma.hdl.spec.records import RECORD_BYTES, SHAPE_RECORD, shape_from, shape_values
from cdma.hdl.spec.shape import SPAN_LIMIT, Dimension, Shape


def test_buffer_follows_bandwidth_times_latency() -> None:
    assert EngineConfig().read_buffer == 512
    assert EngineConfig(latency=100).read_buffer == 128
    assert EngineConfig(latency=1).read_buffer == 64, "two bursts are the least"
    assert EngineConfig(read_buffer_beats=1024).read_buffer == 1024
    assert EngineConfig().write_buffer == 128


@pytest.mark.parametrize(("bits", "beats"), [(64, 256), (128, 256), (256, 128), (512, 64), (1024, 32)])
def test_a_burst_never_has_more_than_a_page(bits: int, beats: int) -> None:
    assert EngineConfig(burst_beats=256, dev_data_bits=bits).burst("dev") == beats


@pytest.mark.parametrize(("alignment", "bytes_"), [("beat", (32, 64)), ("word", (2, 2)), ("byte", (1, 1))])
def test_alignment_in_bytes(alignment: str, bytes_: tuple[int, int]) -> None:
    config = EngineConfig(format=Format(word_bits=16), host_data_bits=512, alignment=alignment)
    assert (config.align("dev"), config.align("host")) == bytes_


def test_ports_of_several_units() -> None:
    config = EngineConfig(units=6, stripe_bytes=512)
    assert config.dev_ports == ("dev0", "dev1", "dev2", "dev3", "dev4", "dev5")
    assert (config.align("dev"), config.align("host")) == (128, 32), "a window, and a beat"
    assert (config.burst("dev"), config.burst("host")) == (16, 32), "no burst leaves a stripe"
    assert EngineConfig(units=1).dev_ports == ("dev",)


#: Parameters, and the beginning of what is said of them: what was given and what is allowed.
_REFUSED = [
    ({"dev_data_bits": 96}, "dev_data_bits is 96; it must be one of 64, 128, 256, 512, 1024"),
    ({"host_address_bits": 65}, "host_address_bits is 65; it must be a whole number from 13 to 64"),
    ({"alignment": "half"}, "alignment is 'half'; it must be one of beat, word, byte"),
    ({"alignment": 4}, "alignment is 4"),
    ({"register_slices": "all"}, "register_slices is 'all'; it must be 'none', 'in', 'out' or 'in,out'"),
    ({"register_slices": True}, "register_slices is True"),
    ({"burst_beats": 7}, "burst_beats is 7"),
    ({"clock_gates": True, "pipelined": True}, "clock_gates is on with pipelined; it must be off, because"),
    ({"outstanding": 0}, "outstanding is 0; it must be a whole number from 1 to 256"),
    ({"outstanding": True}, "outstanding is True"),
    ({"latency": 0}, "latency is 0"),
    ({"read_buffer_beats": 32}, "read_buffer_beats is 32; it must be one of 64, 128,"),
    ({"write_buffer_beats": 100}, "write_buffer_beats is 100"),
    ({"write_buffer_beats": False}, "write_buffer_beats is False"),
    ({"descriptors": 3}, "descriptors is 3"),
    ({"ring_entries": 100}, "ring_entries is 100"),
    ({"lossy": "fp64"}, "lossy is 'fp64'; it must be one of none, fp32, bf16, fp16"),
    ({"lossy": "fp32"}, "word_bits is 32 with lossy fp32; a word is an integer then, and must have fewer bits"),
    ({"lossy": "bf16", "format": Format(8), "units": 2}, "lossy is bf16 with 2 units; it must be none"),
    ({"crc": True, "units": 2}, "crc is on with 2 units; it must be off"),
    ({"keep_nonzero": True}, "keep_nonzero is on without lossy"),
    ({"sideband": True}, "sideband is True; it must be a Sideband"),
    ({"sideband_registers": 1}, "sideband_registers is 1; it must be true or false"),
    ({"sideband_registers": True, "registers": False}, "sideband_registers is on without registers"),
    ({"sideband_registers": True, "sideband": Sideband(axuser_bits=17)}, "axuser_bits is 17 with sideband_registers"),
    ({"register_protection": "all"}, "register_protection is 'all'; it must be one of none, privileged, secure"),
    ({"msi": True, "registers": False}, "msi is on without registers; it must be off, because registers say where"),
    ({"register_protection": "secure", "registers": False}, "register_protection is 'secure' without registers"),
    ({"memories_protect": "ecc"}, "memories_protect is 'ecc'; it must be one of none, parity, secded"),
    ({"memories_protect": "parity", "registers": False}, "memories_protect is 'parity' without registers"),
    ({"clocks": "host,device"}, "clocks is 'host,device'; it must be 'none', or some of device,host,registers"),
    ({"clocks": "registers", "registers": False}, "clocks is 'registers' without registers"),
    ({"open_windows": 1}, "open_windows is 1; it must be true or false"),
    ({"open_windows": True, "registers": False}, "open_windows is on without registers"),
    ({"windows": False}, "windows is off with registers; it must be on, because there are registers which open"),
    ({"times": False}, "times is off with registers; it must be on, because there are registers which count"),
    ({"longest_bytes": 3 << 20, "registers": False}, "longest_bytes is 3145728; it must be one of 65536, 131072, "),
    ({"longest_bytes": 1 << 22}, "longest_bytes is 4194304, and registers is True; it must be 4294967296, because"),
    (
        {"longest_bytes": 1 << 22, "registers": False, "dimensions": 2},
        "longest_bytes is 4194304, and dimensions is 2; it must be 4294967296",
    ),
    ({"registers": 1}, "registers is 1; it must be true or false"),
    ({"pipelined": 1}, "pipelined is 1; it must be true or false"),
    ({"pipelined": True, "lanes": 16}, "lanes is 16 with a window of 32 words; a pipelined codec needs windows of at"),
    ({"lanes": 64}, "lanes is 64; it must not exceed the window of 32 words"),
    ({"format": Format.preset("bf16"), "lanes": 64}, "lanes is 64 with a field in words of 16 bits; a beat has at most 64"),
    ({"format": Format(32, field_bits=8), "pipelined": True}, "zero is false in a format with a field; pipelined codecs"),
    ({"format": Format(2, 4, align=2)}, "word_bits is 2; an engine needs words of 4, 8, 16 or 32 bits, as memory has bytes"),
    ({"format": Format(4)}, "align is 1 with word_bits 4; it must be 2, 4 or 8 in an engine, because memory has bytes"),
    ({"format": Format(4, align=4), "pipelined": True}, "pipelined is on with word_bits 4; it must be off in an engine"),
    ({"format": Format(4, align=4), "units": 2}, "word_bits is 4 with 2 units; it must be 8, 16 or 32"),
    ({"format": Format(4, align=2), "lanes": 1}, "lanes is 1, a beat of 0.5 bytes, with windows padded to more"),
    ({"format": 8}, "format is 8; it must be a Format"),
    ({"units": 3}, "units is 3; it must be one of 1, 2, 4, 6, 8"),
    ({"stripe_bytes": 128}, "stripe_bytes is 128; it must be one of 256, 512, 1024, 2048, 4096"),
]  # fmt: skip


@pytest.mark.parametrize(("parameters", "message"), _REFUSED)
def test_an_engine_that_cannot_be_is_refused(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=rf"^{re.escape(message)}"):
        EngineConfig(**parameters)  # type: ignore[arg-type]


FITS = {"align": 32, "dimensions": 4, "writes": True}


def random_shape(rng: random.Random) -> Shape:
    """Any shape of a few rows, also one that overlaps itself."""
    return Shape(
        rng.choice((4, 8, 12)),
        tuple(
            Dimension(rng.randint(1, 4), 4 * rng.randint(-12, 12), rng.randint(0, 2), rng.randint(0, 2))
            for _ in range(rng.randint(0, 4))
        ),
        4 * rng.randint(0, 2),
        4 * rng.randint(0, 2),
    )


def touched(shape: Shape) -> list[int]:
    """Every byte of memory, as often as it is moved."""
    return [offset + byte for offset in shape.rows() if offset is not None for byte in range(shape.run)]


def test_the_span_is_from_the_lowest_byte_to_the_highest_one() -> None:
    rng = random.Random(1)
    for _ in range(300):
        shape = random_shape(rng)
        assert (min(touched(shape)), max(touched(shape))) == (shape.lowest, shape.lowest + shape.span - 1)
        assert len(touched(shape)) == shape.moved
        assert len(list(shape.rows())) * shape.row == shape.length


def test_the_rule_lets_no_shape_pass_that_overlaps_itself() -> None:
    rng = random.Random(2)
    passed = 0
    for _ in range(2000):
        shape = random_shape(rng)
        if not shape.overlaps:
            passed += 1
            assert len(set(touched(shape))) == shape.moved
    assert passed > 200


def test_the_rule_takes_transposed_and_reversed_dimensions() -> None:
    assert not Shape(4, (Dimension(8, -64), Dimension(4, 4), Dimension(2, 1024))).overlaps
    assert Shape(4, (Dimension(8, 64), Dimension(4, 4), Dimension(2, 8))).overlaps


def test_a_simplified_shape_has_the_same_bytes_in_the_same_order() -> None:
    rng = random.Random(3)
    for _ in range(300):
        shape = random_shape(rng)
        simple = shape.simplified()
        assert (touched(simple), simple.length, simple.moved) == (touched(shape), shape.length, shape.moved)
        assert len(simple.dimensions) <= len(shape.dimensions)


def test_dimensions_without_a_gap_are_one_row() -> None:
    shape = Shape(32, (Dimension(4, 32), Dimension(3, 128), Dimension(2, 1024, 1, 0)))
    assert shape.simplified() == Shape(384, (Dimension(2, 1024, 1, 0),))
    assert Shape(32, (Dimension(4, 32, 1, 0), Dimension(2, 256))).simplified() == Shape(
        128, (Dimension(2, 256),), before=32
    )


def test_the_record_says_the_shape() -> None:
    rng = random.Random(4)
    assert sum(field.bits for field in SHAPE_RECORD) == 8 * RECORD_BYTES
    names = {field.name: 0 for field in SHAPE_RECORD}
    for _ in range(100):
        shape = random_shape(rng)
        said = shape_from(names | shape_values(shape), 4)
        assert said is not None
        assert touched(said) == touched(shape)
        assert said.length == shape.length
    assert shape_from(names | shape_values(shape) | {"run": 0}, 4) is None
    assert shape_from(names | shape_values(shape) | {"order_1": 1, "order_2": 1}, 4) is None


def test_an_engine_takes_the_dimensions_that_it_has_and_ignores_the_order_of_others() -> None:
    said = {field.name: 0 for field in SHAPE_RECORD} | shape_values(Shape(32, (Dimension(2, 64),)))
    assert said["order_4"] == 3
    for order in ({}, {"order_2": 0, "order_3": 0, "order_4": 0}):
        found = shape_from(said | order, 1)
        assert found is not None
        assert found.length == 64
    for name in ("stride_2", "count_4", "before_3", "after_2"):
        assert shape_from(said | {name: 1}, 1) is None
        assert shape_from(said | {name: 1}, 4) is not None


@pytest.mark.parametrize(
    ("shape", "says"),
    [
        (Shape(32, (Dimension(2, 64),) * 4), "its rows overlap"),
        (Shape(32, (Dimension(1, 64),) * 3), ""),
        (Shape(48), "its row has 48 bytes, which is no multiple of 32"),
        (Shape(32, before=4), "its margin before has 4 bytes"),
        (Shape(32, (Dimension(2, 40),)), "the stride of dimension 1 is 40 bytes"),
        (Shape(32, (Dimension(2, SPAN_LIMIT),)), f"it spans {SPAN_LIMIT + 32} bytes"),
        (Shape(32, (Dimension(2, 0),)), "its rows overlap"),
    ],
)
def test_an_objection_says_what_is_wrong(shape: Shape, says: str) -> None:
    assert shape.objection(**FITS).startswith(says)
    assert bool(shape.objection(**FITS)) == bool(says)


def test_an_objection_says_how_many_dimensions_there_are() -> None:
    shape = Shape(32, (Dimension(2, 64), Dimension(2, 256)))
    assert shape.objection(align=32, dimensions=1, writes=False) == (
        "it has 2 dimensions above its row; this engine takes 1"
    )


def test_numbers_without_a_field_are_refused() -> None:
    with pytest.raises(ParameterError, match="count is 65536"):
        Dimension(1 << 16, 0)
    with pytest.raises(ParameterError, match="before is 256"):
        Dimension(1, 0, 256)
    with pytest.raises(ParameterError, match="run is 0"):
        Shape(0)
    with pytest.raises(ParameterError, match="5 dimensions above its row; at most 4"):
        Shape(4, (Dimension(1, 0),) * 5)


def test_an_engine_has_four_dimensions_at_most() -> None:
    with pytest.raises(ParameterError, match="dimensions is 5; it must be a whole number from 0 to 4"):
        EngineConfig(dimensions=5)
