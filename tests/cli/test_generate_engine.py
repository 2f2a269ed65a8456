"""The engine's parameters, on the command line and off it, and what ``cdma generate engine`` writes."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from cdma.app import main
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.errors import ParameterError
from cdma.hdl.spec.format import Format

_SMALL = [
    "--word-bits",
    "16",
    "--lanes",
    "4",
    "--dev-data-bits",
    "64",
    "--host-data-bits",
    "64",
    "--latency",
    "16",
]


def test_buffer_follows_bandwidth_times_latency() -> None:
    assert EngineConfig().read_buffer == 512
    assert EngineConfig(latency=100).read_buffer == 128
    assert EngineConfig(latency=1).read_buffer == 64, "two bursts are the least"
    assert EngineConfig(read_buffer_beats=1024).read_buffer == 1024
    assert EngineConfig().write_buffer == 128


@pytest.mark.parametrize(("bits", "beats"), [(64, 256), (128, 256), (256, 128), (512, 64), (1024, 32)])
def test_a_burst_never_has_more_than_a_page(bits: int, beats: int) -> None:
    assert EngineConfig(burst_beats=256).burst(bits) == beats


@pytest.mark.parametrize(("alignment", "bytes_"), [("beat", (32, 64)), ("word", (2, 2))])
def test_alignment_in_bytes(alignment: str, bytes_: tuple[int, int]) -> None:
    config = EngineConfig(format=Format(word_bits=16), alignment=alignment)
    assert (config.align(256), config.align(512)) == bytes_


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"dev_data_bits": 96}, "dev_data_bits is 96; it must be one of 64, 128, 256, 512, 1024"),
        ({"host_address_bits": 65}, "host_address_bits is 65; it must be a whole number from 13 to 64"),
        ({"alignment": "byte"}, "alignment is 'byte'; it must be one of beat, word"),
        ({"alignment": 4}, "alignment is 4"),
        ({"burst_beats": 7}, "burst_beats is 7"),
        ({"outstanding": 0}, "outstanding is 0; it must be a whole number from 1 to 256"),
        ({"outstanding": True}, "outstanding is True"),
        ({"latency": 0}, "latency is 0"),
        ({"read_buffer_beats": 32}, "read_buffer_beats is 32"),
        ({"write_buffer_beats": 100}, "write_buffer_beats is 100"),
        ({"descriptors": 3}, "descriptors is 3"),
        ({"ring_entries": 100}, "ring_entries is 100"),
        ({"registers": 1}, "registers is 1; it must be true or false"),
        ({"pipelined": 1}, "pipelined is 1; it must be true or false"),
        ({"pipelined": True, "lanes": 16}, "a pipelined codec needs windows of at least 4 beats"),
        ({"lanes": 64}, "lanes is 64; it must not exceed the window of 32 words"),
        ({"format": Format(word_bits=4)}, "word_bits is 4; an engine needs words of 8, 16 or 32 bits"),
        ({"format": 8}, "format is 8; it must be a Format"),
    ],
)
def test_refuses(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=re.escape(message)):
        EngineConfig(**parameters)  # type: ignore[arg-type]


def _check_core(core: dict[str, Any], names: list[str], bare: bool) -> None:
    """The structure that FuseSoC's CAPI2 asks for; every file is there, and every other file is named or about it."""
    assert set(core) == {"CAPI=2", "name", "description", "filesets", "targets"}
    assert re.fullmatch(r"cdma:dma:mover:\d+\.\d+\.\d+", core["name"])
    types = {
        file: attributes
        for fileset in core["filesets"].values()
        for entry in fileset["files"]
        for file, attributes in entry.items()
    }
    assert {*types, "mover.core", "mover_inst.v"} == set(names)
    for target in core["targets"].values():
        assert set(target["filesets"]) <= set(core["filesets"])
    assert {name: target["filesets"] for name, target in core["targets"].items()} == {
        "default": ["rtl"],
        "lint": ["rtl", "waivers"],
        **({} if bare else {"software": ["software"]}),
    }
    assert core["targets"]["lint"]["flow"] == "lint"
    assert types["mover.v"] == {"file_type": "verilogSource-2005"}
    assert types["cdma.vlt"] == {"file_type": "vlt"}
    headers = {file for file, attributes in types.items() if attributes["file_type"] == "cSource"}
    assert headers == (set() if bare else {"cdma.h", "cdma_regs.h"})
    assert all(types[file]["is_include_file"] for file in headers)


