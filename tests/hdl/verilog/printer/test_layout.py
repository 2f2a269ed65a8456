"""Expressions as text: parentheses, constants, and lines that are not too long."""

from __future__ import annotations

import pytest

from cdma.hdl.verilog.printer.expressions import Node, binary, choose, concat, constant, leaf, signed, unary
from cdma.hdl.verilog.printer.layout import LINE, assignment, constant_text, flat

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
