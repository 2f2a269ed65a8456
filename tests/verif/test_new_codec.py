"""A codec is a folder of its own and a line in a list: the toy codec goes through everything that a codec goes through."""

from __future__ import annotations

import json
import shlex

import numpy as np
import pytest
from amaranth.hdl import Fragment

import cdma
from cdma.app import main
from cdma.hdl.spec.codec import BLOCKS, CODECS, VARIABLE, CodecConfig, codec_named
from cdma.hdl.spec.engine import EngineConfig
from cdma.sim.codec.model import CodecModel
from cdma.verif.stream.codec.codec_bench import CodecBench
from tests.support.commands import Refused
from tests.support.verbatim.description import LINE, Verbatim


@pytest.fixture(autouse=True)
def verbatim(monkeypatch: pytest.MonkeyPatch) -> None:
    """The line in the list: here, and in the simulations that are started from here."""
    for name, reference in LINE.items():
        monkeypatch.setitem(CODECS, name, reference)
        monkeypatch.setenv(VARIABLE, f"{name}={reference}")


def run(capsys: pytest.CaptureFixture[str], *words: str) -> dict:
    """What a command prints as JSON."""
    assert main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("name", ["frequent-value", "verbatim"])
def test_descriptions_are_whole(name: str) -> None:
    codec = codec_named(name)
    assert codec.name == codec.format.codec == name
    assert isinstance(codec.load("model"), CodecModel)
    assert isinstance(codec.load("bench"), CodecBench)
    config = CodecConfig(codec.format())
    assert CodecConfig.from_settings(json.loads(json.dumps(config.settings()))) == config
    engine = EngineConfig(codec.format(), outstanding=3)
    assert EngineConfig.from_settings(json.loads(json.dumps(engine.settings()))) == engine
    for block in BLOCKS:
        component = codec.load(block)(config)
        assert ("length" in component.signature.members) == (block == "decompressor")
        Fragment.get(component, None)  # it can be elaborated


def test_software_takes_it() -> None:
    words = np.arange(1000, dtype=np.uint16)
    packed = cdma.compress(words, Verbatim(16))
    assert packed == words.tobytes()
    assert (cdma.decompress(packed, 1000, Verbatim(16)) == words).all()
    assert cdma.analyse(words, Verbatim(16)).ratio == 1
    with pytest.raises(cdma.CorruptStream, match="the stream ends after 999 of 1000 words"):
        cdma.decompress(packed[:-2], 1000, Verbatim(16))


def test_files_name_it(tmp_path, capsys: pytest.CaptureFixture[str]) -> None:
    array = np.arange(5000, dtype="<u4")
    np.save(tmp_path / "a.npy", array)
    packed, back = tmp_path / "a.cdma", tmp_path / "b.npy"
    assert main(["compress", str(tmp_path / "a.npy"), str(packed), "--codec", "verbatim"]) == 0
    assert b'"codec": "verbatim"' in packed.read_bytes()
    assert main(["decompress", str(packed), str(back)]) == 0
    assert (np.load(back) == array).all()


def test_a_codec_refuses_options_that_it_lacks(refused: Refused) -> None:
    with pytest.raises(cdma.ParameterError, match="pipelined is true; the codec verbatim is not built so"):
        CodecConfig(Verbatim(), pipelined=True)
    with pytest.raises(
        cdma.ParameterError, match="codec is 'huffman'; it must be one of frequent-value, verbatim"
    ):
        CodecConfig.from_settings({"codec": "huffman"})
    assert "code_bits" in refused("generate", "compressor", "--codec", "verbatim", "--code-bits", "2")


@pytest.mark.parametrize("block", BLOCKS)
def test_generate(block: str, tmp_path, capsys: pytest.CaptureFixture[str]) -> None:
    made = run(capsys, "generate", block, "--codec", "verbatim", "--word-bits", "16", "-o", str(tmp_path))
    text = (tmp_path / f"cdma_{block}.v").read_text()
    assert "//   codec           verbatim" in text
    assert made["ports"]["s_axis_tdata"] == 128


@pytest.mark.verilator
@pytest.mark.parametrize("block", BLOCKS)
def test_verify(block: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--codec", "verbatim", "--word-bits", "16", "--lanes", "4", "--packets", "60")
    assert run(capsys, "verify", block, *words)["passed"]


def test_area(capsys: pytest.CaptureFixture[str], tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyosys.libyosys")
    monkeypatch.setenv("CDMA_CACHE", str(tmp_path))
    row = run(capsys, "area", "compressor", "--codec", "verbatim", "--word-bits", "8", "--lanes", "2")
    assert "verbatim" in json.dumps(row)


#: A small engine around the codec.
_ENGINE = shlex.split(
    "--codec verbatim --word-bits 16 --lanes 4 --dev-data-bits 64 --host-data-bits 128 --burst-beats 8"
    " --outstanding 4 --latency 16 --ring-entries 8 --descriptors 4"
)


@pytest.mark.verilator
@pytest.mark.parametrize(
    "registers", [pytest.param("--registers", marks=pytest.mark.thorough), "--no-registers"]
)
def test_an_engine_has_it(registers: str, tmp_path, capsys: pytest.CaptureFixture[str]) -> None:
    made = run(capsys, "generate", "engine", *_ENGINE, registers, "-o", str(tmp_path))
    assert not any("values" in port for port in made["ports"])
    tests = ("--tests", "soak", "corrupt", "capacity", "--transfers", "15")
    assert run(capsys, "verify", "engine", *_ENGINE, registers, *tests)["passed"]
