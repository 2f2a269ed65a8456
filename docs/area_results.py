"""Writes the section on area and clock of ``docs/results.md``, by running the commands that it shows.

    python docs/area_results.py --liberty LIBRARY --feature-size 45 [--also LIBRARY...] [--only PART...]

``--liberty`` is the library of most tables, ``--also`` are others to compare with. A part is written into the document
as soon as its last command has ended, and ``--only`` measures some of them. What was measured before comes from the
cache, so an interrupted run goes on where it stopped; from nothing it takes hours.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from cdma.synth.asic.scaling import BUFFER_BYTES, PAPER_MM2, buffer_mm2, scale_to_paper

DOCS = Path(__file__).parent
BEGIN, END = "<!-- area: begin -->", "<!-- area: end -->"
LANES = ["--sweep", "lanes=2,4,8,16,32", "--sweep", "word_bits=8,16,32"]
BLOCKS = ("compressor", "decompressor")
NARROW = ("--dev-data-bits", "64", "--host-data-bits", "64", "--lanes", "2")
WIDE = ("--dev-data-bits", "512", "--host-data-bits", "512", "--lanes", "16")
UNITS = (1, 2, 4, 6, 8)
#: Some seeds of an engine are never routed.
IN_TIME = ("--timeout", "3000")
PERIODS = ["--sweep", "period=0.7,0.8,0.9,1,1.2,1.5,2"]


class CommandFailed(Exception):
    """A command ended with another status than 0."""


def run(*arguments: str, may_be_refused: bool = False) -> str:
    """A command as a user types it, and what it prints, or, with ``may_be_refused``, its one message."""
    print("cdma", *arguments, file=sys.stderr, flush=True)
    command = [sys.executable, "-m", "cdma", *arguments]
    result = subprocess.run(command, cwd=DOCS.parent, capture_output=True, text=True, check=False)
    refused = may_be_refused and result.returncode == 2
    if result.returncode and not refused:
        raise CommandFailed(f"{shlex.join(command)}: {result.stderr}")
    shown = shlex.join(
        ["cdma", *(Path(word).name if Path(word).suffix in (".gz", ".lib") else word for word in arguments)]
    )
    printed = result.stderr if refused else result.stdout
    text = "\n".join(line.rstrip() for line in printed.rstrip().splitlines())
    return f"```console\n$ {shown}\n{text}\n```\n"


def measured(*arguments: str) -> dict[str, Any]:
    """What a command measures, which it prints as JSON."""
    print("cdma", *arguments, "--json", file=sys.stderr, flush=True)
    command = [sys.executable, "-m", "cdma", *arguments, "--json"]
    result = subprocess.run(command, cwd=DOCS.parent, capture_output=True, text=True, check=False)
    if result.returncode:
        raise CommandFailed(f"{shlex.join(command)}: {result.stderr}")
    return dict(json.loads(result.stdout))


def figure(folder: str, name: str, what: str) -> str:
    return f"![{what}]({folder}/{name}.svg)\n"


@dataclass(frozen=True)
class Libraries:
    """What to map to: the library of most tables with its feature size, and the others."""

    main: str
    feature_size: str
    others: tuple[str, ...]

    @property
    def chosen(self) -> tuple[str, str]:
        return "--liberty", self.main


def codecs(libraries: Libraries) -> Iterator[str]:
    yield (
        "## Area and clock\n\n"
        "Yosys and ABC map each block to the cells of a library. GE is the area divided by that of the "
        "library's smallest NAND2. OpenSTA (Debian's package `opensta`) calculates the period from register to "
        "register; before placement "
        "it knows no wires, which add to the period. Gates are sized for the period in the first line of each table, "
        "which is by default 26 delays of the library's NAND2 with two loads: 1.0 ns on Nangate45. The recipe is in "
        "`synth/asic/recipe.py`. The libraries are not part of the project: pass your own with `--liberty`. The "
        f"tables were made with pyosys {version('pyosys')} and the libraries that they name.\n"
    )
    for block in BLOCKS:
        yield f"### {block.capitalize()}, 8 lanes of 32 bits\n"
        yield run("area", block, *libraries.chosen, "--clock-gating")
    yield (
        "With `clock gating`, registers with a common enable have a gated clock instead of a multiplexer per "
        "bit; neither figure includes the clock tree. The structural floor is what the format forces on any "
        "codec (`synth/asic/floor.py`): the window or the header, one output beat, and a network from any lane to "
        "any other.\n"
    )


def fields(libraries: Libraries) -> Iterator[str]:
    yield "### Codes of fields, 16 lanes of bf16\n"
    yield (
        "A beat of 16 words of bf16 is 32 stream words, which are bytes. So the codecs beside it, for 32 lanes of 8 bits "
        "with codes of whole words, have the same network, rows and packer; the differences are what the field adds: codes "
        "of 3 bits and their header of 12 bytes instead of 4, the comparison with six exponents, and the count of stored "
        "bytes.\n"
    )
    for block in BLOCKS:
        for shape in (("--format", "bf16", "--lanes", "16"), ("--word-bits", "8", "--lanes", "32")):
            yield run("area", block, *shape, "--depth", "2", *libraries.chosen)
    yield "With `--queue 0` they are smaller, and a window may cost one more cycle:\n"
    for block in BLOCKS:
        shape = ("--format", "bf16", "--lanes", "16", "--queue", "0")
        yield run("area", block, *shape, "--no-breakdown", *libraries.chosen)


def fields_beyond(libraries: Libraries) -> Iterator[str]:
    yield "### An engine for bf16, and pipelined codecs for it\n"
    yield run("area", "engine", "--format", "bf16", "--lanes", "16", "--no-breakdown", *libraries.chosen)
    yield (
        "A pipelined codec needs four beats or more for a window, so with the preset's window of 32 words it has at most 8 "
        "lanes. On the slowest speed grade of an ECP5, with one seed:\n"
    )
    for block in BLOCKS:
        shape = ("--format", "bf16", "--lanes", "8", "--pipelined")
        yield run("fpga", block, *shape, "--target", "ecp5", "--device", "85k")


def queues(libraries: Libraries) -> Iterator[str]:
    yield "### Codecs with a smaller queue\n"
    yield (
        "`cdma bench queue` has beats of 256 bits and compares codecs by `--queue`; a decompressor with 0 or 1 stores one "
        "beat, one with 2 stores two or three. Shares are those of the full throughput: *activations* of all recorded "
        "tensors in all layouts (float32; float16 and bfloat16; int8), *least* of the tensor that suffers most, *worst* of "
        "the windows that cost the most cycles for their words.\n"
    )
    yield run("bench", "queue", *libraries.chosen)


def other_libraries(libraries: Libraries) -> Iterator[str]:
    yield "### Other libraries, and none\n"
    for block in (*BLOCKS, "engine"):
        for other in libraries.others:
            yield run("area", block, "--liberty", other, "--no-breakdown")
        yield run("area", block, "--no-breakdown")


def lanes(libraries: Libraries) -> Iterator[str]:
    yield "### More and fewer lanes\n"
    for block in BLOCKS:
        yield run("area", block, *libraries.chosen, *LANES, "-o", "docs/figures/area-lanes")
        yield figure("figures/area-lanes", f"{block}-area", f"area of the {block} against lanes")
        yield figure("figures/area-lanes", f"{block}-efficiency", f"GE per byte per cycle of the {block}")
        yield figure("figures/area-lanes", f"{block}-floor", f"area of the {block} over its structural floor")


def periods(libraries: Libraries) -> Iterator[str]:
    yield "### Faster and slower clocks\n"
    for block in BLOCKS:
        yield run("area", block, *libraries.chosen, *PERIODS, "-o", "docs/figures/area-period")
        yield figure(
            "figures/area-period", f"{block}-period", f"area of the {block} against the clock period"
        )


def engine(libraries: Libraries) -> Iterator[str]:
    chosen = libraries.chosen
    yield "### Engine\n"
    yield run("area", "engine", *chosen, "--clock-gating")
    yield "The codecs as they are in the engine, with a run-time table:\n"
    for block in BLOCKS:
        yield run("area", block, "--runtime-values", "--no-breakdown", *chosen, "--clock-gating")
    yield (
        "The engine with sources and destinations at any word instead of any beat, which takes a shifter at "
        "each end of both channels:\n"
    )
    yield run("area", "engine", *chosen, "--alignment", "word", "--no-breakdown")


def widths(libraries: Libraries) -> Iterator[str]:
    yield "### Engines with ports of 64 and 512 bits\n"
    for ports in (NARROW, WIDE):
        yield run("area", "engine", *libraries.chosen, *ports, "--no-breakdown")


def slices(libraries: Libraries) -> Iterator[str]:
    yield "### Register slices\n"
    for block in (*BLOCKS, "engine"):
        yield run("area", block, *libraries.chosen, "--register-slices", "in,out", "--no-breakdown")


def units(libraries: Libraries) -> Iterator[str]:
    yield "### Engines with several units\n"
    yield (
        "`cdma area engine --units N --no-breakdown --period 0.9`, 8 lanes of 32 bits, ports of 256 bits. *Beside the "
        "codecs* is the area less that of N compressors and N decompressors with a run-time table, by themselves.\n"
    )
    yield unit_tables(libraries)


def unit_tables(libraries: Libraries) -> str:
    """Area and clock by number of units, and the paper's machine beside the paper's figure."""
    codecs = sum(
        measured("area", block, "--runtime-values", "--no-breakdown", *libraries.chosen)["kge"]
        for block in BLOCKS
    )
    # Sized for 1.0 ns, engines of four units and more miss it by a little.
    period = ("--period", "0.9")
    rows = {
        count: measured("area", "engine", "--units", str(count), "--no-breakdown", *period, *libraries.chosen)
        for count in UNITS
    }
    by_units = table(
        [
            *(
                "units",
                "area, kGE",
                "beside the codecs, kGE",
                "register to register, ns",
                "input to register, ns",
            ),
            *("register to output, ns", "memory bits", "longest path"),
        ],
        [
            [
                str(count),
                f"{row['kge']:.1f}",
                f"{row['kge'] - count * codecs:.1f}",
                *(f"{row[name]:.3f}" for name in ("period_ns", "input_ns", "output_ns")),
                f"{row['memory_bits']:,}",
                " → ".join(f"`{row['worst_path'][end]}`" for end in ("start", "end")),
            ]
            for count, row in rows.items()
        ],
    )
    whole = rows[6]
    machine = (
        f"The whole engine of six units, with its rings, registers and all else, has {whole['area_um2']:,.0f} µm² and "
        f"{whole['memory_bits'] / 8192:,.0f} KB of memories; the paper has {BUFFER_BYTES // 1024} KB. By the rules of "
        f"`cdma area --compare {libraries.feature_size}`, at 28 nm:\n"
    )
    by_rule = table(
        [
            *(
                "rule",
                "logic, mm²",
                "its own memories, mm²",
                "total, mm²",
                f"of the paper's {PAPER_MM2} mm², %",
            ),
            f"with {BUFFER_BYTES // 1024} KB, %",
        ],
        [
            [
                scaled.rule.name,
                *(f"{area:.3f}" for area in (scaled.units_mm2, own, scaled.units_mm2 + own)),
                *(
                    f"{100 * (scaled.units_mm2 + memory) / PAPER_MM2:.0f}"
                    for memory in (own, scaled.buffer_mm2)
                ),
            ]
            for scaled in scale_to_paper(whole["area_um2"] / 6, float(libraries.feature_size))
            for own in [buffer_mm2(whole["memory_bits"], scaled.rule)]
        ],
    )
    return "\n".join((by_units, machine, by_rule))


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown, whose figures are to the right."""
    ends = ["---" if heading in ("longest path", "rule") else "---:" for heading in headings]
    lines = [f"| {' | '.join(row)} |" for row in (headings, *rows)]
    return "\n".join([lines[0], f"|{'|'.join(ends)}|", *lines[1:]]) + "\n"


