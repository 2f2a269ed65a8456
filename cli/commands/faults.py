"""``cdma faults``: faults at the ports of an engine, everywhere they can be, and whether any goes unnoticed."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdma.base.errors import ParameterError
from cdma.junit import Case, Suite, add_junit_option, junit_file, write_junit
from cdma.options import ENGINE, add_jobs_option, add_spread_options, check_one_or_more
from cdma.rows import Growing, Table, tell, telling_at_the_end

from .designs import design_from, with_rings

if TYPE_CHECKING:
    from cdma.verif.campaigns.faults.verdict import Tally
    from cdma.verif.engine.design import EngineDesign

__all__ = ["register"]

#: What a row has besides its names.
_COLUMNS = ("cases", "detected", "harmless", "undetectable", "wrong", "silent", "hung", "outside")
#: Their titles.
_COUNTED = (*_COLUMNS[:-1], "bytes outside")
#: Those of them that must be 0.
_BAD = _COLUMNS[-4:]

_DESCRIPTION = (
    "Put faults in front of an engine between two memories, one at a time. responses: each response of each transfer is "
    "SLVERR or DECERR. stalls: each channel of each port stops for ever before each transfer. aborts, resets: in each "
    "cycle. memories: flipped bits in every memory of the engine; one without checks gets each --memories-protect. "
    "streams: corrupted compressed streams, judged by what the golden model says of them. Counts are kept, so that "
    "an interrupted campaign continues. The status is 1 if anything was reported wrongly, silent, hung or written outside."
)


def register(subparsers: Any) -> None:
    """Adds the command's parser."""
    parser = subparsers.add_parser(
        "faults",
        help="bus errors, stalls, aborts, resets and corrupted streams, everywhere, and what the engine makes of them",
        description=_DESCRIPTION,
    )
    parser.add_argument(
        "campaigns",
        nargs="*",
        metavar="CAMPAIGN",
        help="responses, stalls, aborts, resets, memories, streams or hostile (default: all that the engine may have)",
    )
    parser.add_argument(
        "--count",
        type=int,
        default=100_000,
        metavar="N",
        help="corrupted streams, and ten times the attacks of hostile software (default 100000)",
    )
    parser.add_argument(
        "--every",
        type=int,
        default=1,
        metavar="N",
        help="faults at one of N places, in all campaigns but streams and hostile (default 1: everywhere)",
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of all data and damage (default 1)")
    parser.add_argument(
        "--formats",
        nargs="+",
        metavar="NAME",
        help="of corrupted streams: presets (see cdma formats), or own for the engine's; with +crc behind a name the "
        "engine checks a CRC (default: own zvc32 zvc8 bf16 aie-ml own+crc; with --config: own)",
    )
    parser.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help="TOML file of the engine's parameters, as cdma generate takes it (default: the small engine of the tests)",
    )
    parser.add_argument("--case", metavar="CASE", help="run one case of one campaign again, by its name")
    add_jobs_option(parser, "simulations")
    add_spread_options(parser)
    parser.add_argument("--json", action="store_true", help="print the counts, and every failure, as JSON")
    add_junit_option(parser)
    parser.add_argument("--markdown", action="store_true", help="print the table in Markdown")
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from cdma.output import step_progress
    from cdma.verif.campaigns.faults.campaign import (
        CAMPAIGNS,
        FORMATS,
        OWN,
        campaigns_for,
        parts_of,
        run_parts,
    )
    from cdma.verif.campaigns.faults.verdict import Tally
    from cdma.verif.simulator.toolchain import find_verilator

    check_one_or_more(arguments, "count", "every", "jobs")
    design = _design(arguments.config)
    campaigns = arguments.campaigns or campaigns_for(design)
    for name in campaigns:
        if name not in CAMPAIGNS:
            raise ParameterError(f"campaign is {name!r}; it must be one of {', '.join(CAMPAIGNS)}")
    if arguments.case is not None and len(campaigns) != 1:
        raise ParameterError("case needs the one campaign that it belongs to")
    junit = junit_file(arguments)
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

    def table_of() -> Table:
        return Table(
            ("campaign", "fault", *_COUNTED),
            [
                (campaign, kind, *(f"{counts[name]:,}" for name in _COLUMNS))
                for campaign, tally in tallies.items()
                for kind, counts in tally.counts.items()
            ],
            texts=2,
        )

    def show() -> None:
        print(f"\n{design}, seed {arguments.seed}")
        table_of().show()
        _show_failures(tallies)

    def so_far() -> None:
        print(f"\n{done} of {len(parts)} parts have run, the others were not waited for")
        show()

    widths = [max(len(getattr(part, name)) for part in parts) for name in ("campaign", "name")]
    rows = Growing(("campaign", "part", *_COUNTED), widths, shown=not (arguments.json or arguments.markdown))
    done = 0
    with telling_at_the_end(arguments, so_far), step_progress("building", len(parts)) as advance:
        for part, tally in run_parts(
            parts,
            jobs=arguments.jobs,
            scheduler=arguments.scheduler,
        ):
            advance(what=str(part))
            done += 1
            sums = (sum(counts[name] for counts in tally.counts.values()) for name in _COLUMNS)
            rows.add([part.campaign, part.name, *(f"{count:,}" for count in sums)])
            for failure in tally.failures:
                failure["replay"] = _replay(arguments, part.campaign, f"{part.name}: {failure['case']}")
            tallies[part.campaign].merge(tally)
    write_junit(junit, [Suite(f"cdma faults {name}", _cases(name, tally)) for name, tally in tallies.items()])
    status = tell(
        arguments,
        not any(tally.failed for tally in tallies.values()),
        json_of=lambda: {name: vars(tally) for name, tally in tallies.items()},
        show=show,
        markdown=table_of().markdown,
    )
    if arguments.case is not None and not any(tally.counts for tally in tallies.values()):
        raise ParameterError(f"case is {arguments.case!r}, which {campaigns[0]} has not")
    return status


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


def _show_failures(tallies: dict[str, Tally]) -> None:
    for tally in tallies.values():
        for failure in tally.failures:
            told = f"{failure['outside']} bytes outside" if failure["outside"] else failure["outcome"]
            print(f"\n{failure['kind']}: {told}: {failure['reason']}\n  again: {failure['replay']}")
