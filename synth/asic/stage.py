"""How fast the gates of a library are, and the clock period that fits them."""

from __future__ import annotations

import re

from cdma.base.cache import content_key
from cdma.base.errors import ToolError
from cdma.base.json_cache import Cache
from cdma.base.yosys import scratch
from cdma.synth.asic.library.library import Library

from .netlist import write_library
from .timing import OpenSta

__all__ = ["DEFAULT_PERIOD_NS", "STAGES", "default_period", "stage_delay"]

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
