"""The rules of AXI in a simulation: each one broken once, by a memory port and by a register port that a test drives."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from importlib.resources import files
from pathlib import Path

import pytest

from cdma.verif.engine.design import REGISTERS, broken_rules
from cdma.verif.simulator.build import build_with_main

pytestmark = [pytest.mark.verilator, pytest.mark.slow]

#: The module of each kind of port, and its parameters.
_MODULES = {
    "port": (
        "axi4_manager",
        {
            "ID_BITS": 1,
            "ADDRESS_BITS": 32,
            "DATA_BITS": 64,
            "OUTSTANDING": 4,
            "LONGEST": 16,
            "ALIGNED": 1,
            "NO_EMPTY_STROBES": 1,
            "DATA_AFTER_ADDRESS": 1,
            "MOST_OF_ID_0": 2,
            "MOST_OTHER_READS": 1,
            "MOST_OTHER_WRITES": 1,
            "UNREADY_IN_RESET": 1,
            "AT_ONCE": 1,
            "BESIDE_BITS": 4,
        },
    ),
    REGISTERS: ("axi_lite_subordinate", {"ANSWERED_WITHIN": 4, "UNREADY_IN_RESET": 1, "AT_ONCE": 1}),
}
_MAIN = """
#include "Vtop.h"
#include "verilated.h"
#include <cstdio>

