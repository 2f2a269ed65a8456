"""Liberty's boolean expressions."""

import itertools

import pytest

from cdma.synth.asic.library.load import parse_library


def cell(body: str) -> str:
    return f"library (x) {{ cell (C) {{ area : 1; {body} }} }}"


@pytest.mark.parametrize(
    ("function", "meaning"),
    [
        ("A", lambda a, b, c: a),
        ("A'", lambda a, b, c: not a),
        ("!A", lambda a, b, c: not a),
        ("!!A", lambda a, b, c: a),
        ("A B", lambda a, b, c: a and b),
        ("A*B'", lambda a, b, c: a and not b),
        ("(A & B) | !C", lambda a, b, c: (a and b) or not c),
        ("A + B C", lambda a, b, c: a or (b and c)),
        ("A ^ B & C", lambda a, b, c: a != (b and c)),
        ("A | B ^ C", lambda a, b, c: a or (b != c)),
        ("(A+B)' C", lambda a, b, c: not (a or b) and c),
        ("((A))", lambda a, b, c: a),
        ("1", lambda a, b, c: True),
        ("A * 0", lambda a, b, c: False),
    ],
)
def test_functions(function, meaning):
    pins = "".join(f"pin ({name}) {{ direction : input; }} " for name in "ABC")
    text = cell(f'{pins} pin (Y) {{ direction : output; function : "{function}"; }}')
    rows = [meaning(*row[::-1]) for row in itertools.product((False, True), repeat=3)]
    assert parse_library(text.encode(), "x").cells["C"].truth_table == tuple(map(bool, rows))


@pytest.mark.parametrize("function", ["A &", "(A", "A)", "D", "A & @", ""])
def test_function_that_says_nothing(function):
    text = cell(
        f'pin (A) {{ direction : input; }} pin (Y) {{ direction : output; function : "{function}"; }}'
    )
    assert parse_library(text.encode(), "x").cells["C"].truth_table is None
