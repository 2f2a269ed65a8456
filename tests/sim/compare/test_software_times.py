"""Times of the compiled codec by size and density."""

from __future__ import annotations

import pytest

from cdma.hdl.spec.errors import CdmaError
from cdma.sim.codec import native
from cdma.sim.compare import software_times as module


@pytest.mark.skipif(not native.installed(), reason="the kernels in C are not built")
def test_every_size_at_every_density() -> None:
    rows = list(module.software_times([1 << 16, 1 << 18], [0.0, 0.5], repeats=2))
    assert [(row.bytes, row.density) for row in rows] == [
        (size, density) for density in (0.0, 0.5) for size in (1 << 16, 1 << 18) for _ in range(2)
    ]
    assert all(time > 0 for row in rows for time in (row.compress_s, row.decompress_s, row.copy_s))


def test_nothing_to_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "installed", dict)
    with pytest.raises(CdmaError, match="not built"):
        module.kernels_name()
