"""The kinds of files of a package, in the words of the tools that list them."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["KINDS", "FileKind", "kind_of"]


class FileKind(NamedTuple):
    """Files whose names end alike.

    ``group``, ``fusesoc``
        FuseSoC's set of files, and its attributes of each.
    ``ipxact``
        IP-XACT's type; empty for a file that is not for its readers.
    """

    end: str
    group: str
    fusesoc: str
    ipxact: str = ""


#: The first that fits is a file's.
KINDS = (
    FileKind("_tb.v", "bench", "file_type: verilogSource-2005"),
    FileKind("_cocotb.py", "documents", "file_type: user"),
    FileKind("_inst.v", "template", "file_type: user"),
    FileKind("_inst.sv", "template", "file_type: user"),
    FileKind("_uvm.sv", "verification", "file_type: systemVerilogSource", "systemVerilogSource"),
    FileKind(".sv", "rtl", "file_type: systemVerilogSource", "systemVerilogSource"),
    FileKind(".v", "rtl", "file_type: verilogSource-2005", "verilogSource"),
    FileKind(".vhd", "vhdl", "file_type: vhdlSource", "vhdlSource"),
    FileKind(".vlt", "waivers", "file_type: vlt"),
    FileKind(".h", "software", "file_type: cSource, is_include_file: true", "cSource"),
    FileKind(".xdc", "vivado", "file_type: xdc", "user"),
    FileKind(".sdc", "constraints", "file_type: SDC", "SDC"),
    FileKind(".ys", "synthesis", "file_type: user"),
    FileKind(".abc", "synthesis", "file_type: user"),
    FileKind(".tcl", "synthesis", "file_type: tclSource", "tclSource"),
    FileKind(".rdl", "documents", "file_type: user", "user"),
    FileKind("_datasheet.html", "documents", "file_type: user", "user"),
    FileKind("", "documents", "file_type: user"),
)


def kind_of(file: str) -> FileKind:
    """The kind of a file by its name."""
    return next(kind for kind in KINDS if file.endswith(kind.end))
