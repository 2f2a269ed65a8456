"""The points of a sweep, and the axes that it refuses. Sweeps: what they measure, and that they continue where they
stopped. Plots of sweeps, and the fit that one of them shows.
"""

from __future__ import annotations

import pytest

from cdma.base.cache import Cache
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format
from cdma.synth.asic import measure as measure_module
from cdma.synth.asic.paths import MeasureError
from cdma.synth.asic.recipe import Options
from cdma.synth.asic.sweep.sweep import parse_axis, points, run_sweep

SMALL = CodecConfig(Format(word_bits=8, window=8), lanes=1)


def test_axes():
    assert parse_axis("lanes=2,4, 8") == ("lanes", (2, 4, 8))
    assert parse_axis("word-bits=8") == ("word_bits", (8,))
    assert parse_axis("period=0.8,1") == ("period", (0.8, 1.0))
    assert parse_axis("runtime_values=no,yes") == ("runtime_values", (False, True))
    assert parse_axis("pipelined=no,yes") == ("pipelined", (False, True))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lanes", "the sweep 'lanes' must be NAME=VALUE,VALUE"),
        ("lanes=", "the sweep 'lanes=' must be NAME=VALUE,VALUE"),
        ("colour=1", "the sweep 'colour=1' must be NAME=VALUE,VALUE"),
        ("lanes=2,many", "the sweep 'lanes=2,many' has a value that lanes cannot have"),
        ("lanes=2,2", "the sweep 'lanes=2,2' has a value twice"),
        (
            "runtime_values=maybe",
            "the sweep 'runtime_values=maybe' has a value that runtime_values cannot have",
        ),
        ("pipelined=2", "the sweep 'pipelined=2' has a value that pipelined cannot have"),
    ],
)
def test_axes_refused(text, message):
    with pytest.raises(MeasureError, match=f"^{message}"):
        parse_axis(text)


def test_points():
    found = list(points(SMALL, Options(), {"lanes": (1, 16), "period": (1.0, 2.0)}))
    assert [point.axes for point in found] == [
        {"lanes": 1, "period": 1.0},
        {"lanes": 1, "period": 2.0},
        {"lanes": 16, "period": 1.0},
        {"lanes": 16, "period": 2.0},
    ]
    assert [point.options.target_ns for point in found] == [1.0, 2.0, 1.0, 2.0]
    assert [point.config.lanes for point in found[:2]] == [1, 1]
    assert [bool(point.reason) for point in found] == [False, False, True, True]
    assert found[2].reason.startswith("lanes is 16; it must not exceed the window of 8 words")


def test_points_of_what_cannot_be_pipelined():
    plain, pipelined = points(SMALL, Options(), {"lanes": (4,), "pipelined": (False, True)})
    assert (plain.reason, plain.config.pipelined) == ("", False)
    assert pipelined.reason.startswith("lanes is 4 with a window of 8 words; a pipelined codec needs")


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