@pytest.mark.slow
@pytest.mark.parametrize("bare", [False, True], ids=["registers", "bare"])
def test_generate(tmp_path: Path, capsys: pytest.CaptureFixture[str], bare: bool) -> None:
    """Legal, plain names with the prefix, the documents beside, the same text again, and nothing to lint."""
    options = ["generate", "engine", *_SMALL, "--name", "mover", "--json"]
    options += ["--no-registers", "--no-init"] if bare else []
    assert main([*options, "-o", str(tmp_path / "a")]) == 0
    summary = json.loads(capsys.readouterr().out)
    names = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert names == sorted(Path(file).name for file in summary["files"])
    assert ("cdma_regs.h" in names) is not bare
    if bare:
        assert main([*options, "-o", str(tmp_path / "b")]) == 0
        for name in names:
            assert (tmp_path / "a" / name).read_text() == (tmp_path / "b" / name).read_text(), name
    _check_core(yaml.safe_load((tmp_path / "a" / "mover.core").read_text()), names, bare)
    text = (tmp_path / "a" / "mover.v").read_text()
    modules = re.findall(r"^module (\S+)", text, re.MULTILINE)
    assert modules[0] == "mover" or "mover" in modules
    assert all(name == "mover" or name.startswith("mover_") for name in modules)
    assert "\\" not in text
    assert ("initial" not in text.replace("initial values", "")) or not bare
    ports = summary["ports"]
    assert {"aclk", "aresetn", "m_axi_dev_araddr", "m_axi_host_wstrb"} <= set(ports)
    assert ports["m_axi_host_wstrb"] == 8
    assert ("s_axil_awaddr" in ports) is not bare
    assert ("s_offload_descriptor_tdata" in ports) is bare
    instance = (tmp_path / "a" / "mover_inst.v").read_text()
    assert all(re.search(rf"\.{port} +\({port}\)", instance) for port in ports)

    from cdma.verif.simulator.toolchain import find_verilator

    tool = find_verilator()
    waivers = tmp_path / "a" / "cdma.vlt"
    command = [*tool.command, "--lint-only", "-Wall", str(waivers), str(tmp_path / "a" / "mover.v")]
    done = subprocess.run(command, env=tool.environment, capture_output=True, text=True)
    complaints = [line for line in done.stderr.splitlines() if line.startswith("%Warning")]
    assert not complaints, complaints[:5]


def test_reads_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from cdma.app import _parser
    from cdma.options import engine_config_from

    path = tmp_path / "engine.toml"
    path.write_text("word_bits = 16\ndev_data_bits = 512\noutstanding = 4\n")
    arguments = _parser().parse_args(["generate", "engine", "--config", str(path), "--outstanding", "8"])
    config = engine_config_from(arguments)
    assert config == EngineConfig(format=Format(word_bits=16), dev_data_bits=512, outstanding=8)
    path.write_text('alignment = "word"\n')
    for options, alignment in (([], "word"), (["--alignment", "beat"], "beat")):
        arguments = _parser().parse_args(["verify", "engine", "--config", str(path), *options])
        assert engine_config_from(arguments) == EngineConfig(alignment=alignment)
    path.write_text("pipelined = true\n")
    for options, pipelined in (([], True), (["--no-pipelined"], False)):
        arguments = _parser().parse_args(["area", "engine", "--config", str(path), *options])
        config = engine_config_from(arguments)
        assert config == EngineConfig(pipelined=pipelined)
        assert config.codec.pipelined == pipelined
    assert main(["generate", "engine", "--alignment", "byte"]) == 2
    assert "alignment is 'byte'" in capsys.readouterr().err
    path.write_text("outstandings = 4\n")
    assert main(["generate", "engine", "--config", str(path)]) == 2
    assert "unknown key 'outstandings'" in capsys.readouterr().err
