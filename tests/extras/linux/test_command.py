"""``cdma linux``, as far as it can be tried without a kernel that runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from cdma_linux.trial import run as linux_run
from tests.support.commands import Refused


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--run", "no_such_program"], "the program is no_such_program, which is not there"),
        (["--run"], "--run is given without a program"),
        (["--control", "/nonexist/pipe"], "--control is /nonexist/pipe; there is no directory /nonexist"),
        (["--script", "missing"], "cannot read missing"),
        (["--script", "script"], "the command is 'explode'"),
        (["--control", "script"], "--control is script, which is there already"),
        (["--waves", "waves.png"], "has no ending .vcd"),
        (["--first", "0"], "first is 0; it must be 1 or more"),
        (["--measure", "-5"], "--measure is -5; it must be a number of transfers"),
        (["--feed", "-5"], "--feed is -5; it must be a number of descriptors"),
        (["--feed", "5", "--measure", "5"], "--measure and --feed are measured one at a time"),
        (["--json"], "--json is for what --measure or --feed has found"),
        (["--no-registers"], "no registers"),
    ],
)
def test_impossible_runs_are_refused_in_a_sentence(
    options: list[str],
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    refused: Refused,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(linux_run, "kernel", lambda *_: pytest.fail("it goes on"))
    Path("script").write_text("5 explode\n")
    assert sentence in refused("linux", *options)
