"""``cdma bench codec``: rows as documented, numbers that add up."""

from __future__ import annotations

import numpy as np
import pytest

from cdma import CodecConfig, Format
from cdma.hdl.spec.codec import BLOCKS
from cdma.sim.codec.model import ZVC, analyse
from cdma.sim.codec.stimuli import activations
from cdma.verif.stream.codec.design import CodecDesign
from cdma.verif.stream.codec.measure import SHAPES, standard_designs
from cdma.verif.stream.codec.stimulus import run_tensor
from tests.support.commands import Printed

KEYS = {
    "direction",
    "word_bits",
    "lanes",
    "window",
    "density",
    "in_beats",
    "out_beats",
    "cycles",
    "bound",
    "port",
    "latency",
    "bytes_per_cycle",
}


@pytest.mark.verilator
@pytest.mark.slow
def test_rows(printed: Printed) -> None:
    shape = ["--word-bits", "8", "--window", "8", "--lanes", "4"]
    rows = printed("bench", "codec", *shape)
    assert all(set(row) == KEYS for row in rows)
    assert [row["direction"] for row in rows] == ["compress"] * 11 + ["decompress"] * 11
    words, lanes = 64 * 8, 4
    for row in rows:
        assert (row["word_bits"], row["lanes"], row["window"]) == (8, lanes, 8)
        literals = round(words * row["density"])
        raw, stream = words // lanes, -(-(64 + literals) // lanes)
        wide, narrow = (
            ("in_beats", "out_beats") if row["direction"] == "compress" else ("out_beats", "in_beats")
        )
        assert (row[wide], row[narrow]) == (raw, stream)
        assert max(raw, stream) <= row["cycles"] <= row["bound"]
        assert row["port"] == pytest.approx(max(raw, stream) / row["cycles"], abs=0.0001)
        assert row["bytes_per_cycle"] == pytest.approx(words / row["cycles"], abs=0.01)
    dense = {row["direction"]: row["latency"] for row in rows if row["density"] == 1}
    assert dense["compress"] <= 6
    assert dense["decompress"] <= 4


@pytest.mark.thorough
@pytest.mark.verilator
@pytest.mark.slow
def test_rows_of_a_format_with_a_field(printed: Printed) -> None:
    """Both directions keep the busier port at work, whatever the density and the coverage of the table."""
    rows = printed("bench", "codec", "--format", "bf16", "--window", "16", "--lanes", "4")
    assert all(set(row) == KEYS | {"coverage"} for row in rows)
    shares = [
        (0, 1),
        *((density, coverage) for density in (0.25, 0.5, 0.75, 1) for coverage in (0, 0.5, 0.9, 1)),
    ]
    assert [(row["density"], row["coverage"]) for row in rows] == shares * 2
    words = 256 * 16
    for row in rows:
        stream = 256 * 6 + round(words * row["density"]) * (2 - row["coverage"])
        narrow = "out_beats" if row["direction"] == "compress" else "in_beats"
        assert row[narrow] == pytest.approx(stream / 8, abs=1.1)
        assert row["port"] >= 0.95


def test_the_standard_shapes() -> None:
    assert SHAPES == ((32, 8), (8, 32), (16, 16), (32, 32))
    designs = standard_designs()
    assert [design.block for design in designs] == list(BLOCKS) * 4
    assert designs[2].config == CodecConfig(Format(word_bits=8), 32)


@pytest.mark.verilator
@pytest.mark.slow
@pytest.mark.parametrize("block", BLOCKS)
def test_a_tensor_goes_through(block: str) -> None:
    tensor = activations(1, 0.3)[:, :2, :40, :41].astype(np.float32)
    run = run_tensor(CodecDesign(block), tensor)
    assert run.raw_bytes == tensor.nbytes
    assert run.stream_bytes == 4 * analyse(tensor, ZVC).compressed_words
    assert run.raw_bytes / 32 <= run.cycles <= run.raw_bytes / 32 + 60
    assert run.bytes_per_cycle == run.raw_bytes / run.cycles
