"""The counts of ``make weight``, on a project of four files."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests import weight

_FILES = {
    "hdl/spec/codec.py": "class CodecConfig:\n    lanes: int = 8\n",
    "hdl/spec/engine.py": "class EngineConfig:\n    lanes: int = 8\n    crc: bool = False\n",
    "hdl/axi/ports/burst.py": "from cdma.hdl.spec.codec import CodecConfig\nfrom cdma.hdl.spec import engine\n# planes\n",
    "extras/study/app.py": "import cdma.hdl.axi.ports.burst\n",
    "tests/test_app.py": "crc = 1\n",
    "README.md": "What\nit\nis.\n",
    "docs/registers.md": "0\n1\n",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in _FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "-m", "one"]):
        subprocess.run(["git", "-C", str(tmp_path), *command], check=True)
    return tmp_path


def test_every_count(project: Path) -> None:
    assert weight.weight(project) == {
        "lines: product": 9,
        "lines: core": 8,
        "lines: tests": 1,
        "lines: documents, written": 3,
        "files: product": 4,
        "files: tests": 1,
        "lines: a file of the product": 2,
        "rooms": 3,
        "rooms: core": 2,
        "arrows": 2,
        "arrows: core": 1,
        "lines: extras/study": 1,
        "lines: hdl/axi": 3,
        "lines: hdl/spec": 5,
        "files that name lanes": 2,
        "files that name crc": 1,
    }


def test_a_revision_stands_beside(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "hdl/spec/codec.py").write_text(
        "class CodecConfig:\n    lanes: int = 8\n    crc: bool = True\n"
    )
    assert weight.main(["--base", "HEAD", "--json"], project) == 0
    counts = json.loads(capsys.readouterr().out)
    assert {title: each["files that name crc"] for title, each in counts.items()} == {"HEAD": 1, "now": 2}
    assert weight.main(["--base", "HEAD"], project) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].split() == ["HEAD", "now"]
    assert "         9        10  lines: product" in said
