"""The regression on one design: builds it, runs the tests of its plan in parallel, and sums up; and campaigns of
independent parts, on processors or a Dask cluster, each result kept by content.

An interrupted campaign continues where it stopped, and one with more parts runs only the new ones.
"""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from cdma.base.cache import Cache, cache_folder, content_key
from cdma.base.errors import CdmaError, ParameterError
from cdma.base.spread import Lost, spread, tool_threads
from cdma.hdl.spec.codec import BLOCKS, CodecConfig
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.stage import STAGES, StageConfig
from cdma.verif.engine.design import ENGINE_PLAN, EngineDesign
from cdma.verif.simulator.build import build, build_four_state
from cdma.verif.simulator.plan import COUNTING, TestPlan, TestPoint
from cdma.verif.simulator.simulate import Design, Outcome, SimulationError, simulate
from cdma.verif.stream.codec.design import CODEC_PLAN, CodecDesign
from cdma.verif.stream.stage.design import STAGE_PLAN, StageDesign


def design_of(block: str, config: CodecConfig | StageConfig | EngineConfig, *, init: bool = True) -> Design:
    if isinstance(config, EngineConfig):
        return EngineDesign(config, init)
    if isinstance(config, StageConfig):
        return StageDesign(block, config, init)
    return CodecDesign(block, config, init)


def plan_of(design: Design) -> TestPlan:
    if design.block in BLOCKS:
        return CODEC_PLAN
    return STAGE_PLAN if design.block in STAGES else ENGINE_PLAN


def activity(design: Design, verilog: str, tensors: Sequence[NDArray[Any]], timeout: float = 7200) -> str:
    """The counts of the netlist ``verilog`` of a codec or of an engine with rings for each tensor, and at rest; for an
    engine offload and prefetch.

    Raises :class:`.SimulationError` where a bit differs from the golden model.
    """
    module = (
        "cdma.verif.engine.measurement"
        if isinstance(design, EngineDesign)
        else "cdma.verif.stream.codec.tests.single"
    )
    executable = build(design.watched(verilog), design.top, [*design.port_names, COUNTING], short=True)
    with tempfile.TemporaryDirectory(prefix="cdma-") as directory:
        folder = Path(directory)
        paths = [folder / f"words{number}.npy" for number in range(len(tensors))]
        for path, words in zip(paths, tensors, strict=True):
            np.save(path, words)
        counts = folder / "activity"
        settings = {
            "design": design.to_json(),
            "packets": 1,
            "seed": 1,
            "rows": str(folder / "rows"),
            "words": [str(path) for path in paths],
        }
        (outcome,) = simulate(
            executable,
            design.top,
            module,
            ["counted"],
            settings,
            plusargs=[f"+activity={counts}"],
            timeout=timeout,
        )
        if outcome.failure is not None:
            raise SimulationError(f"the netlist of the {design} failed: {outcome.failure}")
        return counts.read_text()


#: What every outcome counts.
COUNTS = ("packets", "words", "checks", "cycles")

#: Ends the names of the files that a simulation leaves where coverage is asked for: Verilator's counts, and what the
#: bench observed.
COUNTS_SUFFIX, SAMPLES_SUFFIX = ".dat", ".jsonl"


@dataclass(frozen=True)
class Regression:
    """The results of a regression; ``packets`` is the budget of the longest test, of a codec in packets, of an engine in
    transfers."""

    design: Design
    seed: int
    packets: int
    outcomes: Sequence[Outcome]

    @property
    def passed(self) -> bool:
        """Whether every test passed, and there was one."""
        return bool(self.outcomes) and all(outcome.failure is None for outcome in self.outcomes)

    def total(self, what: str) -> int:
        """The sum over all tests of one of :data:`COUNTS`."""
        return sum(getattr(outcome, what) for outcome in self.outcomes)

    def to_dict(self) -> dict[str, Any]:
        """For JSON, without the logs."""
        rows = [dataclasses.asdict(outcome) for outcome in self.outcomes]
        for row in rows:
            del row["log"]
        design = {
            "block": self.design.block,
            "config": dataclasses.asdict(self.design.config),
            "init": self.design.init,
            "text": str(self.design),
        }
        totals = {what: self.total(what) for what in COUNTS}
        return {"design": design, "seed": self.seed, "passed": self.passed, **totals, "tests": rows}


def replay_command(design: Design, test: str, seed: int, packets: int) -> str:
    """The command line that runs one test again just as it was."""
    budget = f"--{plan_of(design).unit} {packets}"
    words = ["cdma verify", design.block, design.options(), f"--tests {test} --seed {seed}", budget]
    return " ".join(filter(None, words))


