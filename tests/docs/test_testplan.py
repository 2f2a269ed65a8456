"""The test plan has a row for each test and each proof that there is, and no other row."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from cdma.app import main
from tests.support.paths import DOCS, ROOT

#: Designs that have all tests of their kind between them.
DESIGNS = {
    "Codecs": [["compressor"], ["decompressor"]],
    "Stages": [["quantiser"], ["dequantiser"]],
    "Engines": [
        ["engine", "--format", "aie2p", "--crc", "--lossy", "fp32", "--sideband-registers"],
        ["engine", "--units", "2"],
    ],
}


def _rows(section: str) -> dict[str, str]:
    """The rows of the table under a heading, by the names in their first columns."""
    text = (DOCS / "testplan.md").read_text(encoding="utf-8")
    part = text.split(f"\n## {section}\n")[1].split("\n## ")[0]
    found = re.findall(r"^\| `(\w+)` \| (.*) \|$", part, re.MULTILINE)
    assert len(found) == len(dict(found))
    return dict(found)


def _listed(command: list[str], capsys: pytest.CaptureFixture[str]) -> list[dict[str, str]]:
    assert main([*command, "--list", "--json"]) == 0
    rows: list[dict[str, str]] = json.loads(capsys.readouterr().out)
    return rows


def test_each_section_of_tests_has_designs() -> None:
    sections = re.findall(r"^## (.*)$", (DOCS / "testplan.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sections == [*DESIGNS, "Proofs"]


@pytest.mark.parametrize("section", DESIGNS)
def test_every_test_has_its_row_and_every_row_its_test(
    section: str, capsys: pytest.CaptureFixture[str]
) -> None:
    tests = {
        row["test"]: f"{row['stimulus']} | {row['check']}"
        for design in DESIGNS[section]
        for row in _listed(["verify", *design], capsys)
    }
    rows = _rows(section)
    assert {name: row.rpartition(" | ")[0] for name, row in rows.items()} == tests


def test_every_proof_has_its_row_and_every_row_its_proof(capsys: pytest.CaptureFixture[str]) -> None:
    proofs: dict[str, list[str]] = {}
    for row in _listed(["prove"], capsys):
        proofs.setdefault(f"{row['property']} | {row['claim']}", []).append(row["config"])
    assert [f"{name} | {row}" for name, row in _rows("Proofs").items()] == [
        f"{proof} | {'; '.join(configs)}" for proof, configs in proofs.items()
    ]


def test_it_is_current() -> None:
    command = [sys.executable, ROOT / "docs" / "make_testplan.py", "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
