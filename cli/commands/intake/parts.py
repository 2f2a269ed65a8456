"""What an intake can run, each with the line that it shows: commands, and what only an intake asks."""

from __future__ import annotations

import argparse
import dataclasses
import shlex
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdma.base.document import Paragraph, Part, Table
from cdma.options import ENGINE
from cdma.result import Result

from .record import cited
from .subject import Line

if TYPE_CHECKING:
    from cdma.hdl.spec.engine import EngineConfig
    from cdma.verif.proofs.proof import Claim
    from cdma.verif.proofs.proof import Result as Proof

    from .subject import Subject

#: Beats of the longer tensors that the throughput of an engine is measured with, and their bytes at most.
_LONG, _MOST = 32768, 1 << 20
#: Faults at one of so many places, and corrupted streams.
_EVERY, _STREAMS = 20, 2000


@dataclass(frozen=True)
class Run:
    """A part of an intake.

    ``time``: Says for ``--help`` what it shows and how long it takes.
    ``run``: Makes its result.
    ``needs``: Names the tools without which it does not begin.
    ``title``, ``about``, ``command``, ``listed``: Are, of a line of the certificate, its title, the sentence about it,
        the command that shows it, and what it says before it runs.
    """

    time: str
    run: Callable[[Subject, argparse.Namespace], Result]
    needs: Sequence[str] = ("verilator",)
    title: str = ""
    about: str = ""
    command: Callable[[Subject], str] = lambda subject: ""
    listed: Callable[[Subject], Sequence[Part]] = lambda subject: ()


def parts_of(block: str) -> list[str]:
    """Those that a block has."""
    return [name for name in PARTS if name != "faults" or block == ENGINE]


def check_parts(parts: Sequence[str], subject: Subject, arguments: argparse.Namespace) -> None:
    """Refuses parts whose tools are missing or that the block has not, before anything runs."""
    from cdma.commands.area.report import library_of
    from cdma.commands.verify import with_rings
    from cdma.verif.campaigns.regression import plan_of

    if {"speed", "faults"} & {*parts} and subject.is_engine:
        with_rings(subject.design)
    plan_of(subject.design).choose(subject.design, arguments.tests)
    if not parts:
        return
    from cdma.base.yosys import find_abc, find_yosys
    from cdma.verif.proofs.runner import find_tools
    from cdma.verif.simulator.build import find_icarus
    from cdma.verif.simulator.toolchain import find_verilator

    finders: Mapping[str, Callable[[], object]] = {
        "verilator": find_verilator,
        "icarus": find_icarus,
        "proofs": find_tools,
        "yosys": find_yosys,
        "library": lambda: library_of(arguments),
        "abc": find_abc,
    }
    needed = {tool for name in parts for tool in PARTS[name].needs}
    for tool, find in finders.items():
        if tool in needed:
            find()


def run_parts(parts: Sequence[str], subject: Subject, arguments: argparse.Namespace) -> None:
    """Runs them one after the other, with progress."""
    for name in parts:
        subject.ran[name] = PARTS[name].run(subject, arguments)


def certificate_line(name: str, subject: Subject) -> Line | None:
    """The line of a part: what came of it, or what it would show."""
    if name not in parts_of(subject.block):
        return None
    part, result = PARTS[name], subject.ran.get(name)
    commands = [part.command(subject)]
    if result is None:
        return Line(name, part.title, commands, part.about, part.listed(subject))
    more = {"fails": result.fails, "open": result.open, "data": result.data}
    answer = f"{result.answer} {part.about}".strip()
    return subject.shown(name, part.title, commands, answer, *result.pages(), **more)


def result_of(command: str, *more: object) -> Result:
    """The result of a command line, of which nothing is printed but progress."""
    from cdma.app import parser

    words = [*shlex.split(command)[1:], *map(str, more), "--json"]
    asked = parser().parse_args(words)
    result: Result = asked.run(asked)
    return result


def _given(arguments: argparse.Namespace, *names: str) -> list[object]:
    """Options of the intake for a command that has them too."""
    words: list[object] = []
    for name in names:
        value = getattr(arguments, name)
        if value is not None:
            words += [f"--{'dask' if name == 'scheduler' else name}"]
            words += value if isinstance(value, list) else [value]
    return words


