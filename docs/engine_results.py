"""Writes the table of engines of ``docs/results.md``: this engine and a peer, on the same work.

    python -m docs.engine_results --peer CHECKOUT --liberty LIBRARY [--only NAME...]

``--peer`` is a checkout of verilog-axi, of which this repository has nothing; ``--liberty`` is the library of the areas.
Every engine has ports of 256 bits and addresses of 64, stands in the same harness on the same FPGA (three seeds, two
speed grades) and moves 1 MiB from and to the same memory. A row is written into the document as soon as it is measured.
What was measured before comes from the cache, so an interrupted run goes on where it stopped; from nothing it takes hours.
``--only`` measures some rows, and leaves the others as they are; with fewer ``--seeds``, the row says so.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cdma.files import write_text
from cdma.hdl.spec.engine import EngineConfig
from cdma.synth.asic.library.library import Library
from cdma.synth.asic.library.load import load_libraries
from cdma.synth.asic.measure import measure as measure_area
from cdma.synth.asic.recipe import Options
from cdma.synth.circuits import Circuit, circuit_of
from cdma.synth.fpga.measure import measure_fpga
from cdma.synth.fpga.targets import TARGETS
from cdma.verif.engine.design import EngineDesign
from cdma.verif.engine.measure import cases, measure_engine
from cdma.verif.simulator.build import build
from cdma.verif.simulator.simulate import simulate
from docs.area_results import revision
from docs.engines.peer import Peer

ROOT = Path(__file__).resolve().parents[1]
BEGIN, END = "<!-- engines: begin -->", "<!-- engines: end -->"
_SLOW, _FAST = "85k", "85k-8"
_SEEDS = 3
_BYTES = 1 << 20
_TITLES = (
    *("engine", "compresses", "look-up tables", "flip-flops", "block RAMs", "MHz, slowest / fastest grade"),
    *("kGE", "kbit of memory", "period, ns", "utilisation", "revision"),
)


@dataclass(frozen=True)
class Row:
    """An engine of the table.

    ``fpga``, ``asic``
        Are the circuits for the FPGA and for the library.
    ``utilisation``
        Measures how busy it keeps its port; None where another row says it.
    """

    name: str
    compresses: bool
    fpga: Callable[[], Circuit]
    asic: Callable[[], Circuit]
    utilisation: Callable[[], str] | None


def rows(checkout: Path) -> dict[str, Row]:
    """The rows by the name that ``--only`` takes."""
    found = {}
    for name, unaligned in (("peer", False), ("peer-unaligned", True)):
        peer = Peer(checkout, unaligned)
        title = "verilog-axi `axi_dma`" + (", any byte" if unaligned else "")
        use = (
            None
            if unaligned
            else lambda: " / ".join(peer_utilisation(Peer(checkout, burst=n)) for n in (32, 128))
        )
        found[name] = Row(title, False, peer.circuit, peer.circuit, use)
    for name, alignment in (("engine", "beat"), ("engine-word", "word")):
        plain, pipelined = (EngineConfig(alignment=alignment, pipelined=each) for each in (False, True))
        title = "this engine" + (", any word" if alignment == "word" else "")
        found[name] = Row(
            title,
            True,
            lambda config=pipelined: circuit_of("engine", config),  # type: ignore[misc]
            lambda config=plain: circuit_of("engine", config),  # type: ignore[misc]
            (lambda config=pipelined: engine_utilisation(config)) if alignment == "beat" else None,  # type: ignore[misc]
        )
    return found


def peer_utilisation(peer: Peer) -> str:
    """The share of cycles in which the peer's port moves data both ways, copying 1 MiB."""
    verilog, top = peer.loop()
    executable = build(verilog, top, peer.loop_ports())
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / "rows.jsonl"
        settings = {"bytes": _BYTES, "rows": str(kept)}
        (outcome,) = simulate(executable, top, "docs.engines.bench", ["measure"], settings)
        if outcome.failure is not None:
            sys.exit(f"the bench of the peer failed: {outcome.failure}")
        row = re.search(r'"utilisation": ([\d.]+)', kept.read_text())
    assert row is not None
    return f"{float(row[1]):.1%}"


def engine_utilisation(config: EngineConfig) -> str:
    """The least utilisation of the busier port over both directions, raw and dense, at 1 MiB."""
    wanted = [case for case in cases((1.0,), (_BYTES,), (100,)) if case["direction"] != "both"]
    return f"{min(row['utilisation'] for row in measure_engine(EngineDesign(config), wanted)):.1%}"


