"""Commands for a device: what they say, when they are due, and what they do."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cdma.base.errors import ParameterError
from cdma_linux.trial.mishaps import COMMANDS, Mishaps, commands_in


class _Victim:
    """Notes what happens to it."""

    def __init__(self) -> None:
        self.seen: list[tuple[object, ...]] = []

    def __getattr__(self, name: str) -> object:
        return lambda *arguments: self.seen.append((name, *arguments))


def happened(mishaps: Mishaps, submitted: int) -> list[tuple[object, ...]]:
    victim = _Victim()
    mishaps.happen(submitted, victim)
    return victim.seen


def of(*script: str, pipe: Path | None = None, seed: int = 1, refused: list[str] | None = None) -> Mishaps:
    return Mishaps(script, pipe, seed, ([] if refused is None else refused).append)


def test_every_command_does_what_it_says() -> None:
    script = (
        "error device 0x1000 slverr",
        "error host 64 decerr",
        "mend host 64",
        "silent host",
        "answer host",
        "latency device 300",
        "unplug",
        "waves",
        "delay 5 5",
        "# nothing",
        "",
    )
    assert {line.split()[0] for line in script if line} == {*COMMANDS, "#"}
    mishaps = of(*script)
    assert happened(mishaps, 0) == [
        ("error", "dev", 0x1000, 2),
        ("error", "host", 64, 3),
        ("mend", "host", 64),
        ("silent", "host"),
        ("answer", "host"),
        ("latency", "dev", 300),
        ("unplug",),
        ("waves",),
    ]
    assert mishaps.delay() == 5


def test_commands_wait_for_their_descriptor() -> None:
    mishaps = of("10 unplug", "4 silent device")
    assert happened(mishaps, 3) == []
    assert happened(mishaps, 6) == [("silent", "dev")]
    assert happened(mishaps, 10) == [("unplug",)]
    assert happened(mishaps, 11) == []


def test_delays_follow_from_the_seed() -> None:
    drawn = []
    for seed in (1, 1, 2):
        mishaps = of("delay 900 100", seed=seed)
        assert mishaps.delay() == 0
        happened(mishaps, 0)
        drawn.append([mishaps.delay() for _ in range(20)])
    assert drawn[0] == drawn[1] != drawn[2]
    assert all(100 <= delay <= 900 for delay in drawn[0])


def test_others_come_by_a_pipe(tmp_path: Path) -> None:
    pipe, refused = tmp_path / "control", []
    os.mkfifo(pipe)
    mishaps = of(pipe=pipe, refused=refused)
    writer = os.open(pipe, os.O_WRONLY)
    os.write(writer, b"silent device\nexplode\nansw")
    assert happened(mishaps, 0) == [("silent", "dev")]
    os.write(writer, b"er device\n")
    assert happened(mishaps, 0) == [("answer", "dev")]
    assert [text[:24] for text in refused] == ["the command is 'explode'"]
    os.close(writer)
    for file in mishaps.files:
        os.close(file)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("explode", r"^the command is 'explode'; it must be one of error, mend, "),
        ("7", r"^the command is ''; it must be"),
        ("3 error device", r"'3 error device' is no command; it must be error MEMORY ADDRESS RESPONSE"),
        ("silent moon", r"'moon' in 'silent moon' must be device or host"),
        ("error host 5 slow", r"'slow' in .* must be slverr or decerr"),
        ("delay 5 -1", r"'-1' in 'delay 5 -1' must be a number, 0 or more"),
        ("mend host five", r"'five' in .* must be a number"),
    ],
)
def test_lines_without_a_command_are_refused(line: str, sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        commands_in([line])
