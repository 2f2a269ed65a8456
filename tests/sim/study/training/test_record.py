"""The files that ``cdma characterise --train`` makes; skipped where torch is not installed."""

import pytest

from cdma.sim.study.system.density_table import load_densities
from cdma.sim.study.training.ratios import load_ratios
from cdma.sim.study.training.record import record
from cdma.sim.study.training.schedule import Schedule
from tests.support.samples import load_samples

pytest.importorskip("torch")
pytest.importorskip("sklearn")


def test_makes_what_the_readers_read(tmp_path):
    said = []
    schedule = Schedule(epochs=1, batch=500, probe=4, points=3)
    records = record(schedule, ["vgg"], lambda what, part: said.append((what, part)))
    for name, data in records.items():
        (tmp_path / name).write_bytes(data)
    table = load_densities(tmp_path / "densities.json")
    assert list(table.networks) == ["vgg"]
    rows = load_ratios(tmp_path / "ratios.json")
    assert len(rows) == 15 * len(table.networks["vgg"])
    samples = load_samples(tmp_path / "samples.npz")
    assert samples["vgg.pool1"].shape == (4, 32, 8, 8)
    parts = [part for _, part in said]
    assert parts == sorted(parts)
    assert parts[-1] == pytest.approx(1)
