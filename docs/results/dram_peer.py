"""``axi_dma`` of verilog-axi copying within a DRAM, on the controller that ``cdma bench engine --memory NAME`` has.

    python -m docs.results.dram_peer --peer CHECKOUT --memory NAME

prints as JSON the share of the DRAM's peak rate that reads and writes of a copy of 1 MiB have together, with bursts of 32
and of 128 beats. The other half of this file is the cocotb side.
"""

from __future__ import annotations

import argparse
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge

from cdma.verif.engine.context import DESTINATION, SOURCE
from cdma.verif.engine.dram import DRAMS, controller
from cdma.verif.simulator.plan import bench_settings, leave_row, leaving_result

from .peer import BURSTS, Peer, commit, left_row

_BYTES = 1 << 20
#: Cycles in which the controller starts, with room.
_START = 1000
_TALLY = {"packets": 1, "words": 0, "checks": 1, "cycles": 0, "notes": {}}


@dataclass(frozen=True)
class DramPeer(Peer):
    """The peer with the controller of a DRAM at its port."""

    memory: str = "ddr3"

    def verilog(self, top: str, *, loop: bool = True) -> tuple[str, list[str]]:
        """The peer and the controller inside a module ``top``, which reads and writes the same memory."""
        text, ports = super().verilog(top, loop=loop)
        behind = controller(self.memory)
        before, found = text.split(f"module {top} #(")
        parameters, declared, rest = re.fullmatch(r"(.*?)\) \(([^()]*)\);\n(.*)", found, re.DOTALL).groups()  # type: ignore[union-attr]
        outer = [each for each in declared.split(", ") if "m_axi_" not in each]
        inner = [
            re.sub("input|output", "", each, count=1) for each in declared.split(", ") if "m_axi_" in each
        ]
        nets = {each.split()[-1] for each in inner}
        name, pins = re.search(r"^module (\w+) \((.*?)\);", behind, re.DOTALL | re.MULTILINE).groups()  # type: ignore[union-attr]
        joined = {"sys_clk": "aclk", "sys_rst": "!aresetn"}
        for pin in re.findall(r"\b((?:aw|w|b|ar|r)_\w+)", pins):
            net = f"m_axi_{re.sub('_(payload_|param_)?', '', pin, count=1)}"
            if net in nets:
                joined[pin] = net
        instance = f"{name} dram ({', '.join(f'.{pin}({net})' for pin, net in joined.items())});\n"
        around = f"module {top} #({parameters}) ({', '.join(outer)});\n{'; '.join(inner)};\n{instance}{rest}"
        return before + around + behind, [port for port in ports if port not in nets]

    def _parameters(self) -> dict[str, int]:
        return super()._parameters() | {"AXI_DATA_WIDTH": DRAMS[self.memory].port_bits}


def share(peer: DramPeer) -> float:
    """The share of the DRAM's peak rate that a copy has."""
    beat = DRAMS[peer.memory].port_bits // 8
    return float(left_row(peer, "peer_on_dram", "dram_peer", bytes=_BYTES, beat=beat)["share"])


@cocotb.test()
async def measure(dut: Any) -> None:
    """Copies one tensor; the cycles from its descriptors to the status behind its last byte."""
    with leaving_result("measure", lambda: _TALLY, repr):
        length, beat = bench_settings()["bytes"], bench_settings()["beat"]
        cocotb.start_soon(Clock(dut.aclk, 10, "ns").start())
        dut.aresetn.value = 0
        waiting = {"read": SOURCE, "write": DESTINATION}
        for direction, address in waiting.items():
            for name, value in (("addr", address), ("len", length), ("tag", 0), ("valid", 0)):
                _pin(dut, direction, name).value = value
        await ClockCycles(dut.aclk, 8)
        dut.aresetn.value = 1
        await ClockCycles(dut.aclk, _START)
        for direction in waiting:
            _pin(dut, direction, "valid").value = 1
        for cycle in range(16 * length // beat):
            await RisingEdge(dut.aclk)
            for direction in [each for each in waiting if int(_pin(dut, each, "ready").value)]:
                _pin(dut, direction, "valid").value = 0
                del waiting[direction]
            if int(dut.m_axis_write_desc_status_valid.value):
                leave_row({"share": round(2 * length / beat / cycle, 4)})
                return
        raise AssertionError("the copy did not end")


def _pin(dut: Any, direction: str, name: str) -> Any:
    return getattr(dut, f"s_axis_{direction}_desc_{name}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m docs.results.dram_peer", description=__doc__)
    parser.add_argument("--peer", type=Path, required=True, metavar="CHECKOUT")
    parser.add_argument("--memory", choices=DRAMS, required=True)
    arguments = parser.parse_args()
    shares = [share(DramPeer(arguments.peer, burst=burst, memory=arguments.memory)) for burst in BURSTS]
    tools = {"verilog-axi": commit(arguments.peer)}
    print(json.dumps({"shares": shares, "tools": tools}))


if __name__ == "__main__":
    main()