def fpga(libraries: Libraries) -> Iterator[str]:
    yield "## FPGA\n"
    yield (
        "Look-up tables, flip-flops and RAM are those of the block by itself. For placing and routing, the "
        "block is put between two shift registers (`synth/fpga/harness.py`), and paths from and to them count. "
        "`--pipelined` selects the codecs that are meant for FPGAs. `85k` is an ECP5-85F of the slowest speed "
        "grade, 6; `85k-8` is the fastest. There a register that follows a block RAM is the block's own output register, "
        "which Yosys does not use (`synth/fpga/output_registers.py`).\n"
    )
    for block in BLOCKS:
        yield from ecp5(block, "--pipelined")
        if block == "decompressor":
            yield from ecp5(block, "--pipelined", "--no-wide-luts")
        yield run("fpga", block, "--target", "ecp5", "--device", "85k", "--seeds", "3")
        yield run("fpga", block, "--pipelined", "--target", "xilinx")
        yield run("fpga", block, "--target", "xilinx")


def fpga_engine(libraries: Libraries) -> Iterator[str]:
    yield "### Engine on an ECP5\n"
    for options in ((), ("--alignment", "word")):
        yield from ecp5("engine", "--pipelined", *IN_TIME, *options)


def fpga_widths(libraries: Libraries) -> Iterator[str]:
    yield "### Engines with ports of 64 and 512 bits on an ECP5\n"
    for options in (NARROW, (*WIDE, "--window", "64")):
        yield from ecp5("engine", "--pipelined", *IN_TIME, *options, seeds=1)