int main() {
    Vtop t;
    unsigned long long value;
    unsigned broken = 0;
    while (true) {
        SET
        t.clk = 0;
        t.eval();
        broken |= t.broken;
        t.clk = 1;
        t.eval();
        printf("%u %u\\n", broken, t.idle);
    }
}
"""


@cache
def _port(kind: str) -> tuple[Path, list[str]]:
    """The rules of a port as a simulation of their own, and the signals that it reads in every cycle."""
    module, parameters = _MODULES[kind]
    text = (files("cdma.verif") / "properties" / f"{module}.sv").read_text()
    for name, value in parameters.items():
        text = re.sub(rf"(parameter {name}) = \d+", rf"\1 = {value}", text)
    signals = re.findall(r"^    input (?:\[.*?\] )?(\w+),?$", text, re.MULTILINE)
    signals.remove("clk")
    read = "".join(f'if (scanf("%llu", &value) != 1) return 0; t.{name} = value;\n' for name in signals)
    return build_with_main(text, module, _MAIN.replace("SET", read)), signals


def _broken(kind: str, cycles: list[dict[str, int]], *, reset: int = 0) -> tuple[list[str], bool]:
    """What is broken after some cycles, the last ones of which are in ``reset``, and whether the port is idle then."""
    program, signals = _port(kind)
    # A cycle in reset and one after it come first.
    quiet = [{"resetn": 0}, {"resetn": 0}, {"resetn": 1}]
    driven = [{"resetn": int(number < len(cycles) - reset), **cycle} for number, cycle in enumerate(cycles)]
    values = "\n".join(str(cycle.get(name, 0)) for cycle in [*quiet, *driven] for name in signals)
    done = subprocess.run([str(program)], input=values, capture_output=True, text=True, check=True)
    broken, idle = map(int, done.stdout.splitlines()[-1].split())
    return broken_rules(kind, broken), bool(idle)


_AW = {"awvalid": 1, "awready": 1, "awaddr": 0, "awlen": 1, "awsize": 3, "awburst": 1}
_AR = {"arvalid": 1, "arready": 1, "araddr": 0, "arlen": 1, "arsize": 3, "arburst": 1}
_W = {"wvalid": 1, "wready": 1, "wstrb": 0xFF}
_LAST = {**_W, "wlast": 1}
_R = {"rvalid": 1, "rready": 1}
_B = {"bvalid": 1, "bready": 1}
_ILLEGAL = "burst is of an illegal type or size or length or crosses a boundary"


@pytest.mark.parametrize(
    "cycles",
    [
        [_AW, _W, _LAST, _B],
        [{**_AR, "arready": 0}, _AR, _R, {**_R, "rlast": 1}],
        [_AR, {**_AR, **_R}, {**_R, "rlast": 1}, _R, {**_R, "rlast": 1}],
        [{**_AR, "arid": 1}, _AR, _R, {**_R, "rid": 1}, {**_R, "rlast": 1}, {**_R, "rid": 1, "rlast": 1}],
        [{**_AW, "awaddr": 4, "awsize": 2, "awlen": 0}, {**_LAST, "wstrb": 0xF0}, {**_B, "bresp": 2}],
    ],
)
def test_a_memory_port_may_do_what_is_legal(cycles: list[dict[str, int]]) -> None:
    assert _broken("port", cycles) == ([], True)


@pytest.mark.parametrize(
    ("cycles", "message"),
    [
        ([{**_AW, "awready": 0}, {}], "awvalid fell before awready"),
        ([{**_AW, "awready": 0}, {**_AW, "awaddr": 8}], "aw changed while awvalid waited for awready"),
        ([{**_AW, "awready": 0}, {**_AW, "awbeside": 2}], "aw changed while awvalid waited for awready"),
        ([{**_AR, "arready": 0}, {}], "arvalid fell before arready"),
        ([{**_AR, "arready": 0}, {**_AR, "arlen": 2}], "ar changed while arvalid waited for arready"),
        ([{**_AR, "arready": 0}, {**_AR, "arbeside": 8}], "ar changed while arvalid waited for arready"),
        ([_AW, {**_W, "wready": 0}, {}], "wvalid fell before wready"),
        ([_AW, {**_W, "wready": 0}, {**_W, "wdata": 1}], "w changed while wvalid waited for wready"),
        ([_AR, {**_R, "rready": 0}, {**_R, "rdata": 1}], "r changed or rvalid fell before rready"),
        ([_AW, _W, _LAST, {**_B, "bready": 0}, {}], "b changed or bvalid fell before bready"),
        *(
            ([{**_AW, **each}], f"a write {_ILLEGAL}")
            for each in ({"awburst": 0}, {"awburst": 2}, {"awaddr": 4})
        ),
        *(
            ([{**_AW, **each}], f"a write {_ILLEGAL}")
            for each in ({"awsize": 4}, {"awlen": 16}, {"awaddr": 4088})
        ),
        *(
            ([{**_AR, **each}], f"a read {_ILLEGAL}")
            for each in ({"arburst": 0}, {"arsize": 4}, {"arlen": 16})
        ),
        *(([{**_AR, **each}], f"a read {_ILLEGAL}") for each in ({"araddr": 4}, {"araddr": 4088})),
        ([_AR, {**_R, "rlast": 1}], "rlast is at the wrong beat"),
        ([_AR, _R, _R], "rlast is at the wrong beat"),
        ([_R], "read data answer no read"),
        ([_AR, {**_R, "rid": 1}], "read data answer no read"),
        ([_AR, {**_R, "rresp": 1}], "read data are answered EXOKAY"),
        ([_W], "write data came before their address"),
        ([{**_AW, **_W}], "write data came before their address"),
        ([_AW, {**_W, "wstrb": 0}], "a write beat has no strobe"),
        ([{**_AW, "awsize": 2}, _W], "a write beat has strobes outside its bytes"),
        ([_AW, _LAST], "wlast is at the wrong beat"),
        ([_AW, _W, _W], "wlast is at the wrong beat"),
        ([_AW, _W, _B], "a write response answers no write"),
        ([_AW, _W, _LAST, {**_B, "bid": 1}], "a write response answers no write"),
        ([_AW, _W, _LAST, {**_B, "bresp": 1}], "a write is answered EXOKAY"),
        ([_AW, _AW, _AW], "too many writes are in flight"),
        ([{**_AW, "awid": 1}, {**_AW, "awid": 1}], "too many writes are in flight"),
        ([_AR, _AR, _AR], "too many reads are in flight"),
        ([{**_AR, "arid": 1}, {**_AR, "arid": 1}], "too many reads are in flight"),
    ],
)
def test_a_memory_port_breaks_a_rule(cycles: list[dict[str, int]], message: str) -> None:
    assert message in _broken("port", cycles)[0]


@pytest.mark.parametrize("signal", ["awvalid", "wvalid", "arvalid", "bvalid", "rvalid", "rready", "bready"])
def test_a_memory_port_is_silent_in_reset(signal: str) -> None:
    broken, _ = _broken("port", [{}, {}, {signal: 1}], reset=2)
    assert [text for text in broken if signal in text and "in reset" in text]


@pytest.mark.parametrize("cycles", [[_AR], [_AW], [_AW, _W, _LAST]])
def test_a_memory_port_is_not_idle_while_anything_is_open(cycles: list[dict[str, int]]) -> None:
    assert _broken("port", cycles) == ([], False)
    assert _broken("port", [*cycles, {}, {}], reset=2) == ([], True)


_READ = {"arvalid": 1, "arready": 1, "araddr": 4}
_WRITE = {"awvalid": 1, "awready": 1, "awaddr": 8}
_DATA = {"wvalid": 1, "wready": 1, "wstrb": 15}


@pytest.mark.parametrize(
    "cycles",
    [
        [_READ, _R, _WRITE, _DATA, _B],
        [_DATA, {}, {}, {}, _WRITE, {}, _B],
        [{**_WRITE, **_DATA}, _B, _READ, {**_R, "rready": 0}, {**_R, "rresp": 0}],
        [_READ, {**_READ, **_R}, _R],
        [_READ, {}, {}, {**_R, "rresp": 2}],
    ],
)
def test_a_register_port_may_do_what_is_legal(cycles: list[dict[str, int]]) -> None:
    assert _broken(REGISTERS, cycles) == ([], True)


@pytest.mark.parametrize(
    ("cycles", "message"),
    [
        ([_READ, {**_R, "rready": 0}, {}], "rvalid fell before rready"),
        (
            [_READ, {**_R, "rready": 0}, {**_R, "rdata": 1}],
            "rdata or rresp changed while rvalid waited for rready",
        ),
        ([_WRITE, _DATA, {**_B, "bready": 0}, {}], "bvalid fell before bready"),
        (
            [_WRITE, _DATA, {**_B, "bready": 0}, {**_B, "bresp": 2}],
            "bresp changed while bvalid waited for bready",
        ),
        ([{**_READ, "arready": 0}, {**_READ, "araddr": 8}], "ar changed or arvalid fell before arready"),
        ([{**_WRITE, "awready": 0}, {}], "aw changed or awvalid fell before awready"),
        ([{**_DATA, "wready": 0}, {**_DATA, "wdata": 8}], "w changed or wvalid fell before wready"),
        ([_R], "rvalid answers no read"),
        ([{**_READ, **_R}], "rvalid answers no read"),
        ([_READ, _R, {**_R, "rready": 0}], "rvalid answers no read"),
        ([_WRITE, _B], "bvalid answers no write"),
        ([_DATA, _B], "bvalid answers no write"),
        ([_WRITE, _DATA, _B, _B], "bvalid answers no write"),
        ([_READ, {**_R, "rresp": 1}], "an answer is EXOKAY"),
        ([_READ, {}, {}, {}, {}, {}], "no rvalid although a response is due"),
        ([{**_WRITE, **_DATA}, {}, {}, {}, {}, {}], "no bvalid although a response is due"),
    ],
)
def test_a_register_port_breaks_a_rule(cycles: list[dict[str, int]], message: str) -> None:
    assert message in _broken(REGISTERS, cycles)[0]


@pytest.mark.parametrize("signal", ["awready", "wready", "arready", "bvalid", "rvalid"])
def test_a_register_port_is_silent_in_reset(signal: str) -> None:
    broken, _ = _broken(REGISTERS, [{}, {}, {signal: 1}], reset=2)
    assert [text for text in broken if signal in text and "in reset" in text]


@pytest.mark.parametrize("cycles", [[_READ], [_WRITE], [_DATA]])
def test_a_register_port_is_not_idle_while_anything_is_open(cycles: list[dict[str, int]]) -> None:
    assert _broken(REGISTERS, cycles) == ([], False)
    assert _broken(REGISTERS, [*cycles, {}, {}], reset=2) == ([], True)
