"""``cdma soak``: random configurations under random traffic, until the time is over or something fails."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from cdma.base.errors import ParameterError
from cdma.command import Command, flag, option
from cdma.junit import JUNIT, Case, Suite, junit_file, write_junit
from cdma.options import DASK, check_one_or_more
from cdma.result import Result

if TYPE_CHECKING:
    from cdma.verif.campaigns.soak.soak import Result as Soaked


def _run(arguments: argparse.Namespace) -> Result:
    from cdma.output import status
    from cdma.verif.campaigns.soak.soak import reduce, soak

    check_one_or_more(arguments, "first", "jobs")
    if not arguments.minutes > 0:
        raise ParameterError(f"minutes is {arguments.minutes:g}; it must be more than 0")
    junit, suite = junit_file(arguments), []
    log, done = None, set()
    if arguments.log is not None:
        try:
            log = arguments.log.open("a+")
        except OSError as error:
            raise ParameterError(f"log is {str(arguments.log)!r}: {error.strerror}") from None
        done = _cases_of(log, arguments.seed)
    cases, last, cycles, failures = 0, 0, 0, []
    with status() as say:
        say(f"case {arguments.first}")
        for result in soak(
            arguments.seed,
            arguments.first,
            arguments.minutes,
            arguments.jobs,
            scheduler=arguments.scheduler,
            done=done,
        ):
            cases += 1
            last = max(last, result.case.number)
            cycles += result.cycles
            if result.failure and not arguments.keep_going:
                result = reduce(result, lambda step: say(f"case {result.case.number} failed; {step}"))
            if log is not None:
                print(json.dumps({"seed": arguments.seed, **result.as_json()}), file=log, flush=True)
            suite.append(_case(arguments.seed, result))
            if result.failure:
                failures.append(result)
                if not arguments.keep_going:
                    break
            say(f"case {result.case.number + 1}; {cases} have run, {len(failures)} failed")
    if log is not None:
        log.close()
    if not cases:
        raise ParameterError(
            f"minutes is {arguments.minutes:g}, in which no case has ended; one takes half a minute to three"
        )
    found = [failure.as_json() for failure in failures]
    told = {
        "seed": arguments.seed,
        "first": arguments.first,
        "last": last,
        "cases": cases,
        "cycles": cycles,
        "failures": found,
    }
    write_junit(junit, [Suite("cdma soak", suite, {"seed": arguments.seed})])
    return Result(told, _parts(told), not found)


def _parts(told: dict[str, Any]) -> Iterator[str]:
    found, cases = told["failures"], f"{told['cases']} cases to {told['last']} of seed {told['seed']}"
    yield f"{cases}: {told['cycles']:,} cycles, {len(found) or 'none'} failed"
    for failure in found:
        yield f"\ncase {failure['case']}, {failure['design']}\n{failure['test']}: {failure['failure']}"
        yield f"  again: {failure['replay']}"


def _cases_of(log: IO[str], seed: int) -> set[int]:
    """The numbers of the cases of a seed that a log has. A last line without an end is of a soak that was cut off."""
    log.seek(0)
    found = set()
    for line in log:
        try:
            row = json.loads(line)
            if row["seed"] == seed:
                found.add(int(row["case"]))
        except (ValueError, KeyError, TypeError):
            continue
    return found


def _case(seed: int, result: Soaked) -> Case:
    """A case of the soak for JUnit."""
    case = result.case
    failure = f"{result.test}: {result.failure}\n{case.design}" if result.failure else ""
    return Case(
        f"seed {seed}, case {case.number}",
        f"soak.{case.design.block}",
        result.seconds,
        failure=failure,
        replay=result.replay,
    )


COMMAND = Command(
    "soak",
    "run the regression on random configurations for some time, and reduce the first failure",
    "Draw random blocks with random parameters and run the regression on each with random traffic, until the time is over. "
    "The first failure is reduced to a smaller case, whose command is printed. The status is 1 if there was one.",
    _run,
    {
        "": (
            option("--minutes M", "of cases; one that still runs then is given up, and not counted", 10.0),
            option("--seed N", "of all cases", 1),
            option("--first N", "the case to begin with, to go on after another soak", 1),
            option("--log FILE", "append a line of JSON about each case to FILE; cases of this seed that it has are not run "
                "again", Path),
            option("--jobs N", "simulations of a case at once", 1),
            flag("--keep-going", "go on after a failure, and reduce none"),
            flag("--json", "print the counts and the failures as JSON"),
            DASK,
            JUNIT,
        ),
    },
    ["--minutes 60 --seed 3", "--minutes 10 --log cases.jsonl"],
)  # fmt: skip