def cells(
    row: Row, library: Library, period: float, seeds: int, timeout: float | None, measured: str
) -> list[str]:
    """A line of the table, ``measured`` at that revision."""

    def say(step: str) -> None:
        print(f"{row.name}: {step}", file=sys.stderr, flush=True)

    circuit = row.fpga()
    slow, fast = (
        measure_fpga(
            circuit,
            TARGETS["ecp5"],
            device=device,
            seeds=range(1, seeds + 1),
            jobs=min(seeds, os.cpu_count() or 1),
            timeout=timeout,
            progress=say,
        )
        for device in (_SLOW, _FAST)
    )
    area = measure_area(row.asic(), library, Options(period), progress=say).plain
    say("utilisation")
    clock = "-" if area.period_ns is None else f"{area.period_ns:.2f}"
    return [
        row.name,
        "yes" if row.compresses else "no",
        *(f"{number:,}" for number in (slow.luts, slow.flip_flops, slow.ram_blocks)),
        clocks(slow.fmax_mhz, fast.fmax_mhz, seeds),
        f"{area.kge:.1f}",
        f"{area.memory_bits / 1000:.0f}",
        clock,
        row.utilisation() if row.utilisation is not None else "as above",
        measured,
    ]


def clocks(slow: float | None, fast: float | None, seeds: int) -> str:
    """The medians on both grades, with the number of seeds unless it is that of the table."""
    both = " / ".join("-" if each is None else f"{each:.0f}" for each in (slow, fast))
    return both if seeds == _SEEDS else f"{both} ({seeds} seed{'s' if seeds > 1 else ''})"


def table(lines: list[list[str]]) -> str:
    """The lines in Markdown."""
    head = ["| " + " | ".join(_TITLES) + " |", "|---|---|" + "---:|" * (len(_TITLES) - 2)]
    return "\n".join([*head, *("| " + " | ".join(line) + " |" for line in lines)])


def section(
    commit: str, parameters: dict[str, Any], library: str, period: float, lines: list[list[str]]
) -> str:
    """The text around the table."""
    wrapper = ", ".join(f"`{name}` {value}" for name, value in parameters.items())
    return (
        "## Engines\n\n"
        "`python -m docs.engine_results --peer CHECKOUT --liberty LIBRARY` measures this engine and the copying engine of "
        f"verilog-axi (commit {commit}, with {wrapper}; `ENABLE_UNALIGNED` 1 for any byte) on the same work: ports of "
        "256 bits with addresses of 64. The FPGA is an ECP5-85F, and the clock is the median of three seeds in the harness "
        "of `cdma fpga`, where the row does not say less; there this engine has its pipelined codecs. Its figures include "
        "both codecs, the rings, the registers and its own port to the device; `axi_dma` has one port and no "
        f"registers. kGE, memory and period are for {library}, sized for {period:g} ns, with plain codecs. Utilisation is "
        "that of `cdma bench engine` at 1 MiB and 100 cycles of latency; `axi_dma` copies on one port, with bursts of 32 / "
        "128 beats.\n\n" + table(lines) + "\n"
    )


def written(document: str) -> dict[str, list[str]]:
    """The lines of the table in a document, by their first cell."""
    section = document.partition(BEGIN)[2].partition(END)[0]
    lines = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| ")]
    return {line[0]: line for line in lines if len(line) == len(_TITLES)}


def put(text: str, document: str) -> str:
    """The document with the section in place of what it was, or before the section on area."""
    marked = f"{BEGIN}\n\n{text}\n{END}"
    if BEGIN in document:
        return re.sub(f"{BEGIN}.*?{END}", lambda _: marked, document, flags=re.DOTALL)
    before, mark, after = document.partition("<!-- area: begin -->")
    return f"{before.rstrip()}\n\n{marked}\n\n{mark}{after}" if mark else f"{document.rstrip()}\n\n{marked}\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--peer", type=Path, required=True, metavar="CHECKOUT", help="a checkout of verilog-axi"
    )
    parser.add_argument(
        "--liberty", type=Path, nargs="+", required=True, metavar="FILE", help="the cell library"
    )
    parser.add_argument(
        "--period", type=float, default=1.0, metavar="NS", help="what to size gates for (default 1.0)"
    )
    parser.add_argument(
        "--timeout", type=float, metavar="S", help="seconds for a seed, which then counts as not routed"
    )
    parser.add_argument(
        "--seeds", type=int, default=_SEEDS, metavar="N", help=f"seeds of nextpnr (default {_SEEDS})"
    )
    parser.add_argument(
        "--only", nargs="+", metavar="NAME", choices=list(rows(Path())), help="measure these rows alone"
    )
    arguments = parser.parse_args()
    library = load_libraries(arguments.liberty)
    wanted = rows(arguments.peer)
    peer = Peer(arguments.peer)
    # Asked for once: with the first row the document changes.
    ours = revision()
    path = ROOT / "docs" / "results.md"
    for name, row in wanted.items():
        if arguments.only and name not in arguments.only:
            continue
        line = cells(
            row,
            library,
            arguments.period,
            arguments.seeds,
            arguments.timeout,
            ours if row.compresses else peer.commit,
        )
        document = path.read_text()
        lines = written(document) | {row.name: line}
        ordered = [lines[each.name] for each in wanted.values() if each.name in lines]
        text = section(peer.commit, peer.parameters, library.name, arguments.period, ordered)
        write_text(path.parent, path.name, put(text, document))


if __name__ == "__main__":
    main()
