"""The picture of rows: a line per direction, the least over densities, beside what the memory can give."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("matplotlib")

from cdma.commands.bench import plot


def test_rows_are_drawn_by_their_bytes_with_the_least_of_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures: list[Any] = []
    monkeypatch.setattr(plot, "_save", lambda figure, path: figures.append(figure))
    same = {"direction": "prefetch", "concurrent": False, "memory_latency": 100}
    plot.plot_rows(
        [
            same | {"row": 256, "utilisation": 0.9, "of_memory": 0.9},
            same | {"row": 64, "utilisation": 0.30, "of_memory": 0.6},
            same | {"row": 64, "utilisation": 0.25, "of_memory": 0.5},
            same | {"row": 64, "utilisation": 0.10, "of_memory": 0.2, "concurrent": True},
        ],
        tmp_path / "rows.svg",
    )
    drawn = [[*zip(*line.get_data(), strict=True)] for line in figures[0].axes[0].lines]
    assert drawn == [[(64, 0.25), (256, 0.9)], [(64, 0.5), (256, 1.0)]]