def _regression(what: str) -> Callable[[Subject, argparse.Namespace], Result]:
    names = ("tests", "seed", "packets", "jobs", *(["scheduler"] if what != "coverage" else []))
    liberty = ["liberty"] if what == "gates" else []

    def run(subject: Subject, arguments: argparse.Namespace) -> Result:
        return result_of(PARTS[what].command(subject), *_given(arguments, *names, *liberty))

    return run


def _coverage(subject: Subject, arguments: argparse.Namespace) -> Result:
    from cdma.commands.coverage import percents

    result = _regression("coverage")(subject, arguments)
    return dataclasses.replace(result, data=percents(result.data), document=_exclusions(subject))


def _area(subject: Subject, arguments: argparse.Namespace) -> Result:
    return result_of(subject.area_command, *_given(arguments, "liberty"))


def _lint(subject: Subject, arguments: argparse.Namespace) -> Result:
    from cdma.output import status
    from cdma.verif.simulator.build import lint

    with status() as say:
        say("linting")
        found = lint(subject.made.block.design.text, subject.design.top)
    count = len(found.complaints)
    answer = f"Verilator -Wall has {count or 'no'} complaint{'s' if count > 1 else ''}."
    return Result(None, document=_waivers(found.waived), answer=answer, fails=found.complaints)


def _waivers(counts: Mapping[Any, int]) -> list[Part]:
    from cdma.hdl.deliver.flows import waivers

    rows = [(f"`{each.rule}`", each.reason, str(counts.get(each, ""))) for each in waivers()]
    return [Table(("waived rule", "reason", "warnings"), rows)]


def _netlist(subject: Subject, arguments: argparse.Namespace) -> Result:
    from cdma.options import cache_from
    from cdma.output import status
    from cdma.synth.asic.netlist import structure_of
    from cdma.synth.asic.paths import circuit_of

    with status() as say:
        circuit = circuit_of(subject.block, subject.design.config)
        found = structure_of(circuit, cache=cache_from(arguments), progress=say)
    answer = (
        f"{found.flip_flops:,} flip-flops and {found.memories} memories at the rising edge of {', '.join(found.clocks)}; "
        f"{len(found.faults) or 'no'} latch, combinational loop, tri-state, or clock or asynchronous reset that is no port."
    )
    return Result(None, answer=answer, fails=found.faults)


def throughput_load(config: EngineConfig) -> dict[str, Any]:
    """Densities, bytes and memory latencies that the throughput of an engine is measured with: no memory is farther than the
    engine is built for."""
    port = max(config.dev_data_bits, config.host_data_bits) // 8
    return {
        "densities": (0.5, 1.0),
        "sizes": (4096, min(_LONG * port, _MOST)),
        "latencies": (min(100, config.latency),),
    }


def _speed(subject: Subject, arguments: argparse.Namespace) -> Result:
    """Rows of latency and of throughput, which are the same but for an engine; of that also the drawing of a descriptor."""
    from cdma.output import status
    from cdma.verif.engine.design import EngineDesign
    from cdma.verif.stream.codec.design import CodecDesign
    from cdma.verif.stream.codec.measure import measure_codec
    from cdma.verif.stream.stage.measure import measure_stage

    design: Any = subject.design
    if isinstance(design, EngineDesign):
        return _engine_speed(design)
    with status() as say:
        say(f"building and measuring the {subject.block}")
        rows = (measure_codec if isinstance(design, CodecDesign) else measure_stage)(design)
    return Result({"latency": rows, "throughput": rows})


