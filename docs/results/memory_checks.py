"""What the checks of an engine's memories take: bits, and the gates that make them and look at them.

    python -m docs.results.memory_checks --liberty FILE

prints as JSON, for the default engine with each ``--memories-protect``, its area, and by kind of memory how many there are,
their bits, those of them that are checks, and kGE, synthesised with the boundaries of blocks kept.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from cdma.base.cache import Cache
from cdma.hdl.engine.generate import engine_design
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.options import MEMORY_CODES
from cdma.hdl.verilog.printer.design import PlacedMemory
from cdma.synth.asic.library.liberty import load_libraries
from cdma.synth.asic.measure import Block, measure_block
from cdma.synth.asic.recipe import Options
from cdma.synth.asic.scaling import default_period
from cdma.synth.asic.timing import find_opensta

#: What the path of a memory has in it, by kind; the first that fits counts.
KINDS = {
    "read buffers": r"reader\.store",
    "write buffers": r"writer\.store",
    "bursts in flight": r"path\.(reader|writer)",
    "results of the codec": r"path\.reports",
    "descriptors in flight": r"slots",
    "rings": r"rings|coalescer",
    "counters": r"counters",
    "windows": r"windows",
    "registers": r"register_file",
}
#: Levels of blocks down to the check of a word.
_DEPTH = 8


def checks_by_kind(memories: Iterable[PlacedMemory], blocks: Sequence[Block]) -> list[dict[str, Any]]:
    """The memories of each kind, and what is around them in the module that has their checks."""
    rows: dict[str, dict[str, Any]] = {
        kind: {"what": kind, "memories": 0, "memory_bits": 0, "check_bits": 0, "kge": 0.0} for kind in KINDS
    }
    for memory in memories:
        row = rows[next(kind for kind, pattern in KINDS.items() if re.search(pattern, memory.path))]
        checker = memory.path.rpartition(".")[0]
        row["memories"] += 1
        row["memory_bits"] += memory.bits
        row["check_bits"] += memory.check_bits
        row["kge"] += sum(block.kge for block in blocks if f"{block.name}.".startswith(f"{checker}."))
    return [row | {"kge": round(row["kge"], 4)} for row in rows.values()]


def measured(liberty: Path) -> dict[str, Any]:
    """All figures, by the names that ``cdma area`` has for them."""
    library, designs = load_libraries([liberty]), []
    options = Options(default_period(library, find_opensta(), Cache()))
    for code in MEMORY_CODES[1:]:
        config = EngineConfig(memories_protect=code)
        area = measure_block("engine", config, library, options, block_depth=_DEPTH)
        rows = checks_by_kind(engine_design(config).memories, area.blocks)
        designs.append(
            {
                "design": code,
                "kge": round(area.plain.kge, 4),
                "flip_flops": area.plain.flip_flops,
                "rows": rows,
            }
        )
    return {"designs": designs, "tools": area.tools}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m docs.results.memory_checks", description=__doc__)
    parser.add_argument("--liberty", type=Path, required=True, metavar="FILE")
    print(json.dumps(measured(parser.parse_args().liberty)))


if __name__ == "__main__":
    main()
