"""The Verilog of a design is its Amaranth source: Yosys and ABC show it, for every input.

- ``scorr`` compares Amaranth's RTLIL with the Verilog file, from the initial values on, both flattened and side by side
  with the same inputs: every output bit is the same in every cycle of every run. ABC finds the registers and gates that
  are the same in both.
- ``equiv`` compares each printed module by itself with the netlist that it was printed from, in any state. Passes
  before that netlist are not covered: joining of equal expressions, naming, and Yosys's passes over Amaranth's
  processes.

``equiv`` cuts memories out at their ports, so their size does not matter: what goes into a port must be the same on
both sides, and what comes out is any value, the same on both. Address and data are 0 where nothing is written.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from amaranth.back import rtlil

from cdma.base.errors import ToolError, ToolTimeout
from cdma.base.yosys import WRITE_AIGER, decide_miter, find_yosys, scratch
from cdma.hdl.verilog.emit import netlist
from cdma.hdl.verilog.names import SYSTEM_VERILOG, VERILOG_2005, Dialect
from cdma.hdl.verilog.printer.design import print_design
from cdma.hdl.verilog.shell import Shell

from .proof import FAILED, PROVEN, UNKNOWN, Claim

#: Read ports are not clocked here: the register behind one is a register of its own. Write ports of one address are one. The
#: order of read ports is free, so a memory with several is registers; so are one of one word, and a table, whose values
#: count.
MEMORY_PASSES = """\
memory_share -nosat -nowiden
memory_map -rom-only
memory_map r:RD_PORTS>1 r:SIZE=1
techmap -max_iter 1 -map memory.v
opt_clean
"""

#: The rule of Yosys's ``techmap`` that masks what a write port is given while it writes nothing, and the clock of a read
#: port that has none.
MEMORY_CUT = r"""
module \$mem_v2 (RD_CLK, RD_EN, RD_ARST, RD_SRST, RD_ADDR, RD_DATA, WR_CLK, WR_EN, WR_ADDR, WR_DATA);
  parameter MEMID = "";
  parameter SIZE = 1, OFFSET = 0, ABITS = 1, WIDTH = 1, INIT = 1'bx, RD_PORTS = 1, WR_PORTS = 1;
  parameter RD_CLK_ENABLE = 0, RD_CLK_POLARITY = 0, RD_TRANSPARENCY_MASK = 0, RD_COLLISION_X_MASK = 0;
  parameter RD_WIDE_CONTINUATION = 0, RD_CE_OVER_SRST = 0, RD_ARST_VALUE = 0, RD_SRST_VALUE = 0;
  parameter RD_INIT_VALUE = 0, WR_CLK_ENABLE = 1, WR_CLK_POLARITY = 1, WR_PRIORITY_MASK = 0;
  parameter WR_WIDE_CONTINUATION = 0;
  input [RD_PORTS-1:0] RD_CLK, RD_EN, RD_ARST, RD_SRST;
  input [RD_PORTS*ABITS-1:0] RD_ADDR;
  output [RD_PORTS*WIDTH-1:0] RD_DATA;
  input [WR_PORTS-1:0] WR_CLK;
  input [WR_PORTS*WIDTH-1:0] WR_EN, WR_DATA;
  input [WR_PORTS*ABITS-1:0] WR_ADDR;
  wire [WR_PORTS*ABITS-1:0] written;
  genvar n;
  for (n = 0; n < WR_PORTS; n = n + 1)
    assign written[n*ABITS +: ABITS] = WR_ADDR[n*ABITS +: ABITS] & {ABITS{|WR_EN[n*WIDTH +: WIDTH]}};
  \$mem_v2 #(
    .MEMID(MEMID), .SIZE(SIZE), .OFFSET(OFFSET), .ABITS(ABITS), .WIDTH(WIDTH), .INIT(INIT),
    .RD_PORTS(RD_PORTS), .RD_CLK_ENABLE(RD_CLK_ENABLE), .RD_CLK_POLARITY({RD_PORTS{1'b1}}),
    .RD_TRANSPARENCY_MASK(RD_TRANSPARENCY_MASK), .RD_COLLISION_X_MASK(RD_COLLISION_X_MASK),
    .RD_WIDE_CONTINUATION(RD_WIDE_CONTINUATION), .RD_CE_OVER_SRST(RD_CE_OVER_SRST),
    .RD_ARST_VALUE(RD_ARST_VALUE), .RD_SRST_VALUE(RD_SRST_VALUE), .RD_INIT_VALUE(RD_INIT_VALUE),
    .WR_PORTS(WR_PORTS), .WR_CLK_ENABLE(WR_CLK_ENABLE), .WR_CLK_POLARITY(WR_CLK_POLARITY),
    .WR_PRIORITY_MASK(WR_PRIORITY_MASK), .WR_WIDE_CONTINUATION(WR_WIDE_CONTINUATION)
  ) _TECHMAP_REPLACE_ (
    .RD_CLK({RD_PORTS{1'b0}}), .RD_EN(RD_EN), .RD_ARST(RD_ARST), .RD_SRST(RD_SRST),
    .RD_ADDR(RD_ADDR), .RD_DATA(RD_DATA),
    .WR_CLK(WR_CLK), .WR_EN(WR_EN), .WR_ADDR(written), .WR_DATA(WR_DATA & WR_EN)
  );
endmodule
"""


def check_memories(gold: str, gate: str) -> None:
    """Refuses two designs in RTLIL whose memories differ in name, words, bits, ports or clocks."""
    ours, theirs = _memories(gold), _memories(gate)
    different = sorted(name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name))
    if different:
        raise ToolError(f"the memory {different[0]} is not the same on both sides")


def _memories(text: str) -> dict[str, list[str]]:
    """The parameters of each memory of a design, by its module and its name."""
    found = {}
    for module in re.split(r"^module \\", text, flags=re.MULTILINE)[1:]:
        name = module.split(maxsplit=1)[0]
        for cell in re.finditer(r"^  cell \$mem_v2 \\(\S+)\n((?:    parameter .*\n)*)", module, re.MULTILINE):
            parameters = [line.strip() for line in cell[2].splitlines() if r"\MEMID" not in line]
            found[f"{name}.{cell[1]}"] = parameters
    return found


#: A status, the bits that were compared, and what is wrong.
Verdict = tuple[str, int, str]


class Sides(Protocol):
    """The two that are compared."""

    @property
    def texts(self) -> tuple[str, str]:
        """Both as text: all that the result depends on."""

    def compare(self, seconds: float) -> Verdict:
        """Compares them."""


@dataclass(frozen=True, kw_only=True)
class Equivalence(Claim):
    """A claim that two designs are the same. ``sides`` makes the two that are compared."""

    sides: Callable[[], Sides]


_MITER = """\
{read_gold}
hierarchy -check -top {gold}
proc -norom
flatten
opt_clean
rename {gold} gold_side
design -stash gold
{read} gate.v
hierarchy -check -top {top}
proc
flatten
opt_clean
rename {top} gate
design -stash gate
design -copy-from gold -as gold gold_side
design -copy-from gate -as gate gate
miter -equiv -flatten gold gate miter
hierarchy -top miter
"""


@dataclass(frozen=True)
class Whole:
    """Amaranth's own RTLIL of ``shell``, and the ``verilog`` of it, whose top is ``top``; both with initial values."""

    shell: Shell
    verilog: str
    top: str
    dialect: Dialect = VERILOG_2005

    @property
    def texts(self) -> tuple[str, str]:
        return rtlil.convert(self.shell, name="gold", emit_src=False), self.verilog

    def compare(self, seconds: float) -> Verdict:
        bits = sum(port.width for port in self.shell.ports() if port.direction == "output")
        script = _MITER.format(
            read_gold="read_rtlil gold", gold="gold", top=self.top, read=_read(self.dialect)
        )
        return _whole(script, self.texts, bits, seconds)


@dataclass(frozen=True)
class Revisions:
    """The Verilog of a design of another revision, and that of this one, both with initial values.

    ``top``: The module of both, with the same ports.
    """

    before: str
    after: str
    top: str

    @property
    def texts(self) -> tuple[str, str]:
        return self.before, self.after

    def compare(self, seconds: float) -> Verdict:
        header = self.after.partition(f"module {self.top} (\n")[2].partition(");")[0]
        widths = re.findall(r"^  output +(?:wire|reg) +(?:\[(\d+):0\] )?\w+", header, re.MULTILINE)
        script = _MITER.format(
            read_gold="read_verilog gold", gold=self.top, top=self.top, read=_read(VERILOG_2005)
        )
        return _whole(script, self.texts, sum(int(high or 0) + 1 for high in widths), seconds)


def _whole(script: str, sides: tuple[str, str], bits: int, seconds: float) -> Verdict:
    """Compares two designs by a script that makes a miter of the files ``gold`` and ``gate.v``."""
    with scratch() as folder:
        for name, text in zip(("gold", "gate.v"), sides, strict=True):
            (folder / name).write_text(text)
        try:
            find_yosys().run(script + WRITE_AIGER, folder, seconds=seconds)
        except ToolTimeout as error:
            return UNKNOWN, bits, str(error)
        except ToolError as error:
            return FAILED, 0, str(error)
        try:
            same = decide_miter(folder, "scorr", seconds, seconds)
        except ToolError as error:
            return UNKNOWN, bits, str(error)
    if same is None:
        return UNKNOWN, bits, "ABC decides it neither way"
    return (PROVEN, bits, "") if same else (FAILED, bits, "some input shows a difference")


#: Both sides, each module by itself: the ports of its instances and of its memories are ports of its own, so that no memory
#: is taken apart. Parents come first, because an instance has the ports of its module as it is then. The Verilog as a whole
#: has no wire that nothing drives, so that an instance has every port that it needs.
_PARTS = """\
{read_gold}
{memories}
write_rtlil gold_memories.il
{gold}
opt_clean
write_rtlil gold_parts.il
design -reset
{read_gate}
design -push-copy
flatten
check -assert
design -pop
{memories}
write_rtlil gate_memories.il
{gate}
opt_clean
write_rtlil gate_parts.il
"""

_READ_NETLIST = """\
read_rtlil gold
hierarchy -check -top {top}
memory_nordff
"""

_READ_VERILOG = """\
{read} {file}
hierarchy -check -top {top}
proc
opt_clean
memory_collect
opt_expr -mux_undef
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


def _read(dialect: Dialect) -> str:
    """The Yosys command that reads a text."""
    return "read_verilog -sv" if dialect is SYSTEM_VERILOG else "read_verilog"


def printed(shell: Shell, dialect: Dialect = VERILOG_2005) -> Modules:
    """The netlist of a design and the Verilog that is printed from it, memories standing where they are used."""
    source = netlist(shell, "top", prefix="top_", init=False).text
    ports = [port.name for port in shell.ports()]
    design = print_design(source, top="top", ports=ports, prefix="top_", wrap=False, dialect=dialect)
    return Modules(source, "\n".join(line for module in design.modules for line in module), dialect=dialect)


@dataclass(frozen=True)
class Modules:
    """The modules of two texts of a design, without initial values.

    ``before``, ``after``: A netlist in RTLIL, or Verilog, and Verilog.
    ``top``: The top of both, with whose name those of all modules begin.
    """

    before: str
    after: str
    top: str = "top"
    dialect: Dialect = VERILOG_2005

    @property
    def texts(self) -> tuple[str, str]:
        return self.before, self.after

    def compare(self, seconds: float) -> Verdict:
        with scratch() as folder:
            try:
                return PROVEN, self._compare(folder, seconds), ""
            except ToolTimeout as error:
                return UNKNOWN, 0, str(error)
            except ToolError as error:
                return FAILED, 0, str(error)

    def _compare(self, folder: Path, seconds: float) -> int:
        """The bits that were compared; raises :class:`.ToolError` unless every module is the same logic on both sides."""
        for name, text in (("gold", self.before), ("gate", self.after), ("memory.v", MEMORY_CUT)):
            (folder / name).write_text(text)
        verilog = {"read": _read(self.dialect), "top": self.top}
        is_netlist = re.search(r"^module \\", self.before, re.MULTILINE)
        yosys = find_yosys()
        script = _PARTS.format(
            read_gold=(_READ_NETLIST if is_netlist else _READ_VERILOG).format(file="gold", **verilog),
            read_gate=_READ_VERILOG.format(file="gate", **verilog),
            memories=MEMORY_PASSES,
            gold=self._opened(self.before),
            gate=self._opened(self.after),
        )
        yosys.run(script, folder, seconds=seconds)
        check_memories(*((folder / f"{side}_memories.il").read_text() for side in ("gold", "gate")))
        gold, gate = (_ports((folder / f"{side}_parts.il").read_text()) for side in ("gold", "gate"))
        if gate.keys() != set(_modules(self.after)):
            raise ToolError("the Verilog has modules that its own top does not reach")
        if missing := gate.keys() - gold.keys():
            raise ToolError(f"the module {min(missing)} is on one side alone")
        compared = [f"read_rtlil {side}_parts.il\ndesign -stash {side}" for side in ("gold", "gate")]
        for module in gate:
            left_out = "\n".join(
                f"delete -port gold/w:{port}" for port in sorted(gold[module] - gate[module])
            )
            compared.append(_COMPARED.format(module=module, left_out=left_out))
        log = yosys.run("\n".join(compared), folder, seconds=seconds)
        return sum(map(int, re.findall(r"Of those cells (\d+) are proven", log)))

    def _opened(self, text: str) -> str:
        """Makes ports of all that is inside the modules of a text."""
        return "\n".join(
            f"expose -evert -sep . {name}/t:{self.top}_* {name}/t:$mem_v2" for name in _parents_first(text)
        )


def _modules(text: str) -> list[str]:
    return re.findall(r"^module \\?([^\s(]+)", text, re.MULTILINE)


def _parents_first(text: str) -> list[str]:
    """The modules of a text, each before what is in it."""
    bodies = dict(zip(_modules(text), re.split(r"^module ", text, flags=re.MULTILINE)[1:], strict=True))
    order: dict[str, None] = {}

    def visit(name: str) -> None:
        if name not in order:
            for inner in re.findall(r"^ +(?:cell \\\\)?(\w+) \S+(?: \()?$", bodies[name], re.MULTILINE):
                if inner in bodies:
                    visit(inner)
            order[name] = None

    for name in sorted(bodies):
        visit(name)
    return [*reversed(order)]


def _ports(text: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for module in re.split(r"^module \\", text, flags=re.MULTILINE)[1:]:
        name = module.split(maxsplit=1)[0]
        found[name] = set(
            re.findall(r"^  wire .*?(?:input|output|inout) \d+ .*?\\(\S+)$", module, re.MULTILINE)
        )
    return found
