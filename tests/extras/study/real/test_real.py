"""Trained networks: what is tapped, what a record keeps, and the records and tables that come with cdma."""

from __future__ import annotations

import subprocess
import wave
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from cdma.sim.codec.fit import profile
from cdma.sim.codec.number_types import bfloat16_bits
from cdma.study.profile.link import Settings
from cdma.study.profile.report import Report
from cdma.study.real import record, taps
from cdma.study.real.networks import NETWORKS, Inputs, Network, slices
from cdma.study.real.record import Record, load_record, make_record, recorded, recorded_names
from cdma.study.real.summary import page, picture
from cdma.study.real.taps import Tapped, torch_tensors
from cdma.study.recorded import DATA
from tests.support.commands import Printed, Refused
from tests.support.paths import ROOT


def _numbers(shape: tuple[int, ...], seed: int = 1) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def _network(tensors: list[Tapped]) -> Network:
    def run(path: Path, inputs: Inputs) -> Iterator[Tapped]:
        yield from tensors

    return Network("small", "small==1", "weights", "MIT", "nothing", "noise", run)


def _rectified() -> Tapped:
    """Planes of which the first channel is never zero, and the second always."""
    numbers = np.maximum(_numbers((2, 4, 16, 16)), 0)
    numbers[:, 0], numbers[:, 1] = 1, 0
    return Tapped("relu", "relu", numbers, "float32", 1)


@pytest.fixture(scope="module")
def small() -> Record:
    dense = Tapped("dense", "linear", _numbers((32, 64)), "float32", -1)
    halves = Tapped("halves", "softmax", bfloat16_bits(_numbers((32, 64))), "bfloat16", -1)
    taps = [_rectified(), dense, halves]
    return make_record(_network(taps), taps, 64, {"numpy": "2"})


def test_the_records_of_eight_networks_and_more_come_with_it() -> None:
    records = [recorded(name) for name in recorded_names()]
    assert {each.name for each in records} == set(NETWORKS)
    assert len(records) >= 8
    assert sum(len(each.tensors) for each in records) >= 200
    for each in records:
        file = DATA / "real" / f"{each.name}.json"
        assert file.stat().st_size <= 400_000
        assert each.text() == file.read_text(encoding="utf-8"), "it is read as it was written"
        assert (each.package, each.licence) == (NETWORKS[each.name].package, NETWORKS[each.name].licence)


@pytest.mark.slow
def test_the_page_and_the_picture_of_the_documents_are_of_the_records() -> None:
    records = [recorded(name) for name in recorded_names()]
    figures = ROOT / "docs/figures"
    assert page(records) == (figures / "real.md").read_text(encoding="utf-8")
    assert picture(records) == (figures / "real.svg").read_text(encoding="utf-8")


def test_a_record_keeps_what_a_tensor_is(small: Record) -> None:
    relu, dense, halves = small.tensors
    assert [each.kind for each in small.tensors] == ["after a ReLU", "products", "weights of attention"]
    # Of four channels one is full, one empty, and about half of the others is zero.
    assert relu.channels[0] == 0
    assert relu.channels[-1] == 1
    assert 0.3 < relu.channels[2] < 0.7
    assert relu.negative == 0
    assert dense.negative == pytest.approx(0.5, abs=0.05)
    assert sum(dense.exponents.values()) == pytest.approx(1, abs=0.02)
    assert max(dense.exponents, key=lambda number: dense.exponents[number]) in ("126", "125")
    assert set(relu.layouts) == {"NCHW", "NHWC", "CHWN"}
    # Runs of zeros of a whole channel are long where its elements lie together.
    assert relu.layouts["NCHW"][0] > relu.layouts["NHWC"][0]
    assert len(relu.bounded) == 3
    assert dense.layouts == {}
    assert halves.number_type == "bfloat16"
    assert halves.own == halves.rounded


@pytest.mark.parametrize("rounded", [False, True])
def test_a_verdict_of_a_record_is_that_of_the_tensors(small: Record, rounded: bool) -> None:
    numbers = [_rectified().numbers, _numbers((32, 64))]
    if rounded:
        numbers = [bfloat16_bits(each) for each in numbers]
    names = ("relu", "dense")
    kind = "bfloat16" if rounded else "float32"
    whole = [profile(name, each, kind) for name, each in zip(names, numbers, strict=True)]
    kept = [each.profile(rounded=rounded) for each in small.tensors[:2]]
    for one, two in zip(whole, kept, strict=True):
        assert [fit.kind for fit in one.fits] == [fit.kind for fit in two.fits]
        assert [str(fit) for fit in one.fits] == [str(fit) for fit in two.fits]
        assert one.density == pytest.approx(two.density, rel=1e-3)
    settings = Settings(link=1e9)
    assert Report(tuple(kept), settings).speedup == pytest.approx(Report(tuple(whole), settings).speedup)


def test_a_record_of_many_tensors_has_some_evenly_spaced(tmp_path: Path) -> None:
    taps = [Tapped("again", "conv", _numbers((4, 512), seed), "float32", 1) for seed in range(9)]
    made = make_record(_network(taps), taps, 3, {})
    assert (made.computed, made.bytes) == (9, 9 * 4 * 512 * 4)
    assert [each.name for each in made.tensors] == ["again", "again (2)", "again (3)"]
    assert made.tensors[2].own == record._tensor(taps[8]).own
    path = tmp_path / "small.json"
    path.write_text(made.text())
    assert asdict(load_record(path)) == asdict(made)


