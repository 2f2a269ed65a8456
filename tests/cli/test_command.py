"""A command as data: what its options become, and the forms of its result."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from cdma.base.document import Table
from cdma.command import Command, add_options, flag, option
from cdma.result import Result, rows_result, show


def _parsed(options: object, *words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(exit_on_error=False)
    add_options(parser, {"": options})  # type: ignore[dict-item]
    return parser.parse_args(words)


def test_words_of_an_option_say_its_names_its_value_and_how_many() -> None:
    options = (
        option("files FILE*", "read", Path),
        option("-n --packets --transfers N", "moved", 3),
        option("--densities D+", "shares", [0.5, 1.0]),
        option("--waves DIR?", "drawn", Path, const=Path("waves")),
        flag("--no-init", "none", dest="init", action="store_false"),
    )
    found = _parsed(options, "a", "b", "--transfers", "7", "--waves", "--no-init")
    assert vars(found) == {
        "files": [Path("a"), Path("b")],
        "packets": 7,
        "densities": [0.5, 1.0],
        "waves": Path("waves"),
        "init": False,
    }
    assert options[1].settings["help"] == "moved (default 3)"
    assert options[2].settings["help"] == "shares (default 0.5 1)"


def test_a_default_that_the_help_tells_of_is_told_once() -> None:
    assert (
        option("--jobs N", "at once (default: one each)", 2).settings["help"] == "at once (default: one each)"
    )
    assert option("--first N", "where it begins (1)", 1).settings["help"] == "where it begins (1)"


def test_options_of_a_tuple_exclude_each_other() -> None:
    options = ((option("--a", "", required=True), option("--b", "")),)
    assert _parsed(options, "--b", "1").b == "1"
    for words in ([], ["--a", "1", "--b", "1"]):
        with pytest.raises((argparse.ArgumentError, SystemExit)):
            _parsed(options, *words)


def test_a_command_has_its_examples_and_what_is_fixed() -> None:
    parser = argparse.ArgumentParser(prog="made")
    command = Command(
        "one", "does", "It does.", lambda arguments: Result(None), examples=["", "-x"], fixed={"y": 2}
    )
    command.add_to(parser.add_subparsers())
    found = parser.parse_args(["one"])
    assert (found.y, found.run) == (2, command.run)


@pytest.mark.parametrize(("holds", "status"), [(True, 0), (False, 1)])
def test_a_result_in_each_form(holds: bool, status: int, capsys: pytest.CaptureFixture[str]) -> None:
    table = Table(("name", "size"), [("a|b", "1"), ("c", "20")], (1,))
    result = Result({"a": 1}, ["It is so:", table], holds)

    def printed(**asked: bool) -> str:
        assert show(result, argparse.Namespace(**asked)) == status
        return capsys.readouterr().out

    assert json.loads(printed(json=True)) == {"a": 1}
    assert printed() == "It is so:\nname  size\na|b      1\nc       20\n"
    assert printed(json=False, markdown=True) == (
        "It is so:\n\n| name | size |\n|---|---:|\n| a\\|b | 1 |\n| c | 20 |\n"
    )


def test_rows_have_a_line_where_the_group_changes() -> None:
    rows = [{"kind": kind, "n": n} for kind, n in (("a", 1), ("a", 2), ("b", 3))]
    columns = {"kind": lambda row: row["kind"], "n": lambda row: str(row["n"])}
    result = rows_result(rows, columns, 1, lambda row: row["kind"])
    assert result.data == rows
    (table,) = result.parts
    assert isinstance(table, Table)
    assert (list(table.lines), list(table.numbers)) == ([2], [1])
