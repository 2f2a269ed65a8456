"""What no output of a design depends on is not in its text. Selections by one signal are ``case``, which are known and
unknown where conditional operators are. Expressions as text: parentheses, constants, and lines that are not too long.
"""

from __future__ import annotations

import re

import pytest
from amaranth.hdl import Module
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cdma.hdl.verilog.emit import emit
from cdma.hdl.verilog.names import SYSTEM_VERILOG
from cdma.hdl.verilog.printer.expressions import Node, binary, choose, concat, constant, leaf, signed, unary
from cdma.hdl.verilog.printer.layout import LINE, assignment, constant_text, flat
from cdma.hdl.verilog.shell import CLOCK_AND_RESET, Port, Shell
from cdma.verif.proofs.equivalence import printed
from cdma.verif.proofs.proof import FAILED, PROVEN

_PAIR = data.StructLayout({"low": 1, "high": 1})


class _Store(wiring.Component):
    """A word of two fields in a memory, of which the parents read one."""

    def __init__(self) -> None:
        super().__init__({"word": In(_PAIR), "stored": Out(_PAIR)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.words = words = Memory(shape=_PAIR, depth=2, init=[])
        write, read = words.write_port(), words.read_port(domain="comb")
        m.d.comb += [write.en.eq(1), write.data.eq(self.word), self.stored.eq(read.data)]
        return m


class _Parent(wiring.Component):
    def __init__(self, mask: int) -> None:
        self.mask = mask
        super().__init__({"word": In(2), "low": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.kept = kept = _Store()
        m.d.comb += [kept.word.as_value().eq(self.word ^ self.mask), self.low.eq(kept.stored.low)]
        return m


class _Parents(Shell):
    """Two that share the module of their submodules, which stands before theirs."""

    def __init__(self) -> None:
        super().__init__((*CLOCK_AND_RESET, Port("word", "input", 2), Port("low", "output")))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self.add_domain(m)
        parents = _Parent(0), _Parent(1)
        m.submodules.some, m.submodules.other = parents
        m.d.comb += [parent.word.eq(self.port("word")) for parent in parents]
        m.d.comb += self.port("low").eq(parents[0].low ^ parents[1].low)
        return m


def test_an_unread_half_of_a_word_is_no_port() -> None:
    text = emit(_Parents(), "top").text
    assert text.index("module top_kept (") < text.index("module top_other (")
    assert ".stored_low(" in text
    assert "stored_high(" not in text


class _Select(Shell):
    """One of three words by some of the values of ``by``, and the last one otherwise."""

    def __init__(self, width: int, values: tuple[int, ...]) -> None:
        self.values = values
        words = [Port(name, "input", 4) for name in "abcd"]
        super().__init__([*CLOCK_AND_RESET, Port("by", "input", width), *words, Port("z", "output", 4)])

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self.add_domain(m)
        with m.Switch(self.port("by")):
            for value, word in zip(self.values, "abc", strict=False):
                with m.Case(value):
                    m.d.comb += self.port("z").eq(self.port(word))
            with m.Default():
                m.d.comb += self.port("z").eq(self.port("d"))
        return m


def _body(shell: Shell) -> str:
    return re.sub(r"\n +", " ", emit(shell, "choice").text.partition(");\n")[2])


@pytest.mark.parametrize(
    ("width", "values", "items"),
    [
        (2, (0, 1, 2), "2'd0: z = a; 2'd1: z = b; 2'd2: z = c; 2'd3: z = d;"),
        (3, (6, 1), "3'd0, 3'd2, 3'd3, 3'd4, 3'd5, 3'd7: z = d; 3'd1: z = b; 3'd6: z = a;"),
    ],
)
def test_all_values_are_listed_so_that_an_unknown_one_stays_unknown(
    width: int, values: tuple[int, ...], items: str
) -> None:
    shell = _Select(width, values)
    assert f"always @* begin case (by) {items} default: z = {{4{{1'bx}}}}; endcase end" in _body(shell)
    sides = printed(shell)
    assert sides.compare(60)[0] == PROVEN
    broken = sides.after.replace("1: z = b", "1: z = a")
    assert type(sides)(sides.before, broken).compare(60)[0] == FAILED


@pytest.mark.parametrize(("width", "values"), [(2, (1,)), (7, (1, 2, 3))])
def test_two_results_and_sparse_values_are_conditional_operators(width: int, values: tuple[int, ...]) -> None:
    assert "case" not in _body(_Select(width, values))


def test_it_is_always_comb_in_system_verilog() -> None:
    assert "always_comb begin" in emit(_Select(2, (0, 1, 2)), "choice", dialect=SYSTEM_VERILOG).text


A, B, C = (leaf(name, 4) for name in "abc")
P, Q = leaf("p", 1), leaf("q", 1)


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (binary("-", binary("-", A, B), C), "(a - b) - c"),
        (binary("-", A, binary("-", B, C)), "a - (b - c)"),
        (binary("+", binary("+", A, B), C), "a + b + c"),
        (binary("&", A, binary("|", B, C)), "a & (b | c)"),
        (binary("&", unary("~", A), B), "~a & b"),
        (unary("~", binary("&", A, B)), "~(a & b)"),
        (unary("|", binary("|", A, B)), "|(a | b)"),
        (binary("&", unary("&", A), P), "(&a) & p"),
        (unary("|", concat([P, A])), "p | (|a)"),
        (choose(binary("==", A, B), A, choose(P, B, C)), "(a == b) ? a : p ? b : c"),
        (choose(P, choose(Q, A, B), C), "p ? (q ? a : b) : c"),
        (choose(unary("~", P), A, B), "p ? b : a"),
        (choose(P, Q, constant("0")), "p & q"),
        (choose(P, constant("1"), Q), "p | q"),
        (choose(P, constant("0"), constant("1")), "~p"),
        (choose(P, A, constant("xxxx")), "a"),
        (concat([P, P, P, A]), "{{3{p}}, a}"),
        (binary("<", signed(A), signed(B)), "$signed(a) < $signed(b)"),
        (binary("<<", A, binary("+", B, C)), "a << (b + c)"),
        (unary("~", binary("==", A, B)), "a != b"),
    ],
)
def test_expressions(node: Node, text: str) -> None:
    assert flat(node) == text


def test_constants() -> None:
    texts = {
        "0": "1'b0",
        "0101": "4'd5",
        "1101": "4'hd",
        "0" * 33: "33'd0",
        "000011111": "9'h01f",
        "1x": "2'b1x",
    }
    assert {bits: constant_text(bits) for bits in texts} == texts


def test_operands_have_the_width_that_verilog_computes_in() -> None:
    with pytest.raises(AssertionError):
        binary("+", A, P)
    with pytest.raises(AssertionError):
        binary("==", A, P)
    with pytest.raises(AssertionError):
        choose(P, A, Q)
    with pytest.raises(AssertionError):
        choose(A, B, C)


def _long(number: int) -> list[Node]:
    return [leaf(f"a_name_that_is_rather_long_{index}", 4) for index in range(number)]


@pytest.mark.parametrize("indent", [2, 8])
def test_long_lines_are_broken(indent: int) -> None:
    """And what is broken is the same text but for the space between."""
    terms = _long(9)
    total = terms[0]
    chain: Node = terms[0]
    for term in terms[1:]:
        total = binary("|", total, binary("&", term, terms[0]))
        chain = choose(binary("==", term, A), binary("+", term, B), chain)
    for node in (total, chain, concat(terms), binary("-", total, unary("~", chain))):
        lines = assignment("assign x =", node, indent)
        assert len(lines) > 1
        assert max(map(len, lines)) <= LINE
        assert all(line.startswith(" " * indent) for line in lines)
        assert "".join("".join(lines).split()) == "".join(f"assign x = {flat(node)};".split())


def test_two_long_names_have_a_line_each() -> None:
    """With nothing in between that a line could be broken at but the assignment itself."""
    name = "a" * 55
    one, two = leaf(name, 1), leaf("b" * 50, 1)
    assert assignment(f"{name} <=", two, 6) == [f"      {name} <=", " " * 10 + two.text + ";"]
    assert assignment(f"assign {name} =", binary("&", one, two), 2) == [
        f"  assign {name} =",
        f"      {name}",
        f"      & {two.text};",
    ]
    # 100 characters still fit.
    assert assignment(f"{'a' * 45} <=", leaf("b" * 44, 1), 6) == [f"      {'a' * 45} <= {'b' * 44};"]
    assert len(assignment(f"{'a' * 45} <=", leaf("b" * 45, 1), 6)) == 2