def _engine_speed(design: Any) -> Result:
    from cdma.output import status, step_progress
    from cdma.verif.engine.measure import cases, latency_cases, measure_engine, measure_latency, rows_of
    from cdma.verif.engine.wave import engine_wave

    config = design.config
    alone = latency_cases(design)
    many = cases(**throughput_load(config), port_bytes=max(config.dev_data_bits, config.host_data_bits) // 8)
    with step_progress("building and measuring", len(alone) + rows_of(many)) as advance:
        latency = measure_latency(design, alone, advance)
        throughput = measure_engine(design, many, advance)
    with status() as say, tempfile.TemporaryDirectory(prefix="cdma-") as folder:
        say("drawing one descriptor")
        (drawing,) = engine_wave(design, Path(folder), ("svg",), ("descriptor",))
        return Result({"latency": latency, "throughput": throughput, "waveform": drawing.read_text()})


def _exclusions(subject: Subject) -> list[Part]:
    from cdma.verif.campaigns.coverage.exclusions import EXCLUSIONS

    rows = [
        (f"`{each.block}`", f"`{each.text}`", each.reason)
        for each in EXCLUSIONS
        if each.needs(subject.design)
    ]
    table = Table(("excluded of", "line", "reason"), rows)
    return [Paragraph(f"{len(rows)} exclusions, each with its reason:"), table] if rows else []


def _tests(subject: Subject) -> list[Part]:
    from cdma.verif.campaigns.regression import plan_of

    points = plan_of(subject.design).choose(subject.design)
    return [Table(("test", "stimulus and check"), [(f"`{each.name}`", each.statement) for each in points])]


def _proofs_of(subject: Subject) -> tuple[list[Claim], list[Claim], list[str]]:
    """The proofs about a design: those of its own configuration, the short ones of its blocks in others, and the names of
    those that take long and say nothing about this configuration."""
    from cdma.verif.proofs.proof import exact_proofs, smaller_proofs

    design = subject.design
    others = smaller_proofs(design.block, design.config)
    long = [f"{proof.name} ({proof.config})" for proof in others if not proof.quick]
    return [*exact_proofs(design.block, design.config)], [proof for proof in others if proof.quick], long


def _methods() -> list[Part]:
    return cited("docs/verification.md", "Proofs", "pdr and induction")


def _claims(subject: Subject) -> list[Part]:
    own, short, _ = _proofs_of(subject)
    rows = [
        (f"`{each.name}`", each.config, each.claim, each.method, str(each.depth or ""))
        for each in (*own, *short)
    ]
    said = f"{len(own)} proofs of this configuration and {len(short)} of its blocks can be run."
    return [Paragraph(said), *_methods(), Table(("proof", "configuration", "claim", "method", "depth"), rows)]


def _proofs(subject: Subject, arguments: argparse.Namespace) -> Result:
    from cdma.output import step_progress
    from cdma.verif.proofs.runner import run_proof

    own, short, long = _proofs_of(subject)
    results: list[Proof] = []
    with step_progress("proving", len(own) + len(short)) as advance:
        for proof in (*own, *short):
            traces = subject.folder / "counterexamples"
            results.append(run_proof(proof, timeout=arguments.seconds, traces=traces))
            advance(what=f"{proof.name} ({proof.config}) {results[-1].status}")
    return proofs_result(results[: len(own)], results[len(own) :], long)


def proofs_result(own: Sequence[Proof], others: Sequence[Proof], long: Sequence[str]) -> Result:
    """What became of proofs. One without an answer is open and no failure, and so are those that take ``long``."""
    from cdma.verif.proofs.proof import FAILURES, HOLDS, UNKNOWN

    every = [*own, *others]
    fails = [
        f"proof {each.property} ({each.config}): {each.status}, {each.detail}"
        for each in every
        if each.status in FAILURES
    ]
    open = [
        f"proof {each.property} ({each.config}): {each.detail}" for each in every if each.status == UNKNOWN
    ]
    shown = {each.property for each in own}
    small = dict.fromkeys(
        each.property for each in others if each.status in HOLDS and each.property not in shown
    )
    if small:
        open.append(f"proven in other, mostly smaller configurations alone: {', '.join(small)}")
    if long:
        open.append(f"proofs that take long and were not run: {', '.join(long)}")
    hold = [sum(each.status in HOLDS for each in results) for results in (own, others)]
    answer = (
        f"{hold[0]} of {len(own)} proofs of this very configuration hold, and {hold[1]} of {len(others)} of its blocks in "
        "other, mostly smaller ones."
    )
    data = [{"own_configuration": each in own, **dataclasses.asdict(each)} for each in every]
    document: list[Part | str] = [
        *_methods(),
        "Of this configuration:",
        _proven(own),
        "Of its blocks:",
        _proven(others),
    ]
    return Result(data, document=document, answer=answer, fails=fails, open=open)


def _proven(results: Sequence[Proof]) -> Table:
    rows = [
        (f"`{each.property}`", each.config, each.claim, each.method, str(each.depth or ""), each.status)
        for each in results
    ]
    return Table(("proof", "configuration", "claim", "method", "depth", "status"), rows)


def _mutants(subject: Subject, arguments: argparse.Namespace) -> Result:
    from cdma.commands import mutate

    asked = {"count": arguments.mutants, "prove": 60, "goal": mutate.GOAL}
    result, _ = mutate.campaign(
        argparse.Namespace(**{**vars(arguments), **asked}), {subject.block: subject.design}
    )
    (row,) = result.data
    real = row["mutants"] - row["equivalent"]
    score = 100 * row["killed"] / real if real else 100.0
    return dataclasses.replace(result, data={**row, "score": score})


def _faults(subject: Subject, arguments: argparse.Namespace) -> Result:
    from cdma.commands import faults
    from cdma.commands.verify import with_rings
    from cdma.verif.campaigns.faults.campaign import OWN, campaigns_for

    asked = {
        "every": _EVERY,
        "count": _STREAMS,
        "formats": (OWN,),
        "case": None,
        "config": None,
        "json": True,
    }
    design = with_rings(subject.design)
    result, _ = faults.campaign(
        argparse.Namespace(**{**vars(arguments), **asked}), design, campaigns_for(design)
    )
    return result


def _own(name: str) -> Callable[[Subject], str]:
    return lambda subject: subject.command("intake", f"--run {name}")


#: In the order in which they run.
PARTS: Mapping[str, Run] = {
    "lint": Run("Verilator's warnings: seconds", _lint, title="Lint, with waivers and their reasons",
        about="Each waiver has its reason.", command=_own("lint"), listed=lambda subject: _waivers({})),
    "netlist": Run("latches, combinational loops, tri-states and clocks in the netlist: seconds to a minute", _netlist,
        ("yosys", "library"), "Netlist: clocks, no latch, no loop, no tri-state",
        "Ports alone clock and asynchronously reset what is stored, and nothing else holds a value.", _own("netlist")),
    "speed": Run("latency and throughput in simulation: a minute or two", _speed),
    "area": Run("area, and the clock where OpenSTA is installed: minutes", _area, ("yosys", "library")),
    "tests": Run("the regression: minutes", _regression("tests"), title="Tests",
        about="Every bit is compared with the golden model, with random back-pressure on every interface.",
        command=lambda subject: subject.command("verify"), listed=_tests),
    "gates": Run("the regression on gates: minutes to hours", _regression("gates"), ("verilator", "yosys", "library"),
        "Tests on gates", "The same tests on the gates that Yosys makes of the Verilog without initial values.",
        lambda subject: subject.command("verify", "--netlist gates")),
    "four-states": Run("the regression in Icarus Verilog: minutes to many hours", _regression("four-states"), ("icarus",),
        "Tests in four states", "The same tests in Icarus Verilog: no output may be unknown after a reset.",
        lambda subject: subject.command("verify", *["--no-init"] * subject.design.init, "--simulator icarus")),
    "coverage": Run("what the regression reaches: minutes", _coverage, title="Coverage",
        about="Lines, branches, toggles and functional goals.", command=lambda subject: subject.command("coverage"),
        listed=_exclusions),
    "proofs": Run("the proofs about this configuration and its blocks: minutes to an hour", _proofs,
        ("proofs", "yosys", "library", "abc"), "Proofs, with their depth", "", _own("proofs"), _claims),
    "mutants": Run("faults put into this Verilog: minutes to hours", _mutants, ("verilator", "yosys", "library", "abc"),
        "Mutants", "The goal is that the regression finds 95 % of the faults put into the netlist one at a time, but for "
        "those that are equivalent.", _own("mutants")),
    "faults": Run("faults at the ports of an engine, at one of 20 places, and 2,000 corrupted streams: minutes", _faults,
        title="Fault campaigns", about="Bus errors, stalls, aborts, resets and corrupted streams, one at a time and "
        "everywhere: is any silent?", command=_own("faults")),
}  # fmt: skip
