"""Measured areas beside the paper's, at the paper's feature size, and beside the nearest open designs.

The paper (cDMA, HPCA 2018) gives 1.5 mm² in 28 nm for all of it: six units, one at each memory controller, and the
70 KB buffer. A figure that was measured with another library has to be scaled, which needs assumptions. So there are
two rules, one as good as scaling can be and one worse than it is; the true area lies between.

``ideal``
    Area shrinks with the square of the feature size, rows of cells are full, and the buffer is nothing but
    its bits.
``pessimistic``
    Area shrinks with the feature size only, as if the cells' height stayed; 70 % of the rows' area is cells;
    and half of the buffer's area is bits.

A bit of the buffer is a six-transistor cell of 0.16 µm², as found in a graphics processor in a 28 nm process
(AMD Radeon HD 7970, analysed by Chipworks in 2012).
"""

from __future__ import annotations

from dataclasses import dataclass

from cdma.synth.errors import MeasureError

__all__ = [
    "PAPER_MM2",
    "PEERS",
    "RULES",
    "Peer",
    "Rule",
    "ScaledArea",
    "check_feature_size",
    "scale_to_paper",
    "scaled",
]

PAPER_MM2 = 1.5
PAPER_NM = 28.0
UNITS = 6
BUFFER_BYTES = 70 * 1024
_SRAM_BIT_UM2 = 0.16


@dataclass(frozen=True)
class Rule:
    """How an area is scaled: the exponent of the feature size, and the parts of the area that are cells and bits."""

    name: str
    exponent: float
    row_use: float
    buffer_use: float


RULES = (Rule("ideal", 2.0, 1.0, 1.0), Rule("pessimistic", 1.0, 0.7, 0.5))


@dataclass(frozen=True)
class ScaledArea:
    """Six units and the buffer at the paper's feature size, in mm²."""

    rule: Rule
    units_mm2: float
    buffer_mm2: float

    @property
    def total_mm2(self) -> float:
        return self.units_mm2 + self.buffer_mm2

    @property
    def of_paper(self) -> float:
        return self.total_mm2 / PAPER_MM2

    def as_json(self) -> dict[str, float | str]:
        return {
            "rule": self.rule.name,
            "units_mm2": round(self.units_mm2, 4),
            "buffer_mm2": round(self.buffer_mm2, 4),
            "total_mm2": round(self.total_mm2, 4),
            "of_paper": round(self.of_paper, 4),
        }


def check_feature_size(feature_nm: float) -> None:
    """Refuses a feature size that no process has."""
    if not 3 <= feature_nm <= 1000:
        raise MeasureError(f"the library's feature size is {feature_nm!r} nm; it must be from 3 to 1000")


def scaled(rule: Rule, logic_um2: float, feature_nm: float, memory_bits: int) -> float:
    """The mm² at the paper's feature size of logic that takes ``logic_um2`` at ``feature_nm``, and of bits of memory."""
    logic = logic_um2 * (PAPER_NM / feature_nm) ** rule.exponent / rule.row_use
    return (logic + memory_bits * _SRAM_BIT_UM2 / rule.buffer_use) / 1e6


def scale_to_paper(unit_um2: float, feature_nm: float) -> list[ScaledArea]:
    """Scales a compressor with its decompressor, which take ``unit_um2`` at ``feature_nm``, by each rule."""
    check_feature_size(feature_nm)
    return [
        ScaledArea(
            rule,
            scaled(rule, UNITS * unit_um2, feature_nm, 0),
            scaled(rule, 0.0, feature_nm, 8 * BUFFER_BYTES),
        )
        for rule in RULES
    ]


@dataclass(frozen=True)
class Peer:
    """An open design on Nangate45 typical.

    ``axi_dma`` was synthesised by this project's recipe (verilog-axi, commit 516bd5d); the SystemVerilog of
    stream-ebpc, which this Yosys does not read, elsewhere by the plain script of Yosys and ABC.
    """

    name: str
    what: str
    kge: float
    memory_kbit: float
    bytes_per_cycle: float


PEERS = (
    Peer("stream-ebpc", "encoder", 3.7, 0, 1),
    Peer("stream-ebpc", "decoder", 4.0, 0, 1),
    Peer("verilog-axi", "axi_dma, 512 bits", 7.9, 38, 64),
)
