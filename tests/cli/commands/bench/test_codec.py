"""``cdma bench codec``: rows as documented, numbers that add up. ``cdma bench stage``: the rates and latencies that the
documents state. ``cdma bench software``, and the activations it makes. The picture of rows: a line per direction, the
least over densities, beside what the memory can give.
"""

from __future__ import annotations

import json
import re
import sys

import numpy as np
import pytest

import cdma
from cdma.app import main
from cdma.hdl.spec.codec import BLOCKS
from cdma.sim.codec import software_bench
from cdma.sim.codec.model import ZVC, analyse
from cdma.sim.codec.software import installed
from cdma.sim.codec.stimuli import activations
from cdma.verif.stream.codec.design import CodecDesign
from cdma.verif.stream.codec.stimulus import run_tensor
from tests.support.commands import Printed, Shown

KEYS = {
    "direction", "word_bits", "lanes", "window", "density", "in_beats", "out_beats", "cycles", "bound",
    "port", "latency", "bytes_per_cycle",
}  # fmt: skip


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


@pytest.mark.verilator
@pytest.mark.slow
def test_a_beat_per_cycle(shown: Shown, printed: Printed) -> None:
    """And a quantiser takes one cycle more for each packet."""
    command = ["bench", "stage", "--number", "bf16", "--lanes", "1"]
    rows = printed(*command)
    assert {row["block"] for row in rows} == {"quantiser", "dequantiser"}
    for row in rows:
        quantises = row["block"] == "quantiser"
        assert row["cycles"] == row["bound"] == 8 * row["beats"] + 7 * quantises
        assert row["latency"] == 1 + quantises
        assert row["bytes_per_cycle"] == pytest.approx(2 * 8 * row["beats"] / row["cycles"], abs=0.01)
    title, rule, *lines = shown(*command, "--markdown").splitlines()
    assert title.startswith("| block | numbers | integers | beats of a packet |")
    assert len(lines) == len(rows) == 12
    assert rule.count("|") == title.count("|")


OTHERS = {"lz4": "LZ4", "zstandard": "zstd 1", "blosc2": "blosc2 LZ4 1"}


def run(capsys, *arguments):
    status = main(["bench", "software", *map(str, arguments)])
    return status, *capsys.readouterr()


def test_rows_as_json(capsys):
    status, out, _ = run(capsys, "--size", 0.5, "--rounds", 1, "--density", 0.2, 0.7, "--json")
    assert status == 0
    report = json.loads(out)
    assert [bench["bytes"] for bench in report["benches"]] == [500_000, 500_000]
    for bench, density in zip(report["benches"], (0.2, 0.7), strict=True):
        assert bench["density"] == pytest.approx(density, abs=0.05)
        rows = {row.pop("codec"): row for row in bench["rows"]}
        expected = {"cDMA numpy", *(f"cDMA {name}" for name in installed()), "zlib 1", "memcpy"}
        expected |= {"cdma.compress", "cdma.compress(out=)", "array.copy"}
        expected |= {name for package, name in OTHERS.items() if package not in report["missing"]}
        assert set(rows) == expected
        assert rows["memcpy"]["ratio"] == 1
        for name, row in rows.items():
            if name.lower().startswith("cdma"):
                assert row["ratio"] == pytest.approx(32 / (1 + 32 * bench["density"]), rel=1e-3)
        assert all(rate > 0 for row in rows.values() for rate in row.values())


def test_table_and_own_input(tmp_path, capsys):
    path = tmp_path / "own.npy"
    np.save(path, np.tile(np.array([0, 0, 0, 7], np.int8), 4096))
    status, out, _ = run(capsys, "--input", path, "--rounds", 1)
    assert status == 0
    rows = [line for line in out.splitlines() if "cDMA" in line]
    assert len(rows) == 1 + len(installed())
    assert all(f" {32 / (4 + 8):.2f} " in row for row in rows)
    assert "own.npy" in out


def test_missing_packages_are_said(monkeypatch, capsys):
    for package in OTHERS:
        monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setitem(sys.modules, "lz4.block", None)
    status, out, _ = run(capsys, "--size", 0.1, "--rounds", 1)
    assert status == 0
    assert re.search(
        r"not installed, so not measured: lz4, zstandard, blosc2 \(pip install '.*\[bench\]'\)", out
    )
    assert "zlib 1" in out


def test_a_codec_that_loses_something_is_caught():
    liar = software_bench.Codec("liar", lambda tensor: bytes(4), lambda data: bytes(16))
    with pytest.raises(software_bench.WrongRoundTrip, match="liar did not give back what it was given"):
        list(software_bench.measure(np.arange(4, dtype=np.float32), [liar], 1))


@pytest.mark.parametrize("density", [0, 0.1, 0.45, 1])
def test_activations_have_their_density_and_seed(density):
    made = activations(100_000, density, seed=5)
    assert made.dtype == np.float32
    assert made.size >= 100_000
    assert (made >= 0).all()
    assert cdma.analyse(made).density == pytest.approx(density, abs=0.01)
    assert np.array_equal(made, activations(100_000, density, seed=5))
    if density not in (0, 1):
        assert not np.array_equal(made, activations(100_000, density, seed=6))
        zero = made == 0
        by_chance = density**2 + (1 - density) ** 2
        assert (zero[..., 1:] == zero[..., :-1]).mean() > by_chance + 0.05
