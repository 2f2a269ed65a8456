"""A generated module with all that its package is made from: language, files, ports, an instantiation."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from cdma.base.errors import ParameterError
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.registers.description import RegisterMap
from cdma.hdl.spec.stage import StageConfig

if TYPE_CHECKING:
    from cdma.hdl.deliver.bench.opening import Vectors
    from cdma.hdl.verilog.emit import Verilog
    from cdma.hdl.verilog.shell import Port


VERILOG, SYSTEM_VERILOG, VHDL = "verilog", "sv", "vhdl"

LANGUAGES = (VERILOG, SYSTEM_VERILOG, VHDL)


def ending(language: str) -> str:
    """What the files of a block end with: for a design in VHDL it is in Verilog."""
    return ".sv" if language == SYSTEM_VERILOG else ".v"


def check_name_in(language: str, name: str) -> None:
    """Refuses the legal name of a module that the language would have to escape."""
    if language == VHDL and ("__" in name or name.endswith("_")):
        raise ParameterError(
            f"name is {name!r}; in VHDL no name has two underscores in a row, or one at its end"
        )


class FileKind(NamedTuple):
    """Files whose names end alike.

    ``group``, ``fusesoc``: FuseSoC's set of files, and its attributes of each.
    ``ipxact``: IP-XACT's type; empty for a file that is not for its readers.
    """

    end: str
    group: str
    fusesoc: str
    ipxact: str = ""


#: The first that fits is a file's.
KINDS = (
    FileKind("_cocotb.py", "documents", "file_type: user"),
    FileKind("_tb.v", "bench", "file_type: verilogSource-2005"),
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
    FileKind(".rdl", "documents", "file_type: user", "user"),
    FileKind("_datasheet.html", "documents", "file_type: user", "user"),
    FileKind("", "documents", "file_type: user"),
)


def kind_of(file: str) -> FileKind:
    """The kind of a file by its name."""
    return next(kind for kind in KINDS if file.endswith(kind.end))


_SAID = "Yours to edit: cdma generate does not overwrite it once it is edited. Digest of what follows:"


#: What begins a comment in the files that users grow from, by the ends of their names: the first benches.
_COMMENTS = {"_tb.v": "//", "_cocotb.py": "#"}


def may_grow(file: str) -> bool:
    """Whether a file of this name is one that users grow from."""
    return file.endswith(tuple(_COMMENTS))


def signed(file: str, text: str) -> str:
    """The text of a first bench below the line with its digest."""
    comment = next(comment for end, comment in _COMMENTS.items() if file.endswith(end))
    return f"{comment} {_SAID} {hashlib.sha256(text.encode()).hexdigest()[:16]}.\n{text}"


def is_edited(file: str, text: str) -> bool:
    """Whether the text of a file is none that :func:`signed` has made: also one that is older than that."""
    return text != signed(file, text.partition("\n")[2])


#: What a block is generated from; the block of an engine is ``engine``.
Config = CodecConfig | StageConfig | EngineConfig


def block_design(block: str, config: Config, *, language: str = VERILOG, **wishes: Any) -> Verilog:
    """The Verilog of a block for a design in ``language``.

    It has the name, the prefix, the initial values and the memories of ``wishes``.
    """
    from cdma.hdl.verilog.names import SYSTEM_VERILOG as TYPED
    from cdma.hdl.verilog.names import VERILOG_2005

    dialect = TYPED if language == SYSTEM_VERILOG else VERILOG_2005
    if isinstance(config, EngineConfig):
        from cdma.hdl.engine.generate import engine_design

        return engine_design(config, dialect=dialect, **wishes)
    if isinstance(config, StageConfig):
        from cdma.hdl.codec.lossy import stage_design

        return stage_design(block, config, dialect=dialect, **wishes)
    from cdma.hdl.codec.generate import codec_design

    return codec_design(block, config, dialect=dialect, **wishes)


def block_ports(block: str, config: Config) -> tuple[Port, ...]:
    """The ports of the module that :func:`block_design` prints."""
    if isinstance(config, EngineConfig):
        from cdma.hdl.engine.pins import engine_ports

        return engine_ports(config)
    if isinstance(config, StageConfig):
        from cdma.hdl.codec.lossy import stage_ports

        return stage_ports(block, config)
    from cdma.hdl.codec.generate import codec_ports

    return codec_ports(config, length=block == "decompressor")


def pin_lines(ports: Sequence[Port], values: Mapping[str, str] = MappingProxyType({})) -> str:
    """The connection of every port: to its value in ``values``, or to the net of its name."""
    longest = max(len(port.name) for port in ports)
    return ",\n".join(f"  .{port.name:{longest}} ({values.get(port.name, port.name)})" for port in ports)


def reset_note(ports: Sequence[Port]) -> str:
    """What an instance says of its resets."""
    if any(port.times and port.clock != "aclk" for port in ports):
        return "Each reset is synchronous to its clock and active low."
    return "aresetn is synchronous to aclk and active low."


def instance_template(name: str, ports: Sequence[Port]) -> str:
    """An instance of the module ``name`` with a wire for every port, of the port's name."""
    wires = "\n".join(f"wire {port.range}{port.name};" for port in ports)
    return (
        f"// An instance of {name}. {reset_note(ports)}\n"
        f"{wires}\n\n{name} u_{name} (\n{pin_lines(ports)}\n);\n"
    )


@dataclass(frozen=True)
class Block:
    """A module and what goes with it.

    ``name``, ``title``, ``version``: Its name, what it is in a few words, and the version of the generator.
    ``kind``, ``config``: Which block it is, such as ``compressor``, and what it was made from.
    ``ports``, ``design``: Its ports, and its Verilog with its memories.
    ``parameters``, ``facts``: The parameters of that, and what it does with that (throughput, latency, ...), as one
        reads them.
    ``vectors``: What its first bench sends, and what must come of it.
    ``period``: The clock period in ns that its constraints say.
    ``language``: That of the design which takes it, one of :data:`~cdma.hdl.deliver.block.LANGUAGES`.
    ``registers``, ``texts``: The registers behind its AXI4-Lite port, and the texts about them and the driver, by file
        name.
    """

    name: str
    title: str
    version: str
    kind: str
    config: Config
    ports: Sequence[Port]
    design: Verilog
    parameters: Mapping[str, object]
    facts: Mapping[str, str]
    vectors: Vectors
    period: float = 1.0
    language: str = VERILOG
    registers: RegisterMap | None = None
    texts: Mapping[str, str] = field(default_factory=dict)
