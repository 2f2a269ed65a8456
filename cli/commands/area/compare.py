"""``cdma area --compare``: a unit beside the paper's figure and beside open designs."""

from __future__ import annotations

import argparse
import json

from cdma.base.errors import ParameterError
from cdma.base.yosys import find_yosys
from cdma.hdl.spec.codec import BLOCKS
from cdma.options import cache_from, codec_config_from
from cdma.output import new_table, output, status
from cdma.synth.asic.measure import Measurement, measure_block
from cdma.synth.asic.scaling import PAPER_MM2, PEERS, check_feature_size, scale_to_paper

from . import request

__all__ = ["run"]


def run(arguments: argparse.Namespace) -> int:
    """Measures compressor and decompressor, and prints both comparisons."""
    if not arguments.liberty:
        raise ParameterError("--compare scales µm²; give the library with --liberty")
    check_feature_size(arguments.compare)
    config = codec_config_from(arguments)
    library = request.library(arguments)
    yosys = find_yosys(arguments.yosys)
    with status() as say:
        measured: dict[str, Measurement] = {}
        for block in BLOCKS:
            measured[block] = measure_block(
                block,
                config,
                library,
                request.options(arguments, library),
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
    if arguments.json:
        keys = ("design", "what", "kge", "memory_kbit", "bytes_per_cycle")
        rows = [dict(zip(keys, design, strict=True)) for design in designs]
        paper = {"unit_um2": unit_um2, "paper_mm2": PAPER_MM2, "rules": [area.as_json() for area in scaled]}
        print(json.dumps({"library": library.name, "paper": paper, "designs": rows}, indent=2))
        return 0
    console = output()
    console.print(
        f"Six units of {unit_um2:,.0f} µm² ({library.name}, {arguments.compare:g} nm) and a 70 KB buffer "
        f"at 28 nm; the paper has {PAPER_MM2} mm²:",
    )
    table = new_table("rule", "units, mm²", "buffer, mm²", "total, mm²", "of the paper's, %")
    for area in scaled:
        figures = (area.units_mm2, area.buffer_mm2, area.total_mm2)
        table.add_row(area.rule.name, *(f"{value:.3f}" for value in figures), f"{100 * area.of_paper:.0f}")
    console.print(table)
    table = new_table(
        "design", "", "kGE", "memory, kbit", "bytes per cycle", "GE per byte per cycle", texts=2
    )
    for name, what, kge, memory, bytes_per_cycle in designs:
        each = 1000 * kge / bytes_per_cycle
        table.add_row(name, what, f"{kge:.1f}", f"{memory:.0f}", f"{bytes_per_cycle:g}", f"{each:.0f}")
    console.print(table)
    return 0
