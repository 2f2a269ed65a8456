"""``cdma intake``: what a team asks before it takes a block, with what shows each answer."""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdma.base.errors import ParameterError
from cdma.hdl.spec.codec import BLOCKS
from cdma.hdl.spec.stage import STAGES
from cdma.options import (
    ENGINE,
    add_block_options,
    add_init_option,
    add_jobs_option,
    add_regression_options,
    add_spread_options,
    check_one_or_more,
    config_from,
)
from cdma.rows import tell

from .parts import PARTS, parts_of

if TYPE_CHECKING:
    from .line import Section
    from .subject import Subject

__all__ = ["register"]

#: Options of what is run, which the command that makes the page again repeats where they are not usual.
_OF_RUNS = ("tests", "seed", "packets", "seconds", "mutants", "liberty", "certificate")


def register(subparsers: Any) -> None:
    """Adds the command's parser."""
    parser = subparsers.add_parser(
        "intake",
        help="one page for the meeting that decides on a block: what it is, what it costs, and what shows it",
        description="Write NAME_intake.html and NAME_intake.json: what the block is and costs, its interfaces, errors, "
        "latency, area, memories, security model, lint, tests, coverage, proofs, mutants and limits. Each line has the "
        "command that shows it, its date and its revision; what nothing has shown says so. The status is 1 if something "
        "does not hold.",
    )
    blocks = parser.add_subparsers(title="blocks", metavar="BLOCK", required=True)
    for name in (*BLOCKS, *STAGES, ENGINE):
        block = blocks.add_parser(name, help=f"the {name}", description=f"The intake of a {name}.")
        add_block_options(block, name)
        _add_options(block, parts_of(name))
        block.set_defaults(run=_run)


def _add_options(block: argparse.ArgumentParser, parts: Sequence[str]) -> None:
    """Adds all options; ``parts`` are what can be run."""
    group = block.add_argument_group("intake")
    add_init_option(group)
    group.add_argument(
        "--run",
        dest="parts",
        nargs="+",
        choices=(*parts, "all"),
        default=[],
        metavar="PART",
        help="run what shows more lines, some of "
        + "; ".join(f"{name}, {PARTS[name]}" for name in parts)
        + "; or all "
        "(default: nothing runs but the generator)",
    )
    group.add_argument(
        "--certificate",
        type=Path,
        nargs="+",
        default=[],
        metavar="FILE",
        help="NAME_intake.json of earlier intakes of this very Verilog: what they show and this one does not run is taken "
        "over, with its date and its revision",
    )
    group.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path(),
        metavar="DIR",
        help="directory to write to, beside the Verilog that cdma generate wrote there, or with it (default: the current "
        "one)",
    )
    group.add_argument("--json", action="store_true", help="print what is written as JSON")
    group = block.add_argument_group("runs")
    add_regression_options(group)
    group.add_argument(
        "--seconds", type=int, default=120, metavar="N", help="for each proof at most (default 120)"
    )
    group.add_argument("--mutants", type=int, default=100, metavar="COUNT", help="to run (default 100)")
    group.add_argument(
        "--liberty",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="cell library of area and gates (default: the project's table of gates, and gates of two inputs)",
    )
    add_jobs_option(group, "simulations")
    add_spread_options(group)
    # As cdma area takes them.
    block.set_defaults(period=None, clock_gating=True, flip_flop_memories=False, yosys=None, no_cache=False)


def _run(arguments: argparse.Namespace) -> int:
    from cdma.files import ready_directory, write_folder

    from .page import page, sections_of
    from .runs import check_parts, run_parts

    check_one_or_more(arguments, "jobs", "seconds", "mutants", "packets")
    parts = [name for name in parts_of(arguments.block) if {name, "all"} & {*arguments.parts}]
    ready_directory(arguments.output)
    earlier = [_earlier(path) for path in arguments.certificate]
    subject = _subject(arguments)
    text, name = subject.made.block.design.text, subject.made.block.name
    lines = _lines_about(subject, earlier)
    check_parts(parts, subject, arguments)
    run_parts(parts, subject, arguments)
    sections = sections_of(subject, lines)
    told = _told(subject, sections, _again(subject, arguments))
    title = f"Intake of {name}: {subject.made.block.title}"
    facts = {"made": told["made"], "revision": told["revision"], "again": told["again"]}
    files = {
        f"{name}_intake.html": page(title, facts, sections),
        f"{name}_intake.json": json.dumps(told, indent=1) + "\n",
    }
    if not (arguments.output / f"{name}.v").exists():
        files[f"{name}.v"] = text
    paths = write_folder(arguments.output, files)
    return tell(arguments, told["holds"], json_of=lambda: told, show=lambda: _show(sections, paths))