def nexus(libraries: Libraries) -> Iterator[str]:
    yield "### Lattice CrossLink-NX\n"
    for block in BLOCKS:
        for device in ("lifcl-40", "lifcl-40-9"):
            yield on_device(block, "nexus", device, "--pipelined")


def gowin(libraries: Libraries) -> Iterator[str]:
    yield "### Gowin\n"
    for block in BLOCKS:
        for device in ("gw2a-18", "gw2a-18-9"):
            yield on_device(block, "gowin", device, "--pipelined")


def other_engines(libraries: Libraries) -> Iterator[str]:
    yield "### Engine on other FPGAs\n"
    for target, device in (("nexus", "lifcl-40-9"), ("gowin", "gw5ast-138")):
        for options in (NARROW, ()):
            yield on_device("engine", target, device, "--pipelined", *IN_TIME, *options, seeds=1)


def ecp5(block: str, *options: str, seeds: int = 3) -> Iterator[str]:
    """A block on the slowest and on the fastest speed grade."""
    for device in ("85k", "85k-8"):
        yield on_device(block, "ecp5", device, *options, seeds=seeds)


def on_device(block: str, target: str, device: str, *options: str, seeds: int = 3) -> str:
    """A block on a device, the median of its seeds, or what the command says where it does not fit."""
    command = ("fpga", block, *options, "--target", target, "--device", device, "--seeds", str(seeds))
    return run(*command, may_be_refused=True)