def check_budget(plan: TestPlan, packets: int | None) -> int:
    budget = plan.budget if packets is None else packets
    if budget < 1:
        raise ParameterError(f"{plan.unit} is {budget}; a regression that moves nothing proves nothing")
    return budget


def verify(
    design: Design,
    *,
    tests: Sequence[str] | None = None,
    seed: int = 1,
    packets: int | None = None,
    jobs: int = 1,
    waves: Path | None = None,
    verilog: str | None = None,
    four_state: bool = False,
    coverage: Path | None = None,
    samples: Path | None = None,
    plusargs: Sequence[str] = (),
    timeout: float = 1800,
    short: bool = False,
    report: Callable[[Outcome], None] | None = None,
) -> Regression:
    """Runs the tests of the plan, or those named in ``tests``, on one design.

    ``packets`` is the budget of the longest test; ``jobs`` simulations run at once, each for ``timeout`` seconds at
    most. Directories: ``waves`` gets a VCD of every test, ``coverage`` what each simulation covered, ``samples`` of
    that only what the benches observe. ``four_state`` uses Icarus Verilog; a ``short`` regression uses a build that is
    ready sooner and slower. ``report`` is called with each outcome. ``verilog`` replaces the design's own text and
    ``plusargs`` reach the simulation, which is how the bench itself is tested.
    """
    plan = plan_of(design)
    budget = check_budget(plan, packets)
    points = plan.choose(design, tests)
    text = design.watched(design.verilog() if verilog is None else verilog)
    if four_state:
        executable = build_four_state(text, design.top, design.ports, trace=waves is not None)
    else:
        executable = build(
            text,
            design.top,
            design.port_names,
            trace=waves is not None,
            coverage=coverage is not None,
            short=short,
        )
    settings = {"design": design.to_json(), "packets": budget, "seed": seed}

    def run(
        names: Sequence[str], start: int, report_each: Callable[[Outcome], None] | None = None
    ) -> list[Outcome]:
        # A lot with waves has one test, and the VCD is that of its first start.
        trace = waves / f"{names[0]}.vcd" if waves is not None and start == seed else None
        covered, passed_on = list(plusargs), settings
        stem = f"{names[0]}-{start}"
        if coverage is not None:
            covered.append(f"+verilator+coverage+file+{coverage / (stem + COUNTS_SUFFIX)}")
        observed = samples or coverage
        if observed is not None:
            passed_on = {**settings, "samples": str(observed / (stem + SAMPLES_SUFFIX))}
        return simulate(
            executable,
            design.top,
            ",".join(plan.modules),
            names,
            passed_on,
            start=start,
            four_state=four_state,
            waves=trace,
            plusargs=covered,
            timeout=timeout,
            report=report_each,
        )

    def run_lot(lot: Sequence[TestPoint]) -> list[Outcome]:
        # A process takes longer to start than most tests: the first start of a test with several is among the others.
        several = {point.name: point.starts for point in lot if point.starts > 1}

        def report_once(outcome: Outcome) -> None:
            if report is not None and outcome.test not in several:
                report(outcome)

        outcomes = {
            outcome.test: outcome for outcome in run([point.name for point in lot], seed, report_once)
        }
        for name, starts in several.items():
            further = [run([name], seed + index)[0] for index in range(1, starts)]
            outcomes[name] = _merge_starts([outcomes[name], *further])
            if report is not None:
                report(outcomes[name])
        return list(outcomes.values())

    lots = [[point] for point in points] if waves is not None else _lots(points, jobs)
    with tool_threads(max(1, jobs)) as pool:
        outcomes = {outcome.test: outcome for lot in pool.map(run_lot, lots) for outcome in lot}
    return Regression(design, seed, budget, [outcomes[point.name] for point in points])


def _lots(points: Sequence[TestPoint], jobs: int) -> list[list[TestPoint]]:
    """The points shared out over simulations: a process takes longer to start than most tests to run."""
    lots: list[list[TestPoint]] = [[] for _ in range(max(1, min(jobs, len(points))))]
    for point in sorted(points, key=lambda point: -point.weight):
        min(lots, key=lambda lot: sum(other.weight for other in lot)).append(point)
    return lots


def _merge_starts(runs: Sequence[Outcome]) -> Outcome:
    """One outcome of a test that ran from several random start values, which must not show on any cycle."""
    for outcome in runs:
        if outcome.failure is not None:
            return outcome
    failure = None
    if len({outcome.notes["digest"] for outcome in runs}) > 1:
        failure = "the outputs differ between runs that differ only in the start values of registers"
    totals = {what: sum(getattr(outcome, what) for outcome in runs) for what in COUNTS}
    return Outcome(
        runs[0].test,
        failure,
        **{**totals, "checks": totals["checks"] + len(runs) - 1},
        seconds=sum(outcome.seconds for outcome in runs),
        notes={"starts": len(runs)},
    )


