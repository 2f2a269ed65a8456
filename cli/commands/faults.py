"""``cdma faults``: faults at the ports of an engine, everywhere they can be, and whether any goes unnoticed."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdma.base.document import Part, Table
from cdma.base.errors import ParameterError
from cdma.command import Command, flag, option
from cdma.junit import JUNIT, Case, Suite, junit_file, write_junit
from cdma.options import DASK, ENGINE, check_one_or_more, jobs
from cdma.result import Growing, Result, telling_at_the_end

from .verify import design_from, with_rings

if TYPE_CHECKING:
    from cdma.verif.campaigns.faults.scene import Tally
    from cdma.verif.engine.design import EngineDesign

#: What a row has besides its names.
_COLUMNS = ("cases", "detected", "harmless", "undetectable", "wrong", "silent", "hung", "outside")
#: Their titles.
_COUNTED = (*_COLUMNS[:-1], "bytes outside")
#: Those of them that must be 0.
_BAD = _COLUMNS[-4:]


def _run(arguments: argparse.Namespace) -> Result:
    from cdma.verif.campaigns.faults.campaign import CAMPAIGNS, campaigns_for

    check_one_or_more(arguments, "count", "every", "jobs")
    design = _design(arguments.config)
    campaigns = arguments.campaigns or campaigns_for(design)
    for name in campaigns:
        if name not in CAMPAIGNS:
            raise ParameterError(f"campaign is {name!r}; it must be one of {', '.join(CAMPAIGNS)}")
    if arguments.case is not None and len(campaigns) != 1:
        raise ParameterError("case needs the one campaign that it belongs to")
    junit = junit_file(arguments)
    result, tallies = campaign(arguments, design, campaigns)
    write_junit(junit, [Suite(f"cdma faults {name}", _cases(name, tally)) for name, tally in tallies.items()])
    return result


def campaign(
    arguments: argparse.Namespace, design: EngineDesign, campaigns: Sequence[str]
) -> tuple[Result, dict[str, Tally]]:
    """Runs campaigns on an engine; also what each has counted."""
    from cdma.output import step_progress
    from cdma.verif.campaigns.faults.campaign import FORMATS, OWN, parts_of, run_parts
    from cdma.verif.campaigns.faults.scene import Tally
    from cdma.verif.simulator.toolchain import find_verilator

    # Before the engine is generated, which takes most of a minute.
    find_verilator()
    formats = arguments.formats or (FORMATS if arguments.config is None else (OWN,))
    parts = [
        part
        for campaign in campaigns
        for part in parts_of(
            campaign,
            design,
            seed=arguments.seed,
            every=arguments.every,
            count=arguments.count,
            formats=formats,
            only=arguments.case,
        )
    ]
    tallies = {campaign: Tally() for campaign in campaigns}

    def so_far() -> Iterator[Part | str]:
        yield f"\n{done} of {len(parts)} parts have run, the others were not waited for"
        yield from _parts(arguments, design, tallies)

    widths = [max(len(getattr(part, name)) for part in parts) for name in ("campaign", "name")]
    rows = Growing(arguments, ("campaign", "part", *_COUNTED), widths)
    done = 0
    with telling_at_the_end(arguments, so_far), step_progress("building", len(parts)) as advance:
        for part, tally in run_parts(parts, jobs=arguments.jobs, scheduler=arguments.scheduler):
            advance(what=str(part))
            done += 1
            sums = (sum(counts[name] for counts in tally.counts.values()) for name in _COLUMNS)
            rows.add([part.campaign, part.name, *(f"{count:,}" for count in sums)])
            for failure in tally.failures:
                failure["replay"] = _replay(arguments, part.campaign, f"{part.name}: {failure['case']}")
            tallies[part.campaign].merge(tally)
    if arguments.case is not None and not any(tally.counts for tally in tallies.values()):
        raise ParameterError(f"case is {arguments.case!r}, which {campaigns[0]} has not")
    counted = [counts for tally in tallies.values() for counts in tally.counts.values()]
    cases, bad = (sum(counts[name] for counts in counted for name in names) for names in (("cases",), _BAD))
    result = Result(
        {name: vars(tally) for name, tally in tallies.items()},
        _parts(arguments, design, tallies),
        not any(tally.failed for tally in tallies.values()),
        [_table(tallies)],
        f"{cases:,} faults; {bad or 'none'} of them reported wrongly, silent, hung or written outside.",
        [
            f"{each['kind']} {each['case']}: {each['reason']}"
            for tally in tallies.values()
            for each in tally.failures
        ],
    )
    return result, tallies


def _design(config: Path | None) -> EngineDesign:
    from cdma.verif.engine.design import EngineDesign

    if config is None:
        return EngineDesign()
    return with_rings(design_from(argparse.Namespace(block=ENGINE, config=config)))


def _replay(arguments: argparse.Namespace, campaign: str, case: str) -> str:
    """The command that runs a case again."""
    words = [f"cdma faults {campaign} --seed {arguments.seed}"]
    if arguments.config is not None:
        words.append(f"--config {arguments.config}")
    if arguments.formats and campaign == "streams":
        words.append(f"--formats {' '.join(arguments.formats)}")
    return " ".join([*words, f"--case '{case}'"])


def _cases(campaign: str, tally: Tally) -> list[Case]:
    """Each kind of fault as a test: what its first failure was, and how to run that again."""
    cases = []
    for kind, counts in tally.counts.items():
        first: dict[str, Any] = next((each for each in tally.failures if each["kind"] == kind), {})
        bad = {name: counts[name] for name in _BAD if counts[name]}
        failure = f"{bad}: {first.get('reason', '')}" if bad else ""
        cases.append(Case(kind, campaign, failure=failure, replay=first.get("replay", "")))
    return cases


def _table(tallies: dict[str, Tally]) -> Table:
    rows = [
        (campaign, kind, *(f"{counts[name]:,}" for name in _COLUMNS))
        for campaign, tally in tallies.items()
        for kind, counts in tally.counts.items()
    ]
    return Table(("campaign", "fault", *_COUNTED), rows, range(2, 2 + len(_COUNTED)))


def _parts(
    arguments: argparse.Namespace, design: EngineDesign, tallies: dict[str, Tally]
) -> Iterator[Part | str]:
    yield f"\n{design}, seed {arguments.seed}"
    yield _table(tallies)
    for failure in (failure for tally in tallies.values() for failure in tally.failures):
        told = f"{failure['outside']} bytes outside" if failure["outside"] else failure["outcome"]
        yield f"\n{failure['kind']}: {told}: {failure['reason']}\n  again: {failure['replay']}"


COMMAND = Command(
    "faults",
    "bus errors, stalls, aborts, resets and corrupted streams, everywhere, and what the engine makes of them",
    "Put faults in front of an engine between two memories, one at a time. responses: each response of each transfer is "
    "SLVERR or DECERR. stalls: each channel of each port stops for ever before each transfer. aborts, resets: in each "
    "cycle. memories: flipped bits in every memory of the engine; one without checks gets each --memories-protect. streams: "
    "corrupted compressed streams, judged by what the golden model says of them. Counts are kept, so that an interrupted "
    "campaign continues. The status is 1 if anything was reported wrongly, silent, hung or written outside.",
    _run,
    {
        "": (
            option("campaigns CAMPAIGN*", "responses, stalls, aborts, resets, memories, streams or hostile (default: all "
                "that the engine may have)"),
            option("--count N", "corrupted streams, and ten times the attacks of hostile software", 100000),
            option("--every N", "faults at one of N places, in all campaigns but streams and hostile (default 1: "
                "everywhere)", 1),
            option("--seed N", "of all data and damage", 1),
            option("--formats NAME+", "of corrupted streams: presets (see cdma formats), or own for the engine's; with +crc "
                "behind a name the engine checks a CRC (default: own zvc32 zvc8 bf16 aie-ml own+crc; with --config: own)"),
            option("--config FILE", "TOML file of the engine's parameters, as cdma generate takes it (default: the small "
                "engine of the tests)", Path),
            option("--case CASE", "run one case of one campaign again, by its name"),
            jobs("simulations"),
            DASK,
            flag("--json", "print the counts, and every failure, as JSON"),
            JUNIT,
            flag("--markdown", "print the table in Markdown"),
        ),
    },
    ["", "responses aborts --every 10"],
)  # fmt: skip
