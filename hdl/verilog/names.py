"""How Verilog is written: dialect, identifiers that need no escape, and names of variables in the source.

A value of Amaranth knows the line of its operator. It is named after the variable or attribute that the line assigns,
or the function that returns it. A part of a larger expression has no name.
"""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Container, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.hdl._ast import Operator, SwitchValue

from cdma.base.errors import ParameterError


def kept_words(m: Module, tkeep: Value, width: int) -> Value:
    """One enable per word, of ``width`` bits of ``tkeep`` each; all low for an illegal beat, with a partial word or a
    hole."""
    words = [tkeep[start : start + width] for start in range(0, len(tkeep), width)]
    cut = Signal(name="word_cut")
    hole = Signal(name="hole")
    m.d.comb += [
        cut.eq(Cat(word.any() & ~word.all() for word in words).any()),
        hole.eq(Cat(above.all() & ~below.all() for below, above in pairwise(words)).any()),
    ]
    return Cat(word.all() & ~(cut | hole) for word in words)


@dataclass(frozen=True)
class Dialect:
    """A language, as far as the text differs.

    ``net``, ``register``, ``constant``: The keywords of declarations.
    ``clocked``, ``combinational``, ``latched``: The keywords of processes: at a clock, without a clock, and holding a
        value while a condition is not met.
    ``declares_values``: An initial value is in the declaration; otherwise a process assigns it.
    ``has_types``: The states of a machine are an enumeration, and the range of a memory is its number of words.
    """

    net: str
    register: str
    clocked: str
    combinational: str
    latched: str
    constant: str
    declares_values: bool
    has_types: bool

    def words(self, number: int) -> str:
        """The dimension of a memory of so many words."""
        return f"[{number}]" if self.has_types else f"[0:{number - 1}]"


VERILOG_2005 = Dialect(
    "wire", "reg", "always", "always @*", "always @*", "localparam", declares_values=False, has_types=False
)
SYSTEM_VERILOG = Dialect(
    "logic",
    "logic",
    "always_ff",
    "always_comb",
    "always_latch",
    "localparam logic",
    declares_values=True,
    has_types=True,
)


_WORDS = """
accept_on alias always always_comb always_ff always_latch and assert assign assume automatic before begin
bind bins binsof bit break buf bufif0 bufif1 byte case casex casez cell chandle checker class clocking cmos
config const constraint context continue cover covergroup coverpoint cross deassign default defparam design
disable dist do edge else end endcase endchecker endclass endclocking endconfig endfunction endgenerate
endgroup endinterface endmodule endpackage endprimitive endprogram endproperty endsequence endspecify
endtable endtask enum event eventually expect export extends extern final first_match for force foreach
forever fork forkjoin function generate genvar global highz0 highz1 if iff ifnone ignore_bins illegal_bins
implements implies import incdir include initial inout input inside instance int integer interconnect
interface intersect join join_any join_none large let liblist library local localparam logic longint
macromodule matches medium modport module nand negedge nettype new nexttime nmos nor noshowcancelled not
notif0 notif1 null or output package packed parameter pmos posedge primitive priority program property
protected pull0 pull1 pulldown pullup pulsestyle_ondetect pulsestyle_onevent pure rand randc randcase
randsequence rcmos real realtime ref reg reject_on release repeat restrict return rnmos rpmos rtran rtranif0
rtranif1 s_always s_eventually s_nexttime s_until s_until_with scalared sequence shortint shortreal
showcancelled signed small soft solve specify specparam static string strong strong0 strong1 struct super
supply0 supply1 sync_accept_on sync_reject_on table tagged task this throughout time timeprecision timeunit
tran tranif0 tranif1 tri tri0 tri1 triand trior trireg type typedef union unique unique0 unsigned until
until_with untyped use uwire var vectored virtual void wait wait_order wand weak weak0 weak1 while wildcard
wire with within wor xnor xor
"""

#: Reserved words of IEEE 1364-2005 and IEEE 1800-2017.
RESERVED_WORDS = frozenset(_WORDS.split())

#: Legal words that Verilator takes for words of C++, with a warning (SYMRSVDWORD), where they name a net.
_WORDS_OF_C = frozenset(("abort", "interrupt"))

_VHDL = """
abs access after alias all and architecture array assert assume assume_guarantee attribute begin block body buffer
bus case component configuration constant context cover default disconnect downto else elsif end entity exit
fairness file for force function generate generic group guarded if impure in inertial inout is label library
linkage literal loop map mod nand new next nor not null of on open or others out package parameter port postponed
private procedure process property protected pure range record register reject release rem report restrict
restrict_guarantee return rol ror select sequence severity shared signal sla sll sra srl strong subtype then to
transport type unaffected units until use variable view vmode vprop vunit wait when while with xnor xor
"""

_TCL = """
after append apply array bgerror binary break catch cd chan clock close concat continue coroutine dict encoding eof
error eval exec exit expr fblocked fconfigure fcopy file fileevent flush for foreach format gets glob global history
if incr info interp join lappend lassign lindex linsert list llength lmap load lrange lrepeat lreplace lreverse
lsearch lset lsort namespace open package pid proc puts pwd read regexp regsub rename return scan seek set socket
source split string subst switch tailcall tell throw time trace try unload unset update uplevel upvar variable vwait
while yield yieldto
"""