def beside_others(libraries: Libraries) -> Iterator[str]:
    yield "### Beside the paper, and beside others\n"
    yield (
        "The paper states 1.5 mm² in 28 nm for six units and a buffer of 70 KB. To compare, the area in "
        "another process is scaled to 28 nm. Scaling needs assumptions, so there are two rules. *Ideal*: area "
        "shrinks with the square of the feature size, rows are full of cells, and the buffer is its bits "
        "alone. *Pessimistic*: area shrinks with the feature size only, 70 % of a row is cells, and half of "
        "the buffer is bits. A bit takes 0.16 µm², which Chipworks found in a 28 nm graphics processor (AMD "
        "Radeon HD 7970, 2012). `axi_dma`, which moves data and does not compress, was synthesised by the "
        "same recipe (verilog-axi, commit 516bd5d). stream-ebpc was synthesised for the same library, but "
        "with the plain script of Yosys and ABC.\n"
    )
    yield run("area", "compressor", *libraries.chosen, "--compare", libraries.feature_size)


#: The parts of the section by the name that ``--only`` takes, in the order of the document.
PARTS: dict[str, Callable[[Libraries], Iterator[str]]] = {
    "codecs": codecs,
    "fields": fields,
    "fields-beyond": fields_beyond,
    "queues": queues,
    "libraries": other_libraries,
    "comparison": beside_others,
    "lanes": lanes,
    "periods": periods,
    "engine": engine,
    "units": units,
    "widths": widths,
    "slices": slices,
    "fpga": fpga,
    "fpga-engine": fpga_engine,
    "fpga-widths": fpga_widths,
    "nexus": nexus,
    "gowin": gowin,
    "other-engines": other_engines,
}


