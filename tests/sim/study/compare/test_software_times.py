"""Times of the compiled codec by size and density."""

from __future__ import annotations

import pytest

from cdma.base.errors import CdmaError
from cdma.sim.codec import native
from cdma.sim.study.compare import software_times as module


@pytest.mark.skipif(not native.installed(), reason="the kernels in C are not built")
def test_every_size_at_every_density() -> None:
    sizes, densities = [1 << 16, 1 << 18], [0.0, 0.5]
    rows = list(module.software_times(sizes, densities, rounds=2, calls=1))
    for part in (rows[:4], rows[4:]):
        # A round is over before the next one begins.
        assert sorted((row.bytes, row.density) for row in part) == [
            (size, density) for size in sizes for density in densities
        ]
    assert all(time > 0 for row in rows for time in (row.compress_s, row.decompress_s, row.copy_s))


def test_least_of_a_few_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """The shortest call counts, and none follows when enough time has been spent on two."""
    now = 0.0

    def timed(durations: list[float], calls: int) -> tuple[float, int]:
        left = list(durations)

        def call() -> None:
            nonlocal now
            now += left.pop(0)

        return module._least(call, calls), len(durations) - len(left)

    monkeypatch.setattr(module.time, "thread_time", lambda: now)
    assert timed([3e-3, 1e-3, 2e-3, 1e-4], 3) == (pytest.approx(1e-3), 3)
    assert timed([5e-2, 4e-2, 1e-3], 3) == (pytest.approx(4e-2), 2)


def test_nothing_to_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "installed", dict)
    with pytest.raises(CdmaError, match="not built"):
        module.kernels_name()
