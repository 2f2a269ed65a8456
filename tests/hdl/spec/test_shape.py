"""Shapes as plain data: what they span, in which order they are walked, and what the engine refuses."""

import random

import pytest

from cdma.base.errors import ParameterError
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.records import RECORD_BYTES
from cdma.hdl.spec.shape import SPAN_LIMIT, Dimension, Shape
from cdma.hdl.spec.shape_record import SHAPE_RECORD, shape_from, shape_values

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
