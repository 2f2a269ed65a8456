"""Names are refused with a reason, or made legal."""

from __future__ import annotations

import pytest

from cdma.base.errors import ParameterError
from cdma.hdl.verilog.names import RESERVED_WORDS, check_identifier, check_prefix, legal_name


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("table", "name is 'table', which is a reserved word of Verilog or SystemVerilog"),
        ("entity", "name is 'entity', which is a word of VHDL; its tools could not use the module"),
        ("Buffer", "name is 'Buffer', which is a word of VHDL; .*"),
        ("puts", "name is 'puts', which is a word of Tcl; .*"),
        ("9lives", "name is '9lives'; it must be a letter followed by letters, digits and underscores, .*"),
        ("a b", "name is 'a b'; it must be .*"),
        ("../x", r"name is '\.\./x'; it must be .*"),
        ("", "name is ''; it must be .*"),
        (7, "name is 7; it must be .*"),
        ("x" * 129, "name has 129 characters; at most 128 are allowed"),
    ],
)
def test_illegal_names_are_refused(name: object, message: str) -> None:
    with pytest.raises(ParameterError, match=f"^{message}$"):
        check_identifier("name", name)


def test_a_word_of_tcl_has_small_letters() -> None:
    assert check_identifier("name", "Puts") == "Puts"


def test_a_prefix_may_be_a_reserved_word() -> None:
    assert check_prefix("prefix", "table") == "table"
    assert check_identifier("name", "x" * 128) == "x" * 128


@pytest.mark.parametrize(
    ("wanted", "used", "name"),
    [
        ("plain", (), "plain"),
        ("a.b[3]", (), "a_b_3"),
        ("_x__y_", (), "x_y"),
        ("always", (), "always_"),
        ("3d", (), "n3d"),
        ("$", (), "unnamed"),
        ("x", ("x", "x_2"), "x_3"),
        ("always", ("always_",), "always_2"),
        ("abort", (), "abort_"),
    ],
)
def test_legal_name(wanted: str, used: tuple[str, ...], name: str) -> None:
    assert legal_name(wanted, used) == name


def test_reserved_words_cover_both_languages() -> None:
    assert {"module", "table", "logic", "checker", "s_until_with", "uwire", "endspecify"} <= RESERVED_WORDS
