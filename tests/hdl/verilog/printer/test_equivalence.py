"""The printed Verilog is the netlist that it was printed from: Yosys proves it for every module."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from cdma.hdl.codec.generate import codec_shell
from cdma.hdl.engine.engine import engine_shell
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.verilog.emit import netlist
from cdma.hdl.verilog.printer.design import print_design
from cdma.hdl.verilog.shell import Shell
from cdma.synth.yosys import find_yosys

_CODEC = CodecConfig(Format(8, 16, 2, (0, 7)), lanes=4, runtime_values=True)
_ENGINE = EngineConfig(
    Format(8, 8, 1),
    lanes=2,
    dev_data_bits=64,
    host_data_bits=64,
    dev_address_bits=32,
    host_address_bits=32,
    burst_beats=4,
    latency=4,
    descriptors=2,
    ring_entries=2,
    alignment="word",
)

_SHELLS: dict[str, Callable[[], Shell]] = {
    "compressor": lambda: codec_shell("compressor", _CODEC),
    "decompressor": lambda: codec_shell("decompressor", _CODEC),
    "pipelined_compressor": lambda: codec_shell("compressor", dataclasses.replace(_CODEC, pipelined=True)),
    "pipelined_decompressor": lambda: codec_shell(
        "decompressor", dataclasses.replace(_CODEC, pipelined=True)
    ),
    "engine": lambda: engine_shell(_ENGINE),
}

#: Both sides, each module by itself: the ports of its instances are ports of its own, and memories are registers of the same
#: names. Parents come first, because an instance has the ports of its module as it is then. The Verilog as a whole has no
#: wire that nothing drives, so that an instance has every port that it needs.
_PARTS = """\
read_rtlil gold.il
hierarchy -check -top top
{gold}
memory_map
opt_clean
write_rtlil gold_parts.il
design -reset
read_verilog gate.v
hierarchy -check -top top
proc
design -push-copy
flatten
check -assert
design -pop
{gate}
opt_clean
memory_collect
memory_map
opt_clean
write_rtlil gate_parts.il
"""

#: Wires of the same name are compared. Ports that the printer left out because nothing needs them are ports no longer.
_COMPARED = """\
design -copy-from gold -as gold {module}
design -copy-from gate -as gate {module}
{left_out}
equiv_make gold gate equiv
cd equiv
equiv_simple
equiv_induct
equiv_status -assert
cd
delete gold gate equiv
"""


def _ports(text: str) -> dict[str, set[str]]:
    """The names of the ports of each module of RTLIL."""
    found: dict[str, set[str]] = {}
    for module in re.split(r"^module \\", text, flags=re.MULTILINE)[1:]:
        name = module.split(maxsplit=1)[0]
        found[name] = set(
            re.findall(r"^  wire .*?(?:input|output|inout) \d+ .*?\\(\S+)$", module, re.MULTILINE)
        )
    return found


def _prove(folder: Path, rtlil: str, verilog: str) -> None:
    """Raises ``ToolError`` unless every module of ``verilog`` is the logic of that of ``rtlil``."""
    (folder / "gold.il").write_text(rtlil)
    (folder / "gate.v").write_text(verilog)
    modules = {
        "gold": re.findall(r"^module \\(\S+)$", rtlil, re.MULTILINE),
        "gate": re.findall(r"^module (\S+) \($", verilog, re.MULTILINE),
    }
    # A module is named after its path, so that parents sort before what is in them.
    opened = {
        side: "\n".join(f"expose -evert -sep . {name}/t:top_*" for name in sorted(names))
        for side, names in modules.items()
    }
    yosys = find_yosys()
    yosys.run(_PARTS.format(**opened), folder)
    gold, gate = (_ports((folder / f"{side}_parts.il").read_text()) for side in ("gold", "gate"))
    assert gate.keys() == set(modules["gate"])
    script = [f"read_rtlil {side}_parts.il\ndesign -stash {side}" for side in ("gold", "gate")]
    for module in modules["gate"]:
        left_out = "\n".join(f"delete -port gold/w:{port}" for port in sorted(gold[module] - gate[module]))
        script.append(_COMPARED.format(module=module, left_out=left_out))
    yosys.run("\n".join(script), folder)


@pytest.fixture(scope="module", params=_SHELLS)
def printed(request: pytest.FixtureRequest) -> tuple[str, str]:
    shell = _SHELLS[request.param]()
    rtlil = netlist(shell, "top", prefix="top_", init=False)
    ports = [port.name for port in shell.ports()]
    design = print_design(rtlil, top="top", ports=ports, prefix="top_", wrap=False)
    return rtlil, "\n".join(line for module in design.modules for line in module)


@pytest.mark.slow
def test_it_is_the_same_logic(printed: tuple[str, str], tmp_path: Path) -> None:
    _prove(tmp_path, *printed)
