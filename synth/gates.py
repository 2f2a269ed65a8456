"""The netlist of gates of a design, as Verilog that a simulator runs."""

from __future__ import annotations

import gzip
import re
from collections.abc import Sequence
from pathlib import Path

from cdma.base.cache import content_key, kept_text
from cdma.base.yosys import Yosys, find_yosys, scratch

from .errors import LibraryError

__all__ = ["gate_netlist"]

#: Part of every key: raise it when this module makes another netlist of the same design.
_REVISION = "1"

#: Modules with a memory stay what they are, as macros would. Everything else becomes one module of gates and flip-flops.
_SCRIPT = """\
read_verilog -sv design.v
hierarchy -check -top {top}
proc
select -set memories t:$mem* t:$memrd* t:$memwr* %u %u %m
tee -q -o memories select -list-mod @memories
blackbox @memories
synth -flatten -top {top}
{mapped}
opt_clean -purge
delete =A:blackbox
{cells}
write_verilog -noattr netlist.v
"""


def gate_netlist(verilog: str, top: str, liberty: Sequence[Path] = ()) -> str:
    """The module ``top`` of ``verilog`` as gates: those of the ``liberty`` files, which come with it as modules of their
    functions, or Yosys's own of two inputs.

    It is kept by content. A design with initial values would need flip-flops that have them: give the Verilog without.
    """
    yosys = find_yosys()
    libraries = [_text(path) for path in liberty]
    key = content_key(_REVISION, str(yosys), top, verilog, *libraries)
    return kept_text("gates", key, ".v", lambda: _synthesise(yosys, verilog, top, libraries))


def _text(path: Path) -> bytes:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise LibraryError(f"the library {path} cannot be read: {error.strerror}") from None
    return gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content


def _synthesise(yosys: Yosys, verilog: str, top: str, libraries: Sequence[bytes]) -> str:
    names = [f"cells{number}.lib" for number in range(len(libraries))]
    given = " ".join(f"-liberty {name}" for name in names)
    with scratch() as folder:
        (folder / "design.v").write_text(verilog)
        for name, content in zip(names, libraries, strict=True):
            (folder / name).write_bytes(content)
        mapped = f"dfflibmap {given}\nabc {given}" if names else ""
        # Of each cell its function, as a module.
        cells = "\n".join(f"read_liberty -ignore_miss_func {name}" for name in names)
        yosys.run(_SCRIPT.format(top=top, mapped=mapped, cells=cells), folder)
        netlist = (folder / "netlist.v").read_text()
        memories = (folder / "memories").read_text().split()
    return "\n".join([netlist, *(_module(verilog, name) for name in memories)])


def _module(verilog: str, name: str) -> str:
    """The text of one module."""
    found = re.search(rf"^module {re.escape(name)} \(.*?^endmodule$", verilog, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[0] + "\n"
