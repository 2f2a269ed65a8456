"""Identifiers that every Verilog and SystemVerilog tool reads without escaping."""

from __future__ import annotations

import re
from collections.abc import Container

from cdma.base.errors import ParameterError

__all__ = ["RESERVED_WORDS", "check_identifier", "check_prefix", "legal_name", "natural"]

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