def verify_on_cluster(
    design: Design,
    scheduler: str,
    *,
    tests: Sequence[str] | None = None,
    seed: int = 1,
    packets: int | None = None,
    verilog: str | None = None,
    four_state: bool = False,
    report: Callable[[Outcome], None] | None = None,
) -> Regression:
    """:func:`.verify` with the workers of a Dask ``scheduler``. A lost job is a failed test."""
    plan = plan_of(design)
    budget = check_budget(plan, packets)
    points = plan.choose(design, tests)
    longest = sorted(points, key=lambda point: -point.weight)
    verify_some = partial(verify, design, seed=seed, packets=budget, verilog=verilog, four_state=four_state)
    campaign: Campaign[str] = Campaign(
        "regression",
        partial(_run, verify_some),
        lost=lambda test, reason: Outcome(test, f"the run was lost: {reason}"),
    )
    outcomes: dict[str, Outcome] = {}
    for test, outcome in campaign.results((point.name for point in longest), scheduler=scheduler):
        outcomes[test] = outcome
        if report is not None:
            report(outcome)
    return Regression(design, seed, budget, [outcomes[point.name] for point in points])


def _run(verify_some: Callable[..., Regression], test: str) -> Outcome:
    """Builds where there is no build yet, and runs one test."""
    (outcome,) = verify_some(tests=[test]).outcomes
    return outcome


Part = TypeVar("Part")

#: The rooms of the benches and of the models: what becomes of a part is theirs.
_BENCHES = ("verif", "sim/codec", "sim/engine", "hdl/spec")
_SOURCES = ("*.py", "*.cpp", "*.sv")


def _end(part: Any, reason: str) -> Any:
    raise CdmaError(f"{part} was lost: {reason}")


@dataclass(frozen=True)
class Campaign(Generic[Part]):
    """How the parts of a campaign run.

    ``name``: The folder of the cache.
    ``run``: Gives the result of a part. A worker calls it with the part alone.
    ``key``: Texts that the result depends on beside the benches and the models; None if nothing is kept. Kept results
        are JSON.
    ``lost``: Makes the result of a lost part from the reason, where nothing is kept. By default the campaign ends.
    ``prepare``: Called with the parts that will run on this machine, before the first does.
    """

    name: str
    run: Callable[[Part], Any]
    key: Callable[[Part], Iterable[str]] | None = None
    lost: Callable[[Part, str], Any] = _end
    prepare: Callable[[Sequence[Part]], None] | None = None

    def results(
        self,
        parts: Iterable[Part],
        *,
        jobs: int = 1,
        scheduler: str | None = None,
        seconds: float | None = None,
    ) -> Iterator[tuple[Part, Any]]:
        """Each part with its result: kept ones first, the others as they end.

        ``jobs`` of them run at once, or the workers of a Dask ``scheduler`` share them. Where nothing is kept, parts
        may be endless; after ``seconds`` those that still run are dropped.
        """
        if self.key is None:
            yield from self._run(parts, jobs, scheduler, seconds)
            return
        kept = Cache(cache_folder() / self.name)
        keys: dict[Part, str] = {}
        for part in parts:
            key = content_key(_benches_key(), *self.key(part))
            known = kept.load(key)
            if known is None:
                keys[part] = key
            else:
                yield part, known
        if keys and scheduler is None and self.prepare is not None:
            self.prepare(list(keys))
        for part, found in self._run(keys, jobs, scheduler):
            kept.store(keys[part], found)
            yield part, found

    def _run(
        self, parts: Iterable[Part], jobs: int, scheduler: str | None, seconds: float | None = None
    ) -> Iterator[tuple[Part, Any]]:
        started: list[Part] = []

        def take() -> Iterator[Part]:
            for part in parts:
                started.append(part)
                yield part

        for index, found in spread(self.run, take(), jobs=jobs, scheduler=scheduler, seconds=seconds):
            part = started[index]
            yield part, self.lost(part, found.reason) if isinstance(found, Lost) else found


@cache
def _benches_key() -> str:
    root = Path(__file__).parents[2]
    rooms = [root / name for name in _BENCHES]
    assert all(room.is_dir() for room in rooms), "a room has moved"
    sources = sorted(path for room in rooms for kind in _SOURCES for path in room.rglob(kind))
    return content_key(*(path.read_bytes() for path in sources))
