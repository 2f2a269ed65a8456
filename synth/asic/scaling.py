"""What an area is compared with: the clock that fits a library, the structural floor of a codec, and the paper.

The floor is the storage and multiplexers that every codec of a format needs, in flip-flops without enable or reset and
MUX2 of the library.

- Storage. Compressing, a window is held until all of it has been seen: ``window * word_bits`` bits. Decompressing, the
  header is held while its window is expanded: ``window * code_bits`` bits. Both hold one output beat, ``lanes *
  word_bits`` bits.
- A network that takes any lane to any other: ``log2(lanes)`` levels of ``lanes`` multiplexers, ``word_bits`` wide.

The paper (cDMA, HPCA 2018) gives 1.5 mm² in 28 nm for six units, one at each memory controller, and the 70 KB buffer.
An area in another library is scaled by two rules; the true one lies between.

``ideal``
    Area shrinks with the square of the feature size, rows of cells are full, and the buffer is nothing but
    its bits.
``pessimistic``
    Area shrinks with the feature size only, as if the cells' height stayed; 70 % of the rows' area is cells;
    and half of the buffer's area is bits.

A bit of the buffer is a six-transistor cell of 0.16 µm², as found in a graphics processor in a 28 nm process (AMD
Radeon HD 7970, analysed by Chipworks in 2012).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from cdma.base.cache import Cache, content_key
from cdma.base.errors import ToolError
from cdma.base.yosys import scratch
from cdma.hdl.spec.codec import BLOCKS, CodecConfig
from cdma.synth.asic.library.library import Library

from .netlist import write_library
from .paths import MeasureError
from .timing import OpenSta


@dataclass(frozen=True)
class Floor:
    """The least that a block can have: stored bits, two-input multiplexers, and the area of both."""

    bits: int
    multiplexers: int
    kge: float

    def as_json(self) -> dict[str, float]:
        return {"bits": self.bits, "multiplexers": self.multiplexers, "kge": round(self.kge, 4)}


def codec_floor(block: str, config: CodecConfig, library: Library) -> Floor:
    """Returns the floor of the ``compressor`` or ``decompressor`` of ``config``."""
    fmt, lanes = config.format, config.lanes
    if block not in BLOCKS:
        raise MeasureError(f"block is {block!r}; a structural floor is known for {' and '.join(BLOCKS)}")
    bits = fmt.held_bits(block) + config.data_bits
    multiplexers = config.data_bits * (lanes.bit_length() - 1)
    # A library without a multiplexer needs three NAND2 and an inverter, which counts as a fourth NAND2 here.
    mux_area = library.mux2.area if library.mux2 is not None else 4 * library.nand2.area
    area = bits * library.flip_flop.area + multiplexers * mux_area
    return Floor(bits, multiplexers, area / library.kge)


#: Part of every key: raise it when this module measures the same library differently.
_REVISION = 1

#: The period without a library that has delays, or without OpenSTA.
DEFAULT_PERIOD_NS = 1.0

#: The stages of a default period. With this number it is 1.0 ns on Nangate45, for which the codecs were designed.
STAGES = 26

#: The shorter and the longer chain that are timed. Their difference is free of what is peculiar to the ends.
_SHORT, _LONG = 10, 50
_PERIOD_NS = 100.0


def stage_delay(library: Library, opensta: OpenSta, cache: Cache) -> float:
    """Returns the delay of the smallest two-input NAND that drives two of its kind, in ns.

    It is the mean of rise and fall in a long chain, through the first input. Wires have the library's default load, if there
    is one.
    """
    key = content_key(str(_REVISION), "stage", str(opensta), library.digest)

    def make() -> float:
        short, long = (_chain_delay(library, opensta, stages) for stages in (_SHORT, _LONG))
        return round((long - short) / (_LONG - _SHORT), 6)

    return float(cache.kept(key, make))


def _chain_delay(library: Library, opensta: OpenSta, stages: int) -> float:
    with scratch() as folder:
        (folder / "chain.v").write_text(_chain(library, stages))
        log = opensta.run(_script(library, write_library(library, folder)), folder)
    slack = re.search(r"(-?[\d.]+)\s+slack", log)
    if slack is None:
        raise ToolError(f"OpenSTA did not time a chain of gates: {' / '.join(log.splitlines()[-3:])}")
    return _PERIOD_NS - float(slack[1]) * library.time_ns


def default_period(library: Library, opensta: OpenSta | None, cache: Cache) -> float:
    """Returns :data:`STAGES` stages of the library, to a tenth of a nanosecond and at least one tenth."""
    if opensta is None or not library.timed:
        return DEFAULT_PERIOD_NS
    return max(0.1, round(STAGES * stage_delay(library, opensta, cache), 1))


def _chain(library: Library, stages: int) -> str:
    """Verilog of so many gates in a row; each drives the next one and one more, which leads nowhere."""
    gate = library.nand2
    first, second = (pin.name for pin in gate.inputs)
    (output,) = (pin.name for pin in gate.outputs)
    lines = [f"module chain (input d, input e, output q);\n  wire [{stages}:0] n;", "  assign n[0] = d;"]
    for stage in range(stages):
        for load in range(2):
            end = f".{output}(n[{stage + 1}])" if load == 0 else f".{output}()"
            lines.append(f"  {gate.name} g{stage}_{load} (.{first}(n[{stage}]), .{second}(e), {end});")
    return "\n".join([*lines, f"  assign q = n[{stages}];\nendmodule\n"])


def _script(library: Library, names: list[str]) -> str:
    load = 2 * library.nand2.inputs[0].capacitance
    return "\n".join(
        [
            *(f"read_liberty {name}" for name in names),
            "read_verilog chain.v",
            "link_design chain",
            f"create_clock -name clock -period {_PERIOD_NS / library.time_ns}",
            f"set_driving_cell -lib_cell {library.driver.name} [get_ports {{d e}}]",
            "set_input_delay 0 -clock clock [get_ports {d e}]",
            f"set_load {load:.6g} [get_ports q]",
            "set_output_delay 0 -clock clock [get_ports q]",
            "report_checks -path_delay max -from d -to q -digits 6\n",
        ]
    )


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
