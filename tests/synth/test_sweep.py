"""Sweeps: what they measure, that they go on where they stopped, and what a lost worker costs."""

import json
import os
import signal

import pytest

from cdma.app import main
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format
from cdma.synth import measure as measure_module
from cdma.synth.cache import Cache
from cdma.synth.errors import MeasureError, ToolError
from cdma.synth.liberty import load_libraries
from cdma.synth.plots import fit_lanes, plot_sweep
from cdma.synth.recipe import Options
from cdma.synth.spread import Lost, spread
from cdma.synth.sweep import Sweep, parse_axis, points, run_sweep
from tests.support.paths import TINY

SMALL = CodecConfig(Format(word_bits=8, window=8), lanes=1)


@pytest.fixture(scope="module")
def tiny():
    return load_libraries([TINY])


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
    wanted = list(points(SMALL, Options(), {"lanes": (1, 2, 4)}))
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
    assert 1 <= before < 3
    outcomes = run_sweep("decompressor", tiny, wanted, jobs=2, cache=Cache(tmp_path))
    assert sorted(synthesised) == [1, 2, 4]
    assert [outcome.point.axes["lanes"] for outcome in outcomes] == [1, 2, 4]
    areas = [outcome.measurement.plain.kge for outcome in outcomes]
    assert areas == sorted(areas)
    assert outcomes[1].ge_per_byte == pytest.approx(1000 * areas[1] / 2)
    assert outcomes[1].floor_ratio == pytest.approx(areas[1] / outcomes[1].floor.kge)


def test_a_point_that_fails_costs_only_itself():
    def halve(number):
        if number % 2:
            raise MeasureError(f"{number} is odd")
        return number // 2

    assert dict(spread(halve, [4, 5, 6], jobs=2)) == {0: 2, 1: Lost("5 is odd"), 2: 3}


