"""The table of causes in the guide of the engine has the order that hardware and model have."""

from __future__ import annotations

import re

from cdma.hdl.spec.records import CAUSES, Status
from tests.support.paths import DOCS

_REFUSALS = (
    {Status.FETCH_SLVERR, Status.FETCH_DECERR},
    {Status.RESERVED},
    {Status.OWNER},
    {Status.ZERO_LENGTH},
    {Status.LENGTH},
    {Status.SHAPE},
    {Status.CAPACITY},
    {Status.ALIGNMENT},
    {Status.WINDOW},
)


def test_the_causes_are_in_the_order_of_the_guide() -> None:
    text = (DOCS / "engine.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d*) ?\| (`[A-Z_`, ]+`) \|", text.partition("## Errors")[2], re.MULTILINE)
    ranked = [
        (int(order), {Status[name] for name in re.findall(r"\w+", names)}) for order, names in rows if order
    ]
    assert ranked == list(enumerate([*_REFUSALS, *map(set, CAUSES)], 1))
    unranked = {Status[name] for order, names in rows if not order for name in re.findall(r"\w+", names)}
    named = set.union(unranked, *(names for _, names in ranked))
    assert named == set(Status) - {Status.OK}
