"""Writes the section on area and clock of ``docs/results.md``, by running the commands that it shows.

    python docs/area_results.py --liberty LIBRARY --feature-size 45 [--also LIBRARY...]

``--liberty`` is the library of most tables, ``--also`` are others to compare with. What was measured before
comes from the cache; from nothing it takes the better part of an hour on two processors.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

DOCS = Path(__file__).parent
BEGIN, END = "<!-- area: begin -->", "<!-- area: end -->"
LANES = ["--sweep", "lanes=2,4,8,16,32", "--sweep", "word_bits=8,16,32"]
PERIODS = ["--sweep", "period=0.7,0.8,0.9,1,1.2,1.5,2"]


def run(*arguments: str) -> str:
    """A command as a user types it, and what it prints."""
    print("cdma", *arguments, file=sys.stderr, flush=True)
    command = [sys.executable, "-m", "cdma", *arguments]
    result = subprocess.run(command, cwd=DOCS.parent, capture_output=True, text=True, check=False)
    if result.returncode:
        sys.exit(f"{shlex.join(command)}: {result.stderr}")
    shown = shlex.join(
        ["cdma", *(Path(word).name if Path(word).suffix in (".gz", ".lib") else word for word in arguments)]
    )
    text = "\n".join(line.rstrip() for line in result.stdout.rstrip().splitlines())
    return f"```console\n$ {shown}\n{text}\n```\n"


def figure(folder: str, name: str, what: str) -> str:
    return f"![{what}]({folder}/{name}.svg)\n"


def sections(liberty: str, feature_size: str, others: list[str], quick: bool) -> Iterator[str]:
    """The parts of the section, in order."""
    chosen = ("--liberty", liberty)
    yield (
        "## Area and clock\n\n"
        "Yosys and ABC map each block to the cells of a library. GE is the area divided by that of the "
        "library's smallest NAND2. OpenSTA calculates the period from register to register; before placement "
        "it knows no wires, which add to the period. Gates are sized for 1 ns. The recipe is in "
        "`synth/asic/recipe.py`. The libraries are not part of the project: pass your own with `--liberty`. The "
        f"tables were made with pyosys {version('pyosys')} and the libraries that they name.\n"
    )
    for block in ("compressor", "decompressor"):
        yield f"### {block.capitalize()}, 8 lanes of 32 bits\n"
        yield run("area", block, *chosen, "--clock-gating")
    yield (
        "With `clock gating`, registers with a common enable have a gated clock instead of a multiplexer per "
        "bit; neither figure includes the clock tree. The structural floor is what the format forces on any "
        "codec (`synth/asic/floor.py`): the window or the header, one output beat, and a network from any lane to "
        "any other.\n"
    )
    yield "### Compressors with a smaller queue\n"
    yield (
        "`cdma bench queue` has beats of 256 bits and compares the depths of the compressor's queue (`--queue`). Shares are "
        "those of the full throughput: *activations* of all recorded tensors in all layouts (float32; float16 and "
        "bfloat16; int8), *least* of the tensor that suffers most, *worst* of the windows that cost the most cycles for "
        "their words.\n"
    )
    yield run("bench", "queue", *chosen)
    yield "### Other libraries, and none\n"
    for block in ("compressor", "decompressor"):
        for other in others:
            yield run("area", block, "--liberty", other, "--no-breakdown")
        yield run("area", block, "--no-breakdown")
    yield from beside_others(chosen, feature_size)
    if quick:
        return
    yield "### More and fewer lanes\n"
    for block in ("compressor", "decompressor"):
        yield run("area", block, *chosen, *LANES, "-o", "docs/figures/area-lanes")
        yield figure("figures/area-lanes", f"{block}-area", f"area of the {block} against lanes")
        yield figure("figures/area-lanes", f"{block}-efficiency", f"GE per byte per cycle of the {block}")
        yield figure("figures/area-lanes", f"{block}-floor", f"area of the {block} over its structural floor")
    yield "### Faster and slower clocks\n"
    for block in ("compressor", "decompressor"):
        yield run("area", block, *chosen, *PERIODS, "-o", "docs/figures/area-period")
        yield figure(
            "figures/area-period", f"{block}-period", f"area of the {block} against the clock period"
        )
    yield "### Engine\n"
    yield run("area", "engine", *chosen)
    yield "The codecs as they are in the engine, with a run-time table:\n"
    for block in ("compressor", "decompressor"):
        yield run("area", block, "--runtime-values", "--no-breakdown", *chosen)
    yield (
        "The engine with sources and destinations at any word instead of any beat, which takes a shifter at "
        "each end of both channels:\n"
    )
    yield run("area", "engine", *chosen, "--alignment", "word", "--no-breakdown")
    yield "## FPGA\n"
    yield (
        "Look-up tables, flip-flops and RAM are those of the block by itself. For placing and routing, the "
        "block is put between two shift registers (`synth/fpga/harness.py`), and paths from and to them count. "
        "`--pipelined` selects the codecs that are meant for FPGAs. `85k` is an ECP5-85F of the slowest speed "
        "grade, 6; `85k-8` is the fastest.\n"
    )
    for block in ("compressor", "decompressor"):
        for device in ("85k", "85k-8"):
            yield run("fpga", block, "--pipelined", "--target", "ecp5", "--device", device, "--seeds", "3")
        yield run("fpga", block, "--target", "ecp5", "--device", "85k", "--seeds", "3")
        yield run("fpga", block, "--pipelined", "--target", "xilinx")
        yield run("fpga", block, "--target", "xilinx")


def beside_others(chosen: tuple[str, str], feature_size: str) -> Iterator[str]:
    """The comparison with the paper and with open designs."""
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
    yield run("area", "compressor", *chosen, "--compare", feature_size)


def write(section: str, path: Path) -> None:
    """Puts the section into the document, in place of what it was, or at its end."""
    text = path.read_text() if path.exists() else "# Results\n"
    marked = f"{BEGIN}\n\n{section}\n{END}"
    if BEGIN in text:
        text = re.sub(f"{BEGIN}.*?{END}", lambda _: marked, text, flags=re.DOTALL)
    else:
        text = f"{text.rstrip()}\n\n{marked}\n"
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
        "--quick", action="store_true", help="without sweeps, engine and FPGA, which take longest"
    )
    arguments = parser.parse_args()
    files = [str(Path(name).resolve()) for name in (arguments.liberty, *arguments.also)]
    write(
        "\n".join(sections(files[0], arguments.feature_size, files[1:], arguments.quick)), DOCS / "results.md"
    )


if __name__ == "__main__":
    main()
