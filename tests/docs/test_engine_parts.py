"""Every block of an engine is counted once, in the part that it belongs to."""

from __future__ import annotations

import pytest

from docs.results.engine_parts import CODECS, PARTS, parts_of
from docs.results.records import load


@pytest.mark.parametrize(
    ("block", "part"),
    [
        ("core.offload.path.switch", CODECS),
        ("engine.offload.path.writer", "writers"),
        ("engine.rings.slot", "rings"),
        ("engine.prefetch.slots", "descriptors in flight"),
        ("engine.rings.offload_fetch_watchdog", "rings"),
        ("engine.offload.read_watchdog", "time and watchdogs"),
        ("registers.register_file", "registers"),
        ("(top)", "the rest"),
    ],
)
def test_a_block_belongs_to_one_part(block: str, part: str) -> None:
    assert {name for name, kge in parts_of([{"block": block, "kge": 1.5}]).items() if kge} == {part}


@pytest.mark.parametrize("name", ["minimal", "default"])
def test_parts_add_up_to_the_blocks(name: str) -> None:
    rows = load()[f"profile-{name}"].figures["breakdown"]
    assert sum(parts_of(rows).values()) == pytest.approx(sum(row["kge"] for row in rows))
    assert set(parts_of(rows)) == set(PARTS)
