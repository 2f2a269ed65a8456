"""``cdma area`` for one configuration: figures, blocks, and the longest path; with ``--compare`` compressor and
decompressor beside the paper's figure and beside open designs; and with ``--sweep`` many configurations as a table.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from cdma.base.document import Part, Table
from cdma.base.errors import ParameterError
from cdma.base.yosys import find_yosys
from cdma.hdl.spec.codec import BLOCKS
from cdma.options import cache_from, check_between, check_one_or_more, codec_config_from, config_from
from cdma.output import status, step_progress
from cdma.result import Result
from cdma.synth.asic.library.liberty import ASSUMPTION, NAME, load_libraries, normalised_library
from cdma.synth.asic.library.library import Library
from cdma.synth.asic.measure import Measurement, measure_block
from cdma.synth.asic.paths import MeasureError
from cdma.synth.asic.recipe import Options
from cdma.synth.asic.scaling import (
    PAPER_MM2,
    PEERS,
    Floor,
    check_feature_size,
    codec_floor,
    default_period,
    scale_to_paper,
)
from cdma.synth.asic.sweep.sweep import (
    Outcome,
    parse_axis,
    points,
    run_sweep,
)
from cdma.synth.asic.timing import find_opensta


def library_of(arguments: argparse.Namespace) -> Library:
    """The library to map to."""
    files: list[Path] | None = arguments.liberty
    return load_libraries(files) if files else normalised_library()


def assumption_about(used: Library) -> str:
    """What a reader of figures on this library must know, empty where the library speaks for itself."""
    return ASSUMPTION if used.name == NAME else ""


def options_of(arguments: argparse.Namespace, used: Library) -> Options:
    """How to synthesise; without ``--period``, for the period that fits the library."""
    period = arguments.period
    if period is None:
        period = default_period(used, find_opensta(), cache_from(arguments))
    return Options(period, arguments.clock_gating, arguments.flip_flop_memories)


def floor_of(arguments: argparse.Namespace, used: Library) -> Floor | None:
    """The structural floor of the block, where it has one."""
    if arguments.block not in BLOCKS:
        return None
    return codec_floor(arguments.block, codec_config_from(arguments), used)


#: What the longest path of each kind is called.
_PATHS = {
    "period": "longest path",
    "input": "from an input",
    "output": "to an output",
    "through": "from an input to an output",
}


def run(arguments: argparse.Namespace) -> Result:
    """Measures the block."""
    check_between("--depth", arguments.depth, 1, 20)
    library = library_of(arguments)
    yosys = find_yosys(arguments.yosys)
    with status() as say:
        options = options_of(arguments, library)
        measurement = measure_block(
            arguments.block,
            config_from(arguments),
            library,
            options,
            block_depth=0 if arguments.no_breakdown else arguments.depth,
            cache=cache_from(arguments),
            yosys=yosys,
            progress=say,
        )
    floor = floor_of(arguments, library)
    assumption = assumption_about(library)
    more = {"floor": floor.as_json() if floor else None, "assumption": assumption or None}
    return Result(measurement.as_json() | more, _parts(measurement, floor, assumption, path=arguments.path))


def _parts(
    measurement: Measurement, floor: Floor | None, assumption: str, *, path: bool
) -> Iterator[Part | str]:
    yield f"{measurement.block} on {measurement.library}, {measurement.options.target_ns:g} ns"
    if assumption:
        yield f"Assumed: {assumption}."
    yield _figures(measurement, floor)
    timing = measurement.plain.timing
    if timing is not None:
        for group, name in _PATHS.items():
            if group in timing.ends:
                yield f"{name}: {' → '.join(timing.ends[group])}"
    if measurement.blocks:
        yield _blocks(measurement)
        kge = f"{measurement.blocks_kge:.2f} kGE"
        yield f"Synthesised again with the blocks' boundaries kept, which adds up to {kge}."
    if path:
        none = "no timing: it takes OpenSTA (apt install opensta) and a library with delays"
        yield none if timing is None else f"\n{timing.report}"


def _figures(measurement: Measurement, floor: Floor | None) -> Table:
    columns = [figures for figures in (measurement.plain, measurement.gated) if figures is not None]
    timings = [figures.timing for figures in columns]

    def figure(name: str) -> list[float | None]:
        return [getattr(figures, name) for figures in columns]

    def timing(name: str) -> list[float | None]:
        return [None if each is None else getattr(each, name) for each in timings]

    floors: dict[str, list[float | None]] = {}
    if floor is not None:
        floors["structural floor, kGE"] = [floor.kge for _ in columns]
        floors["times the floor"] = [figures.kge / floor.kge for figures in columns]
    rows: dict[str, list[float | None]] = {
        "area, µm²": figure("area_um2"),
        "area, kGE": figure("kge"),
        **floors,
        "flip-flops": figure("flip_flops"),
        **({"clock gates": figure("clock_gates")} if measurement.gated is not None else {}),
        "sequential, %": [100 * figures.sequential_share for figures in columns],
        "memory bits, apart": figure("memory_bits"),
        "delay of logic (ABC), ns": figure("delay_ns"),
        "period, register to register (OpenSTA), ns": timing("period_ns"),
        "input to register, ns": timing("input_ns"),
        "register to output, ns": timing("output_ns"),
        "input to output, ns": timing("through_ns"),
    }
    titles = ("", "plain", "clock gating")[: 1 + len(columns)]
    cells = [(name, *map(_cell, row)) for name, row in rows.items() if any(each is not None for each in row)]
    return Table(titles, cells, range(1, len(titles)))


def _cell(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.3f}"


def _blocks(measurement: Measurement) -> Table:
    rows = [
        (
            block.name,
            f"{block.kge:.3f}",
            f"{100 * block.kge / measurement.blocks_kge:.1f}",
            str(block.flip_flops),
            f"{block.sequential_kge:.3f}",
        )
        for block in sorted(measurement.blocks, key=lambda block: -block.kge)
        if block.kge
    ]
    return Table(("block", "kGE", "%", "flip-flops", "sequential kGE"), rows, range(1, 5))


def compare(arguments: argparse.Namespace) -> Result:
    """Measures compressor and decompressor; both comparisons."""
    if not arguments.liberty:
        raise ParameterError("--compare scales µm²; give the library with --liberty")
    check_feature_size(arguments.compare)
    config = codec_config_from(arguments)
    library = library_of(arguments)
    yosys = find_yosys(arguments.yosys)
    with status() as say:
        measured: dict[str, Measurement] = {}
        for block in BLOCKS:
            measured[block] = measure_block(
                block,
                config,
                library,
                options_of(arguments, library),
                cache=cache_from(arguments),
                yosys=yosys,
                progress=say,
            )
    unit_um2 = sum(measurement.plain.area_um2 or 0.0 for measurement in measured.values())
    scaled = scale_to_paper(unit_um2, arguments.compare)
    rate = config.data_bits / 8
    designs = [
        ("this", block, measurement.plain.kge, measurement.plain.memory_bits / 1024, rate)
        for block, measurement in measured.items()
    ] + [(peer.name, peer.what, peer.kge, peer.memory_kbit, peer.bytes_per_cycle) for peer in PEERS]
    keys = ("design", "what", "kge", "memory_kbit", "bytes_per_cycle")
    rows = [dict(zip(keys, design, strict=True)) for design in designs]
    paper = {"unit_um2": unit_um2, "paper_mm2": PAPER_MM2, "rules": [area.as_json() for area in scaled]}
    figures = [(area.units_mm2, area.buffer_mm2, area.total_mm2) for area in scaled]
    rules = [
        (area.rule.name, *(f"{value:.3f}" for value in values), f"{100 * area.of_paper:.0f}")
        for area, values in zip(scaled, figures, strict=True)
    ]
    cells = [
        (name, what, f"{kge:.1f}", f"{memory:.0f}", f"{each:g}", f"{1000 * kge / each:.0f}")
        for name, what, kge, memory, each in designs
    ]
    parts: list[Part | str] = [
        f"Six units of {unit_um2:,.0f} µm² ({library.name}, {arguments.compare:g} nm) and a 70 KB buffer at 28 nm; the "
        f"paper has {PAPER_MM2} mm²:",
        Table(("rule", "units, mm²", "buffer, mm²", "total, mm²", "of the paper's, %"), rules, range(1, 5)),
        Table(_DESIGNS, cells, range(2, 6)),
    ]
    return Result({"library": library.name, "paper": paper, "designs": rows}, parts)


_DESIGNS = ("design", "", "kGE", "memory, kbit", "bytes per cycle", "GE per byte per cycle")


_HEADINGS = ("kGE", "sequential, %", "flip-flops", "period, ns", "GE per byte per cycle", "times the floor")


def sweep(arguments: argparse.Namespace) -> Result:
    """Measures every combination; the status is 1 if a point that could be measured was not."""
    axes: dict[str, tuple[object, ...]] = {}
    for text in arguments.sweep:
        name, values = parse_axis(text)
        if name in axes:
            raise ParameterError(f"--sweep names {name} twice")
        axes[name] = values
    check_one_or_more(arguments, "jobs")
    library = library_of(arguments)
    wanted = list(points(codec_config_from(arguments), options_of(arguments, library), axes))
    if all(point.reason for point in wanted):
        raise MeasureError(f"no point of the sweep can be: {wanted[0].reason}")
    with step_progress("measuring", len(wanted)) as advance:
        outcomes = run_sweep(
            arguments.block,
            library,
            wanted,
            jobs=arguments.jobs,
            scheduler=arguments.scheduler,
            cache=cache_from(arguments),
            on_done=lambda outcome: advance(),
        )
    lost = [outcome for outcome in outcomes if outcome.reason and not outcome.point.reason]
    head = f"{arguments.block} on {library.name}"
    parts = _sweep_parts(head, assumption_about(library), axes, outcomes)
    return Result([outcome.as_json() for outcome in outcomes], parts, not lost)


def _sweep_cells(outcome: Outcome) -> list[str]:
    measurement = outcome.measurement
    if measurement is None:
        return []
    plain = measurement.plain
    period = "-" if plain.period_ns is None else f"{plain.period_ns:.3f}"
    return [
        f"{plain.kge:.2f}",
        f"{100 * plain.sequential_share:.0f}",
        str(plain.flip_flops),
        period,
        f"{outcome.ge_per_byte:.0f}",
        f"{outcome.floor_ratio:.2f}",
    ]


def _sweep_parts(
    head: str, assumption: str, axes: Mapping[str, object], outcomes: Sequence[Outcome]
) -> Iterator[Part | str]:
    yield head
    if assumption:
        yield f"Assumed: {assumption}."
    yield _table(axes, outcomes)
    for outcome in outcomes:
        if outcome.reason:
            where = ", ".join(f"{name} {value}" for name, value in outcome.point.axes.items())
            yield f"{where}: {outcome.reason}"


def _table(axes: Mapping[str, object], outcomes: Sequence[Outcome]) -> Table:
    """A row for each outcome, with dashes where nothing was measured."""
    titles = [*(name.replace("_", " ") for name in axes), *_HEADINGS]
    rows = [
        [*map(str, outcome.point.axes.values()), *(_sweep_cells(outcome) or ["-"] * len(_HEADINGS))]
        for outcome in outcomes
    ]
    return Table(titles, rows, range(len(titles)))
