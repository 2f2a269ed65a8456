"""What ``cdma generate engine`` writes."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from cdma.app import main

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
