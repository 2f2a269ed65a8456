"""The frame of campaigns: what is kept is not run again, and what is lost ends the campaign or stands for a result."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest

from cdma.base.errors import CdmaError, ToolError
from cdma.verif.campaigns import campaign
from cdma.verif.campaigns.campaign import Campaign


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CDMA_CACHE", str(tmp_path))


def _campaign(ran: list[int], prepared: list[list[int]]) -> Campaign[int]:
    def double(part: int) -> int:
        if part == 13:
            raise ToolError("no such part")
        ran.append(part)
        return 2 * part

    return Campaign(
        "numbers", double, key=lambda part: [str(part)], prepare=lambda parts: prepared.append(list(parts))
    )


def test_kept_parts_come_first_and_are_not_run_again() -> None:
    ran: list[int] = []
    prepared: list[list[int]] = []
    numbers = _campaign(ran, prepared)
    assert dict(numbers.results([1, 2], jobs=2)) == {1: 2, 2: 4}
    assert list(numbers.results([3, 2, 1])) == [(2, 4), (1, 2), (3, 6)]
    assert (sorted(ran), prepared) == ([1, 2, 3], [[1, 2], [3]])
    assert dict(numbers.results([1])) == {1: 2}
    assert len(prepared) == 2


def test_kept_parts_are_of_the_benches_that_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[int] = []
    for benches in ("old", "old", "new"):
        monkeypatch.setattr(campaign, "_benches_key", lambda benches=benches: benches)
        list(_campaign(ran, []).results([1]))
    assert ran == [1, 1]


def test_the_benches_are_sources_of_every_kind() -> None:
    root = Path(campaign.__file__).parents[2]
    found = {
        path.suffix
        for name in campaign._BENCHES
        for kind in campaign._SOURCES
        for path in (root / name).rglob(kind)
    }
    assert found == {".py", ".cpp", ".sv"}


def test_a_part_that_is_lost_ends_the_campaign_and_leaves_the_others_kept() -> None:
    ran: list[int] = []
    numbers = _campaign(ran, [])
    with pytest.raises(CdmaError, match="13 was lost: no such part"):
        list(numbers.results([1, 13]))
    assert dict(numbers.results([1])) == {1: 2}
    assert ran == [1]


def test_without_a_key_there_is_no_end_of_parts() -> None:
    def halve(part: int) -> int:
        if part % 2:
            raise ToolError("odd")
        return part // 2

    halves: Campaign[int] = Campaign("halves", halve, lost=lambda part, reason: f"{part} is {reason}")
    results = halves.results(count(4))
    assert [next(results) for _ in range(3)] == [(4, 2), (5, "5 is odd"), (6, 3)]
    results.close()
