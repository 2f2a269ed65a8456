"""What ``cdma generate engine`` writes."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import fields
from pathlib import Path

import pytest

from cdma.app import main
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.sideband import Sideband

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
    assert {"mover.h", "mover_regs.h", "mover_regs.rdl"} <= set(names) or bare
    assert not [name for name in names if name.endswith((".h", ".rdl"))] or not bare
    assert all(name.startswith("mover") or name == "Bender.yml" for name in names)
    assert bare or '#include "mover_regs.h"' in (tmp_path / "a" / "mover.h").read_text()
    if bare:
        assert main([*options, "-o", str(tmp_path / "b")]) == 0
        # Bender's file has the name of the folder.
        for name in {*names} - {"Bender.yml"}:
            assert (tmp_path / "a" / name).read_text() == (tmp_path / "b" / name).read_text(), name
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
    waivers = tmp_path / "a" / "mover.vlt"
    command = [*tool.command, "--lint-only", "-Wall", str(waivers), str(tmp_path / "a" / "mover.v")]
    done = subprocess.run(command, env=tool.environment, capture_output=True, text=True)
    complaints = [line for line in done.stderr.splitlines() if line.startswith("%Warning")]
    assert not complaints, complaints[:5]


def test_every_parameter_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the sizes in the place of 0, which stands for what follows from others."""
    assert main(["generate", "engine", "--host-axcache", "15", "-o", str(tmp_path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    config = EngineConfig()
    for name in (each.name for each in (*fields(EngineConfig), *fields(Sideband))):
        assert name in told or name in ("format", "sideband"), name
    assert told["host_axcache"] == 15
    assert (told["read_buffer_beats"], told["ring_reads"]) == (config.read_buffer, config.ring_reads)
