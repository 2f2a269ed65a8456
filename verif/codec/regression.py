"""The regression on one design: builds it, runs the tests of the plan in parallel, and sums up."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cdma.hdl.spec.errors import ParameterError
from cdma.verif.simulator.build import build
from cdma.verif.simulator.simulate import Outcome, simulate

from .design import CodecDesign
from .plan import CODEC_PLAN, TestPoint

__all__ = ["Regression", "choose_tests", "replay_options", "verify"]

_MODULE = "cdma.verif.codec.tests"
#: Random packets of the longest test; the others take a share of it.
PACKETS = 2000


@dataclass(frozen=True)
class Regression:
    """What a regression did; it passed if it ran something and nothing failed."""

    design: CodecDesign
    seed: int
    packets: int
    outcomes: Sequence[Outcome]

    @property
    def passed(self) -> bool:
        """Whether every test passed, and there was one."""
        return bool(self.outcomes) and all(outcome.failure is None for outcome in self.outcomes)

    def total(self, what: str) -> int:
        """The sum over all tests of ``packets``, ``words``, ``checks`` or ``cycles``."""
        return sum(getattr(outcome, what) for outcome in self.outcomes)

    def to_dict(self) -> dict[str, Any]:
        """For JSON: everything but the logs."""
        rows = []
        for outcome in self.outcomes:
            row = dataclasses.asdict(outcome)
            del row["log"]
            rows.append(row)
        totals = {what: self.total(what) for what in ("packets", "words", "checks", "cycles")}
        design = {**dataclasses.asdict(self.design), "text": str(self.design)}
        return {"design": design, "seed": self.seed, "passed": self.passed, **totals, "tests": rows}


def choose_tests(design: CodecDesign, names: Sequence[str] | None = None) -> list[TestPoint]:
    """The points of the plan for this block, or those of them that are named."""
    points = [point for point in CODEC_PLAN if design.block in point.blocks]
    if names is None:
        return points
    known = {point.name: point for point in points}
    for name in names:
        if name not in known:
            raise ParameterError(
                f"tests has {name!r}; the tests of the {design.block} are {', '.join(known)}"
            )
    if not names:
        raise ParameterError("tests is empty; a regression that runs nothing proves nothing")
    return [point for point in points if point.name in names]


def replay_options(design: CodecDesign, test: str, seed: int, packets: int) -> str:
    """The command line that runs one test again just as it was."""
    form, config = design.config.format, design.config
    words = ["cdma verify", design.block]
    words += [f"--word-bits {form.word_bits} --lanes {config.lanes} --window {form.window}"]
    words += [f"--code-bits {form.code_bits} --values", *map(hex, form.values)]
    words += ["--runtime-values"] if config.runtime_values else []
    words += ["--pipelined"] if config.pipelined else []
    words += [] if design.init else ["--no-init"]
    words += [f"--tests {test} --seed {seed} --packets {packets}"]
    return " ".join(words)


def verify(
    design: CodecDesign,
    *,
    tests: Sequence[str] | None = None,
    seed: int = 1,
    packets: int = PACKETS,
    jobs: int = 1,
    waves: Path | None = None,
    verilog: str | None = None,
    report: Callable[[Outcome], None] | None = None,
) -> Regression:
    """Runs the tests of the plan, or those named in ``tests``, on one design.

    ``waves`` is a directory that takes a VCD of every test; ``jobs`` is how many simulations may run at once;
    ``verilog`` replaces the design's own text, which is how the bench itself is tested.
    """
    if packets < 1:
        raise ParameterError(f"packets is {packets}; a regression that sends no packet proves nothing")
    points = choose_tests(design, tests)
    text = design.verilog() if verilog is None else verilog
    executable = build(text, design.top, design.ports, trace=waves is not None)
    settings = {"design": design.to_json(), "packets": packets, "seed": seed}

    def run(names: Sequence[str], start: int, hear: Callable[[Outcome], None] | None = None) -> list[Outcome]:
        trace = waves / f"{'-'.join(names)}.vcd" if waves is not None and hear is not None else None
        return simulate(
            executable, design.top, _MODULE, names, settings, start=start, waves=trace, report=hear
        )

    def run_lot(lot: Sequence[TestPoint]) -> list[Outcome]:
        once = [point.name for point in lot if point.starts == 1]
        outcomes = run(once, seed, report) if once else []
        for point in lot:
            if point.starts > 1:
                runs = [run([point.name], seed + index, None)[0] for index in range(point.starts)]
                outcomes.append(_merge_starts(runs))
                if report is not None:
                    report(outcomes[-1])
        return outcomes

    lots = [[point] for point in points] if waves is not None else _lots(points, jobs)
    with ThreadPoolExecutor(max(1, jobs)) as pool:
        outcomes = {outcome.test: outcome for lot in pool.map(run_lot, lots) for outcome in lot}
    return Regression(design, seed, packets, [outcomes[point.name] for point in points])


def _lots(points: Sequence[TestPoint], jobs: int) -> list[list[TestPoint]]:
    """The points shared out over simulations: a process takes longer to start than most tests to run."""
    lots: list[list[TestPoint]] = [[] for _ in range(max(1, min(jobs, len(points))))]
    for point in sorted(points, key=lambda point: -point.weight):
        min(lots, key=lambda lot: sum(other.weight for other in lot)).append(point)
    return lots


def _merge_starts(runs: Sequence[Outcome]) -> Outcome:
    """One outcome of a test that ran from several random start values, which must not show on any cycle."""
    first = runs[0]
    for outcome in runs:
        if outcome.failure is not None:
            return outcome
    failure = None
    if len({outcome.notes["digest"] for outcome in runs}) > 1:
        failure = "the outputs differ between runs that differ only in the start values of registers"
    return Outcome(
        first.test,
        failure,
        packets=sum(outcome.packets for outcome in runs),
        words=sum(outcome.words for outcome in runs),
        checks=sum(outcome.checks for outcome in runs) + len(runs) - 1,
        cycles=sum(outcome.cycles for outcome in runs),
        seconds=sum(outcome.seconds for outcome in runs),
        notes={"starts": len(runs)},
    )
