"""``cdma generate`` from the outside, and what ``cdma generate engine`` writes."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import fields
from pathlib import Path

import pytest

from cdma.app import main
from cdma.commands.generate import block
from cdma.hdl.codec.generate import codec_verilog
from cdma.hdl.codec.lossy import stage_design
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.options import Sideband
from cdma.hdl.spec.stage import Quantisation, StageConfig
from tests.support.commands import Printed, Refused, Shown

_SMALL = ["--word-bits", "8", "--window", "8", "--lanes", "2"]


def _period(directory: Path, name: str = "cdma_compressor") -> str:
    """The clock period that the constraints say."""
    (period,) = re.findall(r"^set period_aclk (\S+)$", (directory / f"{name}.sdc").read_text(), re.MULTILINE)
    return period


def test_writes_one_file_and_says_so(tmp_path: Path, shown: Shown) -> None:
    directory = tmp_path / "new" / "rtl"
    said = shown("generate", "compressor", *_SMALL, "-o", str(directory))
    path = directory / "cdma_compressor.v"
    names = {file.name for file in directory.iterdir()}
    ends = "_inst.v _tb.v _cocotb.py .sdc .xdc .vlt .ys .abc .core _component.xml"
    ends += " _datasheet.md _datasheet.html"
    assert names == {"Bender.yml", path.name} | {f"cdma_compressor{end}" for end in ends.split()}
    assert path.read_text() == codec_verilog("compressor", CodecConfig(Format(8, 8), lanes=2))
    assert said.startswith(f"{path}: module cdma_compressor, ")
    assert "2 bytes per cycle" in said
    assert "m_report_tdata[104]" in said
    assert _period(directory) == "1"


@pytest.mark.slow
def test_every_option_arrives(tmp_path: Path, shown: Shown) -> None:
    options = ["--word-bits", "8", "--window", "8", "--lanes", "4", "--code-bits", "2", "--runtime-values"]
    names = ["--name", "mine", "--prefix", "soc_", "--no-init", "--period", "1.5", "--json"]
    summary = json.loads(shown("generate", "decompressor", *options, *names, "-o", str(tmp_path)))
    config = CodecConfig(Format(8, 8, 2), lanes=4, runtime_values=True)
    expected = codec_verilog("decompressor", config, name="mine", prefix="soc_", init=False)
    assert Path(summary["file"]).read_text() == expected
    assert summary["file"] == str(tmp_path / "mine.v")
    assert summary["module"] == "mine"
    assert (summary["values"], summary["table_size"], summary["initial_values"]) == (None, 3, False)
    assert summary["pipelined"] is False
    assert summary["ports"]["values"] == 24
    assert summary["ports"]["s_length_tdata"] == 32
    assert summary["bytes_per_cycle"] == 4
    assert _period(tmp_path, "mine") == "1.5"


def test_a_folder_in_system_verilog(tmp_path: Path) -> None:
    assert main(["generate", "compressor", *_SMALL, "--language", "sv", "-o", str(tmp_path)]) == 0
    names = {file.name for file in tmp_path.iterdir()}
    assert {"cdma_compressor.sv", "cdma_compressor_pkg.sv", "cdma_compressor_inst.sv"} <= names
    assert not {"cdma_compressor.v", "cdma_compressor_inst.v"} & names
    assert "always_ff" in (tmp_path / "cdma_compressor.sv").read_text()
    sources = "sources:\n  - cdma_compressor.sv\n  - cdma_compressor_pkg.sv\n"
    assert (tmp_path / "Bender.yml").read_text().endswith(sources)
    core = (tmp_path / "cdma_compressor.core").read_text()
    assert "- cdma_compressor.sv: {file_type: systemVerilogSource}" in core
    component = (tmp_path / "cdma_compressor_component.xml").read_text()
    assert "<ipxact:language>systemVerilog</ipxact:language>" in component
    assert "PROCASSINIT" in (tmp_path / "cdma_compressor.vlt").read_text()
    assert "`cdma_compressor.sv` is its Verilog" in (tmp_path / "cdma_compressor_datasheet.md").read_text()


@pytest.mark.slow
def test_a_pipelined_codec_and_its_memories(tmp_path: Path, shown: Shown, printed: Printed) -> None:
    options = ["generate", "compressor", *_SMALL, "--pipelined"]
    summary = printed(*options, "--memories", "infer", "-o", str(tmp_path))
    config = CodecConfig(Format(8, 8), lanes=2, pipelined=True)
    assert Path(summary["file"]).read_text() == codec_verilog("compressor", config, memories="infer")
    assert summary["pipelined"] is True
    rows = summary["memories"]
    assert len(rows) == 5
    assert summary["memory_bits"] == sum(row["depth"] * row["width"] for row in rows)
    assert all(row["module"] is None and row["purpose"] and row["path"] for row in rows)
    assert _period(tmp_path) == "8"
    said = shown(*options, "-o", str(tmp_path))
    assert f"5 memories, {summary['memory_bits']:,} bits" in said
    assert "beats of the compressed stream that are complete" in said
    with pytest.raises(SystemExit, match="2"):
        main([*options, "--memories", "none"])


def test_a_stage(tmp_path: Path, shown: Shown, printed: Printed) -> None:
    file = tmp_path / "stage.toml"
    file.write_text('number = "bf16"\nlanes = 2\n')
    options = ["--bits", "4", "--keep-nonzero", "--config", str(file), "--no-init", "-o", str(tmp_path)]
    summary = printed("generate", "quantiser", *options)
    config = StageConfig(Quantisation("bf16", 4, keep_nonzero=True), lanes=2)
    expected = stage_design("quantiser", config, init=False).text
    assert Path(summary["file"]).read_text() == expected
    assert config.settings().items() <= summary.items()
    assert summary["bytes_per_cycle"] == 4
    for port, width in summary["ports"].items():
        span = rf"\[{width - 1}:0\] " if width > 1 else ""
        assert re.search(rf"put +(wire|reg) +{span}{port}\b", expected), port
    assert "-127 to 127, in steps of 2^-126 to 2^120" in shown(
        "generate", "dequantiser", "--lanes", "1", "-o", str(tmp_path)
    )


@pytest.mark.slow
def test_two_blocks_in_one_folder(tmp_path: Path, printed: Printed) -> None:
    """No file of the second is one of the first; the manifest has both, and one of the user's is left alone."""
    for kind in ("compressor", "decompressor"):
        summary = printed("generate", kind, *_SMALL, "-o", str(tmp_path))
        files = {Path(file).name for file in summary["files"]} - {"Bender.yml"}
        assert all(file.startswith(f"cdma_{kind}") for file in files)
    manifest = (tmp_path / "Bender.yml").read_text()
    assert manifest.endswith("sources:\n  - cdma_compressor.v\n  - cdma_decompressor.v\n")
    (tmp_path / "Bender.yml").write_text("package: {name: theirs}\n")
    assert block.manifest(tmp_path, "cdma_quantiser.v") == {}