def test_a_mistake_of_ours_is_not_a_lost_point():
    with pytest.raises(ZeroDivisionError):
        list(spread(lambda number: 1 // number, [0], jobs=1))


def test_fit():
    lanes = (2, 4, 8, 16)
    exact = [3 + 0.5 * n * k for n, k in zip(lanes, (1, 2, 3, 4), strict=True)]
    fit = fit_lanes(lanes, exact)
    assert (fit.constant, fit.slope) == pytest.approx((3, 0.5))
    assert fit.worst == pytest.approx(0, abs=1e-9)
    assert fit_lanes(lanes, [*exact[:3], 2 * exact[3]]).worst > 0.1


@pytest.mark.slow
def test_command(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("CDMA_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "out"
    small = ["--word-bits", "8", "--window", "8", "--liberty", str(TINY)]
    command = ["area", "decompressor", *small, "--sweep", "lanes=1,2,16", "--sweep", "period=1,5", "--json"]
    assert main([*command, "-o", str(folder)]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["axes"] for row in rows] == [
        {"lanes": n, "period": p} for n in (1, 2, 16) for p in (1.0, 5.0)
    ]
    assert rows[0]["kge"] < rows[2]["kge"]
    assert rows[4] == {"axes": {"lanes": 16, "period": 1.0}, "reason": rows[5]["reason"]}
    names = ["area", "efficiency", "floor", "period"]
    expected = [f"decompressor-{name}.svg" for name in names] + [
        "decompressor-sweep.json",
        "decompressor-sweep.md",
    ]
    assert sorted(path.name for path in folder.iterdir()) == sorted(expected)
    assert json.loads((folder / "decompressor-sweep.json").read_text()) == rows
    table = (folder / "decompressor-sweep.md").read_text().splitlines()
    assert len(table) == 2 + 4
    assert table[2].startswith("| 1 | 1.0 | ")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert main([*command, "-o", str(folder)]) == 0
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--sweep", "lanes=1", "--sweep", "lanes=2"], "cdma: --sweep names lanes twice"),
        (["--sweep", "lanes=64"], "cdma: no point of the sweep can be: lanes is 64"),
        (["--sweep", "lanes=1", "--jobs", "-1"], "cdma: --jobs is -1; it must be 1 or more"),
        (["--scheduler", "tcp://127.0.0.1:1"], "cdma: --scheduler says how to sweep; give it with --sweep"),
        (["--sweep", "lanes=1", "--compare", "45"], "cdma: --sweep and --compare are two questions"),
        (["--compare", "45"], "cdma: --compare scales µm²; give the library with --liberty"),
    ],
)
def test_command_refuses(options, message, capsys):
    assert main(["area", "compressor", *options]) == 2
    assert capsys.readouterr().err.startswith(message)


def test_plots_need_matplotlib(monkeypatch, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(
        ToolError, match=r"^matplotlib is not installed; it comes with: pip install 'cdma\[plot\]'$"
    ):
        plot_sweep(Sweep("compressor", "tiny", {"lanes": (1, 2)}, ()), tmp_path)


# A real cluster --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cluster():
    """A scheduler and two worker processes; a job is lost when it has killed two workers."""
    distributed = pytest.importorskip("distributed")
    dask = pytest.importorskip("dask")
    with (
        dask.config.set(
            {"distributed.scheduler.allowed-failures": 1, "distributed.worker.memory.terminate": False}
        ),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50
        ) as running,
    ):
        yield running


def figures(outcome):
    """What was measured. Which of several equally long paths is shown is up to the timing analyser."""
    return {key: value for key, value in outcome.as_json().items() if key != "worst_path"}


@pytest.mark.slow
def test_cluster_gives_the_same_figures(cluster, tiny, tmp_path):
    wanted = list(points(SMALL, Options(), {"lanes": (1, 2, 16)}))
    here = run_sweep("decompressor", tiny, wanted, cache=Cache(tmp_path / "here"))
    there = run_sweep(
        "decompressor", tiny, wanted, scheduler=cluster.scheduler_address, cache=Cache(tmp_path / "there")
    )
    assert list(map(figures, there)) == list(map(figures, here))
    # What came back is kept here: nothing is left to do, not even a cluster is needed.
    again = run_sweep("decompressor", tiny, wanted, cache=Cache(tmp_path / "there"))
    assert again == there


@pytest.mark.slow
def test_a_job_that_kills_its_workers_costs_only_itself(cluster):
    def work(number):
        if number == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return number * 10

    found = dict(spread(work, list(range(6)), scheduler=cluster.scheduler_address))
    assert found.pop(2) == Lost("the workers that tried it died")
    assert found == {number: number * 10 for number in (0, 1, 3, 4, 5)}


def test_the_job_of_a_lost_worker_is_done_by_another(cluster, tmp_path):
    marks = str(tmp_path)

    def work(number):
        mark = os.path.join(marks, str(number))
        if number == 0 and not os.path.exists(mark):
            open(mark, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    assert dict(spread(work, [0, 1, 2], scheduler=cluster.scheduler_address)) == {0: 0, 1: 1, 2: 2}
    assert os.listdir(tmp_path) == ["0"]


def test_failures_on_the_cluster_say_why(cluster):
    def work(number):
        raise ValueError(f"no {number}")

    found = dict(spread(work, [7], scheduler=cluster.scheduler_address))
    assert found == {0: Lost("ValueError: no 7")}


def test_no_scheduler():
    pytest.importorskip("distributed")
    with pytest.raises(MeasureError, match=r"^there is no Dask scheduler at tcp://127\.0\.0\.1:1: "):
        list(spread(abs, [1], scheduler="tcp://127.0.0.1:1"))


def test_a_cluster_without_workers():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=":0", silence_logs=50) as empty,
        pytest.raises(MeasureError, match=r"^the Dask scheduler at tcp://\S+ has had no worker for 1 s$"),
    ):
        list(spread(abs, [1], scheduler=empty.scheduler_address, patience=1.0))