#: What else a user's name may not be, with the languages, whose own tools would have to escape it: of VHDL (IEEE 1076-2019),
#: which takes capitals for small letters, and the commands of Tcl.
_FOREIGN_WORDS = {"VHDL": frozenset(_VHDL.split()), "Tcl": frozenset(_TCL.split())}

_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*")

#: The longest given name: tools must accept 1024 characters (IEEE 1364-2005, 3.7), file systems 255, and names of
#: submodules are longer than the given one.
_LONGEST = 128


def check_identifier(what: str, name: object) -> str:
    """Returns ``name`` if it is a legal name of a module; ``what`` names the parameter in errors."""
    check_prefix(what, name)
    assert isinstance(name, str)
    if name in RESERVED_WORDS:
        raise ParameterError(f"{what} is {name!r}, which is a reserved word of Verilog or SystemVerilog")
    for language, words in _FOREIGN_WORDS.items():
        if (name.lower() if language == "VHDL" else name) in words:
            raise ParameterError(
                f"{what} is {name!r}, which is a word of {language}; its tools could not use the module"
            )
    return name


def check_prefix(what: str, name: object) -> str:
    """Returns ``name`` if it is a legal beginning of names; it may itself be a reserved word."""
    if not isinstance(name, str) or not _IDENTIFIER.fullmatch(name):
        raise ParameterError(
            f"{what} is {name!r}; it must be a letter followed by letters, digits and underscores, "
            "so that every tool reads it without escaping"
        )
    if len(name) > _LONGEST:
        raise ParameterError(f"{what} has {len(name)} characters; at most {_LONGEST} are allowed")
    return name


def legal_name(wanted: str, used: Container[str]) -> str:
    """The nearest legal name to ``wanted`` that is not in ``used``; deterministic."""
    name = re.sub(r"_+", "_", re.sub(r"[^A-Za-z0-9_]", "_", wanted)).strip("_") or "unnamed"
    if not name[0].isalpha():
        name = f"n{name}"
    candidate = f"{name}_" if name in RESERVED_WORDS or name in _WORDS_OF_C else name
    serial = 1
    while candidate in used:
        serial += 1
        candidate = f"{name}_{serial}"
    return candidate


def natural(name: str) -> list[tuple[int, str]]:
    """A key to sort names by, in which ``row_2`` comes before ``row_10``."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


_ASSIGNED = re.compile(r"\s*(?:self\.)?_?(\w+)(?:: [^=]+)? = (.+)", re.DOTALL)
_RETURNED = re.compile(r"\s*return (.+)", re.DOTALL)
_FUNCTION = re.compile(r"( *)def _?(\w+)\(")

#: The most lines of a statement that are looked at.
_LONGEST_VARIABLE = 12

#: The operator of Amaranth that each of Python's makes.
_BINARY = {
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.RShift: ">>",
    ast.LShift: "<<",
}
_COMPARED = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_CALLED = {"any": "r|", "all": "r&", "xor": "r^", "bool": "b"}


def variable_of(value: Value) -> str | None:
    """The name of what a value is assigned to."""
    location = value.src_loc
    if location is None:
        return None
    match value:
        case Operator():
            kind = value.operator
        case SwitchValue():
            kind = "Mux"
        case _:
            return None
    return _names(*location).get(kind)


@cache
def _names(file: str, line: int) -> dict[str, str]:
    """What is assigned in a line, by the operator that makes it."""
    for first in range(line, max(0, line - _LONGEST_VARIABLE), -1):
        text = linecache.getline(file, first)
        found = _ASSIGNED.match(text)
        if found is not None:
            name = found[1]
        elif (found := _RETURNED.match(text)) is not None:
            name = _function(file, first)
        else:
            continue
        expression = _expression(file, first)
        if expression is None or not name or first + (expression.end_lineno or 0) <= line:
            return {}
        return {kind: name for kind, place in _results(expression) if first + place - 1 == line}
    return {}


def _function(file: str, line: int) -> str:
    indent = len(text := linecache.getline(file, line)) - len(text.lstrip())
    for above in range(line, 0, -1):
        found = _FUNCTION.match(linecache.getline(file, above))
        if found is not None and len(found[1]) < indent:
            return found[2]
    return ""


def _expression(file: str, first: int) -> ast.expr | None:
    """The right side of the statement that begins in a line."""
    text = ""
    for line in range(first, first + _LONGEST_VARIABLE):
        text += linecache.getline(file, line) if text else linecache.getline(file, line).lstrip()
        try:
            [statement] = ast.parse(text).body
        except SyntaxError:
            continue
        if isinstance(statement, ast.Assign | ast.AnnAssign | ast.Return):
            return statement.value
        return None
    return None


def _results(node: ast.expr) -> Iterator[tuple[str, int]]:
    """The operators whose results an expression gives, each with its line."""
    match node:
        case ast.BinOp() if type(node.op) in _BINARY:
            yield _BINARY[type(node.op)], node.lineno
        case ast.UnaryOp(op=ast.Invert()):
            yield "~", node.lineno
        case ast.Compare(ops=[operator]) if type(operator) in _COMPARED:
            yield _COMPARED[type(operator)], node.lineno
        case ast.Call(func=ast.Name(id="Mux")):
            yield "Mux", node.lineno
        case ast.Call(func=ast.Attribute(attr=attribute)) if attribute in _CALLED:
            yield _CALLED[attribute], node.lineno
        case ast.IfExp():
            yield from _results(node.body)
            yield from _results(node.orelse)
