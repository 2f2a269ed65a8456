"""What ``cdma generate engine`` writes."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import fields
from pathlib import Path

import pytest

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.options import Sideband
from tests.support.commands import Shown

_SMALL = ["--word-bits", "16", "--lanes", "4", "--dev-data-bits", "64", "--host-data-bits", "64"]


@pytest.mark.slow
@pytest.mark.parametrize("bare", [False, True], ids=["registers", "bare"])
def test_generate(tmp_path: Path, shown: Shown, bare: bool) -> None:
    """Legal, plain names with the prefix, the documents beside, every parameter said, and nothing to lint."""
    options = ["generate", "engine", *_SMALL, "--name", "mover", "--host-axcache", "15", "--json"]
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


@pytest.mark.slow
@pytest.mark.parametrize("channels", ["1", "2"])
def test_queue_pairs_have_nothing_to_lint(tmp_path: Path, shown: Shown, channels: str) -> None:
    shown("generate", "engine", *_SMALL, "--channels", channels, "-o", str(tmp_path))
    assert _complaints(tmp_path, "cdma_engine") == []
