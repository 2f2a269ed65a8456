"""What commands show: progress on a terminal only, tables as wide as they need to be."""

from __future__ import annotations

import io
import sys

import pytest
from rich.console import Console

from cdma import output
from cdma.output import byte_progress, new_table, part_progress, status, step_progress


def _work() -> None:
    """Uses every kind of progress once."""
    with status() as say:
        say("thinking")
    with byte_progress("reading", 10) as advance:
        advance(10)
    with step_progress("measuring", 2) as step:
        step()
        step(what="the second")
    with part_progress() as tell:
        tell("half", 0.5)


def test_a_pipe_gets_no_progress(capfd: pytest.CaptureFixture[str]) -> None:
    _work()
    assert capfd.readouterr() == ("", "")


def test_a_terminal_gets_progress_on_standard_error(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=True, width=80)
    monkeypatch.setattr(output, "_progress_console", lambda: console)
    monkeypatch.setattr(output, "_PATIENCE", 0.0)
    _work()
    for words in ("thinking", "reading", "the second", "2/2", "half", "50%"):
        assert words in shown.getvalue()
    assert capfd.readouterr() == ("", "")


def test_a_table_keeps_its_columns_in_a_pipe(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    table = new_table("name", "number of everything", "another number", texts=1)
    table.add_row("x" * 60, "1", "2,000")
    output.output().print(table)
    titles, row = capsys.readouterr().out.splitlines()
    assert titles.split() == ["name", "number", "of", "everything", "another", "number"]
    assert row.endswith(" 1           2,000")
    assert not sys.stdout.isatty()


def test_a_pipe_gets_no_spaces_at_the_ends_of_lines(capsys: pytest.CaptureFixture[str]) -> None:
    table = new_table("name", "what for", texts=2)
    table.add_row("a", "short")
    table.add_row("b", "long " * 50)
    table.add_row("c", "")
    output.output().print(table)
    lines = capsys.readouterr().out.split("\n")
    assert lines == ["name  what for", "a     short", f"b     {'long ' * 49}long", "c", ""]
