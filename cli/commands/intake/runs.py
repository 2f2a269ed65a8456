"""What ``cdma intake --run`` runs: each part fills its place in what is known of the block."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdma.commands.area import request
from cdma.commands.designs import with_rings
from cdma.output import status, step_progress

from .subject import Proven, Speed, Subject

if TYPE_CHECKING:
    from cdma.hdl.spec.engine import EngineConfig
    from cdma.verif.campaigns.faults.verdict import Tally
    from cdma.verif.campaigns.regression import Regression
    from cdma.verif.simulator.simulate import Design

__all__ = ["check_parts", "run_parts", "throughput_load"]

#: Beats of the longer tensors that the throughput of an engine is measured with, and their bytes at most.
_LONG, _MOST = 32768, 1 << 20
#: Faults at one of so many places, and corrupted streams.
_EVERY, _STREAMS = 20, 2000


def throughput_load(config: EngineConfig) -> dict[str, Any]:
    """Densities, bytes and memory latencies that the throughput of an engine is measured with: no memory is farther than the
    engine is built for."""
    port = max(config.dev_data_bits, config.host_data_bits) // 8
    return {
        "densities": (0.5, 1.0),
        "sizes": (4096, min(_LONG * port, _MOST)),
        "latencies": (min(100, config.latency),),
    }


def check_parts(parts: Sequence[str], subject: Subject, arguments: argparse.Namespace) -> None:
    """Refuses parts whose tools are missing or that the block has not, before anything runs."""
    from cdma.verif.campaigns.regression import plan_of

    if {"speed", "faults"} & {*parts} and subject.is_engine:
        with_rings(subject.design)
    plan_of(subject.design).choose(subject.design, arguments.tests)
    if {"lint", "speed", "tests", "gates", "coverage", "mutants", "faults"} & {*parts}:
        from cdma.verif.simulator.toolchain import find_verilator

        find_verilator()
    if "four-states" in parts:
        from cdma.verif.simulator.build import find_icarus

        find_icarus()
    if "proofs" in parts:
        from cdma.verif.proofs.runner import find_tools

        find_tools()
    if {"netlist", "proofs", "mutants", "gates", "area"} & {*parts}:
        from cdma.base.yosys import find_abc, find_yosys

        find_yosys()
        request.library(arguments)
        if {"proofs", "mutants"} & {*parts}:
            find_abc()


def run_parts(parts: Sequence[str], subject: Subject, arguments: argparse.Namespace) -> None:
    """Runs them one after the other, with progress."""
    for name in parts:
        setattr(subject.ran, name.replace("-", "_"), _RUNS[name](subject, arguments))


def _lint(subject: Subject, arguments: argparse.Namespace) -> Any:
    from cdma.verif.simulator.build import lint

    with status() as say:
        say("linting")
        return lint(subject.made.block.design.text, subject.design.top)


def _netlist(subject: Subject, arguments: argparse.Namespace) -> Any:
    from cdma.options import cache_from
    from cdma.synth.asic.netlist import structure_of
    from cdma.synth.asic.paths import circuit_of

    with status() as say:
        circuit = circuit_of(subject.block, subject.design.config)
        return structure_of(circuit, cache=cache_from(arguments), progress=say)


def _speed(subject: Subject, arguments: argparse.Namespace) -> Speed:
    if subject.is_engine:
        return _engine_speed(subject)
    from cdma.verif.stream.codec.design import CodecDesign
    from cdma.verif.stream.codec.measure import measure_codec
    from cdma.verif.stream.stage.design import StageDesign
    from cdma.verif.stream.stage.measure import measure_stage

    design = subject.design
    with status() as say:
        say(f"building and measuring the {subject.block}")
        if isinstance(design, CodecDesign):
            rows = measure_codec(design)
        else:
            assert isinstance(design, StageDesign)
            rows = measure_stage(design)
    return Speed(rows, rows)


def _engine_speed(subject: Subject) -> Speed:
    from cdma.verif.engine.measure import cases, latency_cases, measure_engine, measure_latency, rows_of
    from cdma.verif.engine.wave import engine_wave

    design = with_rings(subject.design)
    config = design.config
    alone = latency_cases(design)
    many = cases(**throughput_load(config), port_bytes=max(config.dev_data_bits, config.host_data_bits) // 8)
    with step_progress("building and measuring", len(alone) + rows_of(many)) as advance:
        latency = measure_latency(design, alone, advance)
        throughput = measure_engine(design, many, advance)
    with status() as say, tempfile.TemporaryDirectory(prefix="cdma-") as folder:
        say("drawing one descriptor")
        (drawing,) = engine_wave(design, Path(folder), ("svg",), ("descriptor",))
        return Speed(latency, throughput, drawing.read_text())


def _area(subject: Subject, arguments: argparse.Namespace) -> Any:
    from cdma.base.yosys import find_yosys
    from cdma.options import cache_from
    from cdma.synth.asic.measure import measure_block

    library = request.library(arguments)
    with status() as say:
        return measure_block(
            subject.block,
            subject.design.config,
            library,
            request.options(arguments, library),
            block_depth=0,
            cache=cache_from(arguments),
            yosys=find_yosys(),
            progress=say,
        )


def _tests(subject: Subject, arguments: argparse.Namespace) -> Regression:
    return _regression("testing", subject.design, arguments)


def _gates(subject: Subject, arguments: argparse.Namespace) -> Regression:
    from cdma.synth.asic.paths import gate_netlist

    design = _without_init(subject.design)
    netlist = gate_netlist(design.verilog(), design.top, arguments.liberty or [])
    return _regression("testing gates", design, arguments, verilog=netlist)


def _four_states(subject: Subject, arguments: argparse.Namespace) -> Regression:
    design = _without_init(subject.design)
    return _regression("testing in four states", design, arguments, four_state=True)


def _without_init(design: Design) -> Design:
    """The design whose registers nothing but the reset sets."""
    from cdma.verif.campaigns.regression import design_of

    return design_of(design.block, design.config, init=False)


def _regression(what: str, design: Design, arguments: argparse.Namespace, **more: Any) -> Regression:
    from cdma.verif.campaigns.campaign import verify_on_cluster
    from cdma.verif.campaigns.regression import plan_of, verify

    given = {"tests": arguments.tests, "seed": arguments.seed, "packets": arguments.packets, **more}
    with step_progress(what, len(plan_of(design).choose(design, arguments.tests))) as advance:
        given["report"] = lambda outcome: advance(
            what=f"{outcome.test} {'failed' if outcome.failure else 'passed'}"
        )
        if arguments.scheduler is not None:
            return verify_on_cluster(design, arguments.scheduler, **given)
        return verify(design, jobs=arguments.jobs, **given)


def _coverage(subject: Subject, arguments: argparse.Namespace) -> Any:
    from cdma.verif.campaigns.coverage.code import collect
    from cdma.verif.campaigns.regression import plan_of

    design = subject.design
    with step_progress("coverage", len(plan_of(design).choose(design, arguments.tests))) as advance:
        return collect(
            design,
            tests=arguments.tests,
            seed=arguments.seed,
            packets=arguments.packets,
            jobs=arguments.jobs,
            report=lambda outcome: advance(what=outcome.test),
        )


def _proofs(subject: Subject, arguments: argparse.Namespace) -> Proven:
    from cdma.verif.campaigns.certificate.finding import chosen_proofs, run_chosen

    chosen = chosen_proofs(subject.design)
    with step_progress("proving", len(chosen)) as advance:
        shown = run_chosen(
            chosen,
            arguments.seconds,
            subject.folder / "counterexamples",
            lambda result: advance(what=f"{result.property} ({result.config}) {result.status}"),
        )
    return Proven(shown, chosen.long)


def _mutants(subject: Subject, arguments: argparse.Namespace) -> Any:
    from cdma.verif.campaigns.mutation.campaign import run_campaign

    with step_progress("mutants", arguments.mutants) as advance:
        verdicts = run_campaign(
            subject.design,
            [subject.block],
            count=arguments.mutants,
            seed=arguments.seed,
            packets=arguments.packets,
            jobs=arguments.jobs,
            scheduler=arguments.scheduler,
            on_done=lambda verdict: advance(what=f"{verdict.mutant.block} {verdict.result}"),
        )
    return verdicts[subject.block]


def _faults(subject: Subject, arguments: argparse.Namespace) -> Mapping[str, Tally]:
    from cdma.verif.campaigns.faults import campaign as campaigns
    from cdma.verif.campaigns.faults.verdict import Tally

    design = with_rings(subject.design)
    given: Any = {"seed": arguments.seed, "every": _EVERY, "count": _STREAMS, "formats": (campaigns.OWN,)}
    names = campaigns.campaigns_for(design)
    parts = [part for name in names for part in campaigns.parts_of(name, design, **given)]
    tallies = {name: Tally() for name in names}
    with step_progress("faults", len(parts)) as advance:
        for part, tally in campaigns.run_parts(parts, jobs=arguments.jobs, scheduler=arguments.scheduler):
            advance(what=str(part))
            tallies[part.campaign].merge(tally)
    return tallies


_RUNS: Mapping[str, Callable[[Subject, argparse.Namespace], Any]] = {
    "lint": _lint,
    "netlist": _netlist,
    "speed": _speed,
    "area": _area,
    "tests": _tests,
    "gates": _gates,
    "four-states": _four_states,
    "coverage": _coverage,
    "proofs": _proofs,
    "mutants": _mutants,
    "faults": _faults,
}