@pytest.mark.parametrize("text", ["{}", '{"columns": ["name"], "formats": [[], []], "tensors": [["a"]]}'])
def test_what_is_no_record_is_refused(text: str, tmp_path: Path, refused: Refused) -> None:
    (tmp_path / "other.json").write_text(text)
    assert "other.json" in refused("study", "collect", "--records", tmp_path)


def test_a_graph_is_followed_from_its_input_on() -> None:
    sizes = {"weight": 12, "offset": 3}
    graph = taps._Graph(["x"], lambda name: sizes.get(name, 0), 1)
    some, none = _numbers((2, 3)), np.zeros(2, np.int64)

    def tap(name: str, operation: str, inputs: list[str], numbers: Any = some) -> list[Tapped]:
        return list(graph.tap(name, operation, numbers, inputs, [name], 6))

    (conv,) = tap("a", "Conv", ["x", "weight", "offset"])
    assert (conv.operation, conv.reads, conv.parameters, conv.macs) == ("conv", ("",), 15, 6)
    assert (
        tap("b", "Reshape", ["a", "shape"])
        == tap("c", "Shape", ["a"], none)
        == tap("d", "Mul", ["weight"])
        == []
    )
    (again,) = tap("e", "Conv", ["b", "weight"])
    assert (again.reads, again.parameters) == (("a",), 0)
    (joined,) = tap("f", "Concat", ["b", "e"])
    assert (joined.reads, joined.fresh) == (("a", "e"), False)


def test_a_part_is_from_the_middle_with_channels_first() -> None:
    numbers = np.arange(2 * 64 * 64 * 40, dtype=np.float32).reshape(2, 64, 64, 40)
    found = slices("face", [Tapped(f"activation_{each}", "", numbers, "float32", -1) for each in (2, 9)])
    assert list(found) == ["face.relu2", "face.relu9"]
    np.testing.assert_array_equal(found["face.relu2"][0, 0], numbers[0, 16:48, 16:48, 16])
    with pytest.raises(ValueError, match="crepe computes no tensor that is called relu2"):
        slices("crepe", [])


def test_modules_are_tapped_and_left_as_they_were() -> None:
    inner = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU())
    model = torch.nn.Sequential(inner, torch.nn.Linear(64, 2))
    found = list(torch_tensors(model, torch.ones(32, 32), channels=-1))
    operations = [("0.0", "linear", ("",)), ("0.1", "relu", ("0.0",)), ("1", "linear", ("0.1",))]
    assert [(each.name, each.operation, each.reads) for each in found] == operations
    assert [(each.parameters, each.macs) for each in found] == [(2112, 65536), (0, 0), (130, 4096)]
    assert [each.fresh for each in found] == [True, True, False]
    assert (found[1].numbers >= 0).all()
    halves = list(torch_tensors(model.bfloat16(), torch.ones(64, 32, dtype=torch.bfloat16)))
    assert [each.numbers.dtype for each in halves] == [np.uint16] * 3
    assert not any(module._forward_hooks for module in model.modules())


def test_speech_is_resampled_and_repeated(tmp_path: Path) -> None:
    pytest.importorskip("scipy")
    with wave.open(str(tmp_path / "one.wav"), "wb") as file:
        file.setparams((1, 2, 48000, 0, "NONE", ""))
        file.writeframes((np.sin(np.arange(4800) / 50) * 16384).astype("<i2").tobytes())
    speech = Inputs(tmp_path).speech(16000, 4000)
    assert speech.shape == (4000,)
    assert 0.4 < speech.max() < 0.6
    np.testing.assert_array_equal(speech[:1600], speech[1600:3200])


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["squeezenet"], "network is 'squeezenet'; it must be one of crepe"),
        (["--sounds", "x"], "--sounds is given without --into"),
        (["--records", "."], "which has no record"),
    ],
)
def test_a_command_is_refused_with_a_reason(
    words: list[str], told: str, refused: Refused, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert told in refused("study", "collect", *words)


def test_a_missing_library_a_missing_sound_and_a_missing_package_have_a_sentence(
    refused: Refused, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CDMA_CACHE", str(tmp_path / "cache"))

    def fails(*words: Any, **options: Any) -> Any:
        return subprocess.CompletedProcess(words, 1, "", "ERROR: no such version\n")

    monkeypatch.setattr("cdma.study.real.networks.subprocess.run", fails)
    into = ("study", "collect", "hand", "--into", tmp_path / "records")
    assert "cannot fetch mediapipe==0.10.21: ERROR: no such version" in refused(*into)
    assert not (tmp_path / "records").exists()
    with pytest.raises(taps.MissingReal, match=r"needs the package onnx: pip install .*real"):
        taps.require("no_such_module", "onnx")
    with pytest.raises((ValueError, ImportError), match=r"no WAV files|needs the package"):
        Inputs(tmp_path).speech(16000, 100)


def test_a_recorded_network_has_a_verdict(printed: Printed) -> None:
    found = printed("study", "profile", "hand", "--link", "51", "--hidden-forward", "0", "--units", "4")
    assert len(found["tensors"]) == len(recorded("hand").tensors)
    assert found["speedup"] > 1.5
    assert found["verdict"]["action"] == "offload, compress in the engine"
