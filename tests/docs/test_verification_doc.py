"""docs/verification.md: its table of proofs has those that there are."""

from __future__ import annotations

import re

from cdma.verif.proofs.choice import all_proofs
from tests.support.paths import DOCS

DOCUMENT = DOCS / "verification.md"
#: A row as ``cdma prove --markdown`` prints it: property, configuration, method, depth, status, seconds.
_ROW = re.compile(r"\| `(\w+)` \| ([^|]+) \| (\w+) \| (\d*) ?\| (\w+) \| \d+ \|")


def test_the_table_of_proofs_has_each_once() -> None:
    rows = [_ROW.fullmatch(line) for line in DOCUMENT.read_text().splitlines()]
    told = [(row[1], row[2], row[3], int(row[4] or 0)) for row in rows if row]
    proofs = [(proof.name, proof.config, proof.method, proof.depth) for proof in all_proofs()]
    assert sorted(told) == sorted(proofs)


def test_what_the_table_says_holds() -> None:
    rows = [_ROW.fullmatch(line) for line in DOCUMENT.read_text().splitlines()]
    assert {(row[5], row[3] == "bmc") for row in rows if row} == {("proven", False), ("bounded", True)}