def _subject(arguments: argparse.Namespace) -> Subject:
    """The block, generated as ``cdma generate`` does it by default."""
    from cdma.app import parser
    from cdma.commands.designs import design_from
    from cdma.commands.generate.made import make
    from cdma.output import status

    from .origin import revision
    from .stored import stored_of
    from .subject import Subject

    config = config_from(arguments)
    design = design_from(arguments, init=arguments.init)
    asked = parser().parse_args(["generate", arguments.block])
    asked.init = arguments.init
    with status() as say:
        say(f"generating {design.top}")
        made = make(asked, config)
    file = arguments.output / f"{design.top}.v"
    return Subject(
        design,
        made,
        datetime.now(timezone.utc).strftime("%Y-%m-%d"),
        revision(),
        stored_of(arguments.block, config),
        other_text=file.is_file() and file.read_text(errors="replace") != made.block.design.text,
        folder=arguments.output,
    )


def _earlier(path: Path) -> Mapping[str, Any]:
    """What an earlier intake wrote."""
    from cdma.files import FileError

    from .line import Line

    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        for section in told["sections"]:
            for line in section["lines"]:
                Line.of_record(line)
        return {"sha256": str(told["sha256"]), "sections": told["sections"]}
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise FileError(f"cannot read {path}: it is not what cdma intake writes") from None


def _lines_about(subject: Subject, earlier: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The lines of earlier intakes; refuses those of another Verilog."""
    if any(told["sha256"] != subject.sha256 for told in earlier):
        raise ParameterError(
            "certificate is of another Verilog; it must be of the very text that is taken in"
        )
    return [line for told in earlier for section in told["sections"] for line in section["lines"]]


def _again(subject: Subject, arguments: argparse.Namespace) -> str:
    """The command line of this intake, but for the folder that it writes to."""
    usual = {"seed": 1, "seconds": 120, "mutants": 100}
    named = {"run": arguments.parts, **{name: getattr(arguments, name) for name in _OF_RUNS}}
    words = []
    for name, value in named.items():
        if value and value != usual.get(name):
            values = map(str, value if isinstance(value, list) else [value])
            words += [f"--{name}", *map(shlex.quote, values)]
    return subject.command("intake", *words)


def _told(subject: Subject, sections: Sequence[Section], again: str) -> dict[str, Any]:
    """Everything, for a script."""
    from .line import FAILS
    from .origin import tool_versions

    lines = [line for section in sections for line in section.lines]
    verdict = next(line for line in lines if line.key == "verdict")
    return {
        "holds": not any(line.status == FAILS for line in lines),
        "fails": list(verdict.fails),
        "block": subject.block,
        "config": subject.design.config.settings(),
        "initial_values": subject.design.init,
        "file": f"{subject.made.block.name}.v",
        "sha256": subject.sha256,
        "made": datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "revision": subject.revision,
        "again": again,
        "tools": tool_versions(),
        "sections": [
            {"title": section.title, "lines": [line.as_json() for line in section.lines]}
            for section in sections
        ],
    }


def _show(sections: Sequence[Section], paths: Sequence[Path]) -> None:
    from cdma.output import cell
    from cdma.rows import Table

    rows: list[tuple[str, ...]] = []
    breaks: list[int] = []
    for section in sections:
        breaks.append(len(rows))
        rows += [(line.title, line.status, cell(line.answer.replace("`", ""))) for line in section.lines]
    Table(("line", "status", "answer"), rows, 3, breaks[1:]).show()
    fails = [
        sentence
        for section in sections
        for line in section.lines
        if line.key == "verdict"
        for sentence in line.fails
    ]
    if fails:
        print("\ndoes not hold:")
    for sentence in fails:
        print(f"  {sentence}")
    print(f"\n{', '.join(map(str, paths))}")
