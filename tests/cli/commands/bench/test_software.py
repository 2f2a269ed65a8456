"""``cdma bench software``, and the activations it makes."""

from __future__ import annotations

import json
import re
import sys

import numpy as np
import pytest

import cdma
from cdma.app import main
from cdma.sim.codec import software_bench
from cdma.sim.codec.software import installed
from cdma.sim.codec.stimuli import activations

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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--density", 1.5], "density is 1.5; it is the fraction of words that are not 0, from 0 to 1"),
        (["--rounds", 0], "rounds is 0; at least one is needed"),
        (["--size", 0], "size is 0.0 MB; it must be above 0 and at most 10000"),
        (
            ["--word-bits", 4, "--window", 16, "--size", 0.1],
            "word_bits is 4; bytes hold words of 8, 16 or 32 bits",
        ),
        (["--input", "/nowhere.npy"], "cannot read /nowhere.npy: No such file or directory"),
    ],
)
def test_refused(arguments, message, capsys):
    status, _, err = run(capsys, *arguments)
    assert status == 2
    assert err.startswith(f"cdma: {message}")


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


def test_big_endian_input(tmp_path, capsys):
    path = tmp_path / "big.npy"
    np.save(path, np.maximum(np.random.default_rng(0).standard_normal(5000), 0).astype(">f4"))
    status, out, err = run(capsys, "--rounds", 1, "--input", path)
    assert (status, err) == (0, "")
    assert "0.0 MB of float32, density 0.49" in out
