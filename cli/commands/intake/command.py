"""``cdma intake``: what a team asks before it takes a block, with what shows each answer."""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdma.base.document import Bullets, Part, Table
from cdma.base.errors import ParameterError
from cdma.command import Command, flag, option
from cdma.options import DASK, ENGINE, INIT, REGRESSION, block_command, check_one_or_more, config_from, jobs
from cdma.result import Result

from .parts import PARTS, check_parts, parts_of, run_parts

if TYPE_CHECKING:
    from .subject import Line, Section, Subject

#: Options of what is run, which the command that makes the page again repeats where they are not usual.
_OF_RUNS = ("tests", "seed", "packets", "seconds", "mutants", "liberty", "certificate")


def _run(arguments: argparse.Namespace) -> Result:
    from cdma.files import ready_directory, write_folder

    from .page import page, sections_of
    from .subject import read_intake

    check_one_or_more(arguments, "jobs", "seconds", "mutants", "packets")
    parts = [name for name in parts_of(arguments.block) if {name, "all"} & {*arguments.parts}]
    ready_directory(arguments.output)
    earlier = [read_intake(path) for path in arguments.certificate]
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
    return Result(told, _parts(sections, paths), told["holds"])


def _subject(arguments: argparse.Namespace) -> Subject:
    """The block, generated as ``cdma generate`` does it by default."""
    from cdma.app import parser
    from cdma.commands.generate.block import make
    from cdma.commands.verify import design_from
    from cdma.output import status

    from .record import revision, stored_of
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


def _lines_about(subject: Subject, earlier: Sequence[Mapping[str, Any]]) -> list[Line]:
    """The lines of earlier intakes; refuses those of another Verilog."""
    if any(told["sha256"] != subject.sha256 for told in earlier):
        raise ParameterError(
            "certificate is of another Verilog; it must be of the very text that is taken in"
        )
    return [line for told in earlier for line in told["lines"]]


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
    from .record import tool_versions
    from .subject import FAILS

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


def _parts(sections: Sequence[Section], paths: Sequence[Path]) -> Iterator[Part | str]:
    rows: list[tuple[str, ...]] = []
    breaks: list[int] = []
    for section in sections:
        breaks.append(len(rows))
        rows += [(line.title, line.status, line.answer.replace("`", "")) for line in section.lines]
    yield Table(("line", "status", "answer"), rows, lines=breaks[1:])
    lines = [line for section in sections for line in section.lines]
    fails = [sentence for line in lines if line.key == "verdict" for sentence in line.fails]
    if fails:
        yield "\ndoes not hold:"
        yield Bullets(fails)
    yield f"\n{', '.join(map(str, paths))}"


def _block(block: str, *examples: str) -> Command:
    parts = parts_of(block)
    told = "; ".join(f"{name}, {PARTS[name].time}" for name in parts)
    options = {
        "intake": (
            INIT,
            option("--run PART+", f"run what shows more lines, some of {told}; or all (default: nothing runs but the "
                "generator)", dest="parts", choices=(*parts, "all"), default=[]),
            option("--certificate FILE+", "NAME_intake.json of earlier intakes of this very Verilog: what they show and "
                "this one does not run is taken over, with its date and its revision", Path, default=[]),
            option("-o --output DIR", "directory to write to, beside the Verilog that cdma generate wrote there, or with it "
                "(default: the current one)", Path()),
            flag("--json", "print what is written as JSON"),
        ),
        "runs": (
            *REGRESSION,
            option("--seconds N", "for each proof at most", 120),
            option("--mutants COUNT", "to run", 100),
            option("--liberty FILE+", "cell library of area and gates (default: the project's table of gates, and gates of "
                "two inputs)", Path),
            jobs("simulations"),
            DASK,
        ),
    }  # fmt: skip
    # As cdma area takes them.
    fixed: dict[str, Any] = {
        "period": None,
        "clock_gating": True,
        "flip_flop_memories": False,
        "yosys": None,
        "no_cache": False,
    }
    title = f"The intake of a {block}."
    return block_command(block, f"the {block}", title, _run, options, examples, **fixed)


COMMAND = Command(
    "intake",
    "one page for the meeting that decides on a block: what it is, what it costs, and what shows it",
    "Write NAME_intake.html and NAME_intake.json: what the block is and costs, its interfaces, errors, latency, area, "
    "memories, security model, lint, tests, coverage, proofs, mutants and limits. Each line has the command that shows it, "
    "its date and its revision; what nothing has shown says so. The status is 1 if something does not hold.",
    commands=[
        _block("compressor", "-o block", "-o block --run lint speed tests"),
        _block("decompressor", "-o block --run all --mutants 20"),
        _block("quantiser", "-o block"),
        _block("dequantiser", "-o block"),
        _block(ENGINE, "-o block", "-o block --run proofs --certificate block/cdma_engine_intake.json"),
    ],
)
