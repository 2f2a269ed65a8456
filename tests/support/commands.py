"""What tests ask of the command line: what it prints, the sentence with which it refuses, and the codecs it means."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from cdma.app import main, parser
from cdma.hdl.spec.codec import CodecConfig
from cdma.options import codec_config_from

#: Each takes the words of a command.
Printed = Callable[..., Any]
Refused = Shown = Callable[..., str]


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str]) -> Printed:
    """What a command prints with ``--json`` where it ends well."""

    def run(*words: str) -> Any:
        assert main([*words, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    return run


@pytest.fixture
def shown(capsys: pytest.CaptureFixture[str]) -> Shown:
    """The text that a command prints where it ends well."""

    def run(*words: str) -> str:
        assert main([*words]) == 0
        return capsys.readouterr().out

    return run


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Refused:
    """The sentence with which a command ends that a user got wrong, behind its warnings."""

    def run(*words: object) -> str:
        capsys.readouterr()
        assert main([str(word) for word in words]) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert sum(not line.startswith("cdma: warning: ") for line in captured.err.splitlines()) == 1
        return captured.err

    return run


def codecs_of(table: str) -> dict[str, tuple[CodecConfig, bool]]:
    """Codecs by the options of a command that mean them, a line each: each with whether it has initial values."""
    lines = [line for line in table.strip().splitlines() if not line.startswith("#")]
    commands = parser()
    asked = {line: commands.parse_args(["verify", "compressor", *line.split()]) for line in lines}
    return {line: (codec_config_from(each), each.init) for line, each in asked.items()}
