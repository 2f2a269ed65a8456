"""Names are refused with a reason, or made legal. Names in the Verilog of the default engine say what they are: hardly
one is told from another by a number alone. Values that documents name are named, and there is not more of it than
somebody can read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from cdma.base.errors import ParameterError
from cdma.hdl.verilog.names import RESERVED_WORDS, check_identifier, check_prefix, legal_name, natural
from tests.designer_time import lines_of
from tests.support.verilog_designs import verilog_of


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


_MODULE = re.compile(r"^module (\w+) \((.*?)^endmodule", re.MULTILINE | re.DOTALL)
_DECLARED = re.compile(
    r"^  (?:input +|output +)?(?:wire|reg) +(?:\[(\d+):0\] )?(\w+)[;,]?(?: //.*)?$", re.MULTILINE
)

#: The most names of each kind in all modules together.
_PARTS = 20
_SERIAL = 10


def _declared(text: str) -> Iterator[tuple[str, dict[str, int]]]:
    """The modules of a text, each with its names and their widths."""
    for module in _MODULE.finditer(text):
        yield module[1], {name: int(high or 0) + 1 for high, name in _DECLARED.findall(module[2])}


def _is_serial(name: str, widths: dict[str, int]) -> bool:
    """Whether a number tells a name from another of the module: it is neither that of a lane, nor that of a bit."""
    stem, _, number = name.rpartition("_")
    if not number.isdigit() or int(number) < 2 or stem not in widths or f"{stem}_0" in widths:
        return False
    return widths[name] > 1 or int(number) >= widths[stem]


def _counted(text: str) -> tuple[list[str], list[str], list[str]]:
    """The names that only say what they are a part of, those told by a number, and those of ports without a name."""
    parts, serial, nameless = [], [], []
    for module, widths in _declared(text):
        for name in widths:
            if "_term" in name:
                parts.append(f"{module}.{name}")
            elif _is_serial(name, widths):
                serial.append(f"{module}.{name}")
            if re.fullmatch(r"port(_\d+)?", name):
                nameless.append(f"{module}.{name}")
    return parts, serial, nameless


@pytest.mark.slow
def test_names_of_the_default_engine_say_what_they_are() -> None:
    parts, serial, nameless = _counted(verilog_of("engine-default").text)
    assert len(parts) <= _PARTS, parts
    assert len(serial) <= _SERIAL, serial
    assert not nameless
    named = {name for _, widths in _declared(verilog_of("engine-default").text) for name in widths}
    stacked = re.compile(r"_(and|or)_.*_(and|or)_|not_\w+_(and|or)_|(_next|_otherwise|_term){2}")
    assert [name for name in named if stacked.search(name)] == ["valid_2_and_valid_1_and_valid_0"]


@pytest.mark.slow
def test_declarations_are_in_natural_order() -> None:
    text = verilog_of("engine-default").text
    found = [
        re.findall(r"^  (?:wire|reg) +(?:\[\d+:0\] )?(\w+);", body, re.MULTILINE)
        for _, body in _MODULE.findall(text)
    ]
    assert all(names == sorted(names, key=natural) for names in found)
    assert any(names != sorted(names) for names in found)
    assert sorted(["row_10", "row", "row_2"], key=natural) == ["row", "row_2", "row_10"]


@pytest.mark.slow
def test_states_statuses_and_registers_are_compared_by_their_names() -> None:
    text = verilog_of("engine-default").text
    for name in ("write_address", "read_address", r"\w*fsm_state", "status", r"\w*descriptor_mode"):
        assert not re.findall(rf"\b{name} [!=]= \d+'\w+", text)
    for value in (
        "AT_OFFLOAD_RING_TAIL",
        "REGISTER_OFFLOAD_RING_TAIL",
        "FSM_STATE_JUDGE",
        "STATUS_WINDOW",
        "MODE_ZVC",
    ):
        assert len(re.findall(rf"\b{value}\b", text)) > 1


def test_there_is_not_too_much_to_read() -> None:
    lines = lines_of(verilog_of("engine-default").text)
    assert lines["code_lines"] <= 14_900
    assert lines["comment_lines"] >= 0.08 * lines["code_lines"]
    assert lines_of("// a\n\nmodule b (\n);\n  wire c; // d\nendmodule\n") == {
        "code_lines": 4,
        "comment_lines": 1,
        "verilog_modules": 1,
    }


def test_a_name_that_says_nothing_is_counted() -> None:
    text = """
module a (
  input  wire port_3,
  output reg  [7:0] row_0
);
  wire [3:0] count;
  wire count_2;
  wire [3:0] count_next_term;
  wire row;
  wire [7:0] row_2;
  wire stop;
  wire stop_2;
endmodule
"""
    assert _counted(text) == (["a.count_next_term"], ["a.stop_2"], ["a.port_3"])