def test_all_files_or_none(tmp_path: Path, refused: Refused) -> None:
    (tmp_path / "cdma_compressor_datasheet.md").mkdir()
    assert "cdma_compressor_datasheet.md exists and is not a regular file" in refused(
        "generate", "compressor", *_SMALL, "-o", str(tmp_path)
    )
    assert [path.name for path in tmp_path.iterdir()] == ["cdma_compressor_datasheet.md"]


_GENERATE_ENGINE_SMALL = [
    "--word-bits", "16", "--lanes", "4", "--dev-data-bits", "64", "--host-data-bits", "64",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("bare", [False, True], ids=["registers", "bare"])
def test_generate(tmp_path: Path, shown: Shown, bare: bool) -> None:
    """Legal, plain names with the prefix, the documents beside, every parameter said, and nothing to lint."""
    options = [
        "generate",
        "engine",
        *_GENERATE_ENGINE_SMALL,
        "--name",
        "mover",
        "--host-axcache",
        "15",
        "--json",
    ]
    options += ["--no-registers", "--no-init"] if bare else []
    summary = json.loads(shown(*options, "-o", str(tmp_path)))
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == sorted(Path(file).name for file in summary["files"])
    assert {"mover.h", "mover_regs.h", "mover_regs.rdl"} <= set(names) or bare
    assert not [name for name in names if name.endswith((".h", ".rdl"))] or not bare
    assert all(name.startswith("mover") or name == "Bender.yml" for name in names)
    assert bare or '#include "mover_regs.h"' in (tmp_path / "mover.h").read_text()
    text = (tmp_path / "mover.v").read_text()
    modules = re.findall(r"^module (\S+)", text, re.MULTILINE)
    assert modules[0] == "mover"
    assert all(name == "mover" or name.startswith("mover_") for name in modules)
    assert "\\" not in text
    assert ("initial" not in text.replace("initial values", "")) or not bare
    ports = summary["ports"]
    assert {"aclk", "aresetn", "m_axi_dev_araddr", "m_axi_host_wstrb"} <= set(ports)
    assert ports["m_axi_host_wstrb"] == 8
    assert ("s_axil_awaddr" in ports) is not bare
    assert ("s_offload_descriptor_tdata" in ports) is bare
    instance = (tmp_path / "mover_inst.v").read_text()
    assert all(re.search(rf"\.{port} +\({port}\)", instance) for port in ports)

    # A size is said in the place of 0, which stands for what follows from others.
    config = EngineConfig(Format(16), lanes=4, registers=not bare, dev_data_bits=64, host_data_bits=64)
    for name in {each.name for each in (*fields(EngineConfig), *fields(Sideband))} - {"format", "sideband"}:
        assert name in summary, name
    assert summary["host_axcache"] == 15
    assert (summary["read_buffer_beats"], summary["ring_reads"]) == (config.read_buffer, config.ring_reads)
    assert _complaints(tmp_path, "mover") == []


def _complaints(folder: Path, name: str) -> list[str]:
    """What the command of the documents says of a block that is generated into a folder."""
    from cdma.verif.simulator.toolchain import find_verilator

    tool = find_verilator()
    command = [*tool.command, "--lint-only", "-Wall", str(folder / f"{name}.vlt"), str(folder / f"{name}.v")]
    done = subprocess.run(command, env=tool.environment, capture_output=True, text=True)
    return [line for line in done.stderr.splitlines() if line.startswith("%")]
