"""The script that runs the commands of the documents: which lines it takes, and which only a reader can run."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs import commands
from docs.commands import exported, lines_of, own


def test_it_takes_the_lines_of_shell() -> None:
    text = "```sh\npip install .\n\n# a word\ncdma demo   # a run\n```\n```text\ncdma: no\n```\n"
    text += "```\nx --> y\ncdma formats\n```\n"
    assert lines_of(text) == ["pip install .", "cdma demo   # a run", "cdma formats"]


@pytest.mark.parametrize(
    ("line", "left_out"),
    [
        ("cdma area compressor --liberty your_pdk.lib", True),
        ("make test", True),
        ("pip install '.[torch]'", True),
        ("pip install '.[synth]'", False),
        ("cdma generate engine -o rtl", False),
        ("cdma wave compressor --input activations.npy -o waves", False),
    ],
)
def test_commands_with_files_of_the_reader_are_left_out(line: str, left_out: bool) -> None:
    assert own(line) == left_out


def test_a_line_ends_fine_or_with_its_last_word_or_is_ended(tmp_path: Path) -> None:
    def outcome(line: str) -> str:
        return commands._run(line, tmp_path, tmp_path, 0.5)

    assert outcome("true") == "fine"
    assert outcome("echo one; echo two; exit 3") == "status 3: two"
    assert outcome("sleep 9") == "still running"


def test_an_exported_variable_reaches_later_lines(tmp_path: Path) -> None:
    lines = ["export A=1", "echo", 'test "$A" = 1', "export A=2"]
    assert exported(lines, 2) == "export A=1\n"
    assert commands._run(lines[2], tmp_path, tmp_path, 5, exported(lines, 2)) == "fine"
    assert commands._run(lines[2], tmp_path, tmp_path, 5).startswith("status 1")


def test_a_script_that_a_document_tells_to_save_is_there(tmp_path: Path) -> None:
    commands._scripts("Save it as `a.py`:\n\n```python\nprint(1)\n```\n", tmp_path)
    assert (tmp_path / "a.py").read_text() == "print(1)\n"
