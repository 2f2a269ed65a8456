"""``cdma area --compare``: a unit beside the paper's figure and beside open designs."""

from __future__ import annotations

import argparse

from cdma.base.document import Part, Table
from cdma.base.errors import ParameterError
from cdma.base.yosys import find_yosys
from cdma.hdl.spec.codec import BLOCKS
from cdma.options import cache_from, codec_config_from
from cdma.output import status
from cdma.result import Result
from cdma.synth.asic.measure import Measurement, measure_block
from cdma.synth.asic.scaling import PAPER_MM2, PEERS, check_feature_size, scale_to_paper

from . import request

__all__ = ["run"]


def run(arguments: argparse.Namespace) -> Result:
    """Measures compressor and decompressor; both comparisons."""
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
