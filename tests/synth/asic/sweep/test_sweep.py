"""Sweeps: what they measure, and that they continue where they stopped."""

import pytest

from cdma.base.json_cache import Cache
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format
from cdma.synth.asic import measure as measure_module
from cdma.synth.asic.recipe import Options
from cdma.synth.asic.sweep.points import points
from cdma.synth.asic.sweep.sweep import run_sweep

SMALL = CodecConfig(Format(word_bits=8, window=8), lanes=1)


@pytest.mark.slow
def test_a_sweep_goes_on_where_it_stopped(tiny, tmp_path, monkeypatch):
    wanted = list(points(SMALL, Options(), {"lanes": (1, 2)}))
    synthesised = []
    real = measure_module.synthesise

    def counting(circuit, *arguments, **options):
        synthesised.append(circuit.config["lanes"])
        return real(circuit, *arguments, **options)

    monkeypatch.setattr(measure_module, "synthesise", counting)

    def interrupt(outcome):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_sweep("decompressor", tiny, wanted, jobs=1, cache=Cache(tmp_path), on_done=interrupt)
    before = len(synthesised)
    assert before == 1
    outcomes = run_sweep("decompressor", tiny, wanted, jobs=2, cache=Cache(tmp_path))
    assert sorted(synthesised) == [1, 2]
    assert [outcome.point.axes["lanes"] for outcome in outcomes] == [1, 2]
    areas = [outcome.measurement.plain.kge for outcome in outcomes]
    assert areas == sorted(areas)
    assert outcomes[1].ge_per_byte == pytest.approx(1000 * areas[1] / 2)
    assert outcomes[1].floor_ratio == pytest.approx(areas[1] / outcomes[1].floor.kge)


def figures(outcome):
    """What was measured. Which of several equally long paths is shown is up to the timing analyser."""
    return {key: value for key, value in outcome.as_json().items() if key != "worst_path"}


@pytest.mark.slow
def test_cluster_gives_the_same_figures(cluster, tiny, tmp_path):
    wanted = list(points(SMALL, Options(), {"lanes": (1, 16)}))
    here = run_sweep("decompressor", tiny, wanted, cache=Cache(tmp_path / "here"))
    there = run_sweep(
        "decompressor", tiny, wanted, scheduler=cluster.scheduler_address, cache=Cache(tmp_path / "there")
    )
    assert list(map(figures, there)) == list(map(figures, here))
    # What came back is kept here: nothing is left to do, not even a cluster is needed.
    again = run_sweep("decompressor", tiny, wanted, cache=Cache(tmp_path / "there"))
    assert again == there