def revision() -> str:
    """The revision of the project that is measured."""
    describe = ["git", "describe", "--always", "--dirty= with changes"]
    result = subprocess.run(describe, cwd=DOCS.parent, capture_output=True, text=True, check=False)
    return result.stdout.strip() or "unknown"


def measured_at() -> str:
    """The sentence that says it."""
    return f"Measured at revision {revision()}.\n"


def mark(name: str) -> str:
    """The line in the document with which a part begins; it ends where the next one begins."""
    return f"<!-- area: {name} -->"


def put(name: str, text: str, document: str) -> str:
    """The document with a part in place of what it was, or where it belongs."""
    if BEGIN not in document:
        document = f"{document.rstrip()}\n\n{BEGIN}\n\n{END}\n"
    before, _, rest = document.partition(f"{BEGIN}\n")
    section, _, after = rest.partition(END)
    pieces = re.split(r"<!-- area: ([\w-]+) -->\n", section)
    parts = dict(zip(pieces[1::2], pieces[2::2], strict=True))
    parts[name] = f"\n{text.strip()}\n\n"
    ordered = "".join(f"{mark(each)}\n{parts[each]}" for each in PARTS if each in parts)
    return f"{before}{BEGIN}\n{ordered}{END}{after}"


def write(path: Path, text: str) -> None:
    """Writes the document whole or not at all."""
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
        file.write(text)
    os.chmod(file.name, 0o644)
    os.replace(file.name, path)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--liberty", required=True, help="the library of most tables")
    parser.add_argument("--feature-size", required=True, metavar="NM", help="its feature size")
    parser.add_argument("--also", nargs="*", default=[], metavar="LIBRARY", help="libraries to compare with")
    parser.add_argument(
        "--only", nargs="+", choices=PARTS, metavar="PART", help=f"some of {', '.join(PARTS)}"
    )
    arguments = parser.parse_args()
    main_library, *others = (str(Path(name).resolve()) for name in (arguments.liberty, *arguments.also))
    libraries = Libraries(main_library, arguments.feature_size, tuple(others))
    document, failed = DOCS / "results.md", []
    for name, part in PARTS.items():
        if arguments.only and name not in arguments.only:
            continue
        try:
            text = "\n".join([*part(libraries), measured_at()])
        except CommandFailed as error:
            print(f"{name}: {error}", file=sys.stderr)
            failed.append(name)
            continue
        write(document, put(name, text, document.read_text()))
    if failed:
        sys.exit(f"not written, and as before in the document: {', '.join(failed)}")


if __name__ == "__main__":
    main()
