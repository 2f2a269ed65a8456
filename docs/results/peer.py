"""A copying engine beside this one: ``axi_dma`` of verilog-axi, measured like it.

    python -m docs.results.peer --peer CHECKOUT --liberty FILE [--unaligned]

prints as JSON what it takes of an ECP5-85F with three seeds on two speed grades, its area and clock on the library, sized
for 1 ns, and, unless ``--unaligned``, how busy it keeps its port when it copies 1 MiB with bursts of 32 and of 128 beats.
Nothing of the peer is here: its files are read when it is measured.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cdma.base.errors import CdmaError
from cdma.synth.asic.library.liberty import load_libraries
from cdma.synth.asic.measure import measure
from cdma.synth.asic.paths import Circuit
from cdma.synth.asic.recipe import Options
from cdma.synth.fpga.measure import measure_fpga
from cdma.synth.fpga.routing import TARGETS
from cdma.verif.simulator.build import build
from cdma.verif.simulator.simulate import simulate

BURSTS = (32, 128)
_BYTES = 1 << 20
_SEEDS = range(1, 4)
_FILES = ("axi_dma.v", "axi_dma_rd.v", "axi_dma_wr.v")
_PORT = re.compile(r"^ *((?:input|output) +wire +(?:\[[^\]]*\])?) *(\w+)", re.MULTILINE)
#: What this engine has no counterpart of is tied off or left open.
_TIED = {
    r"clk": "aclk",
    r"rst": "~aresetn",
    r"(read|write)_enable": "1'b1",
    r"write_abort|.*read_desc_(id|dest|user)|.*write_data_t(id|dest|user)": "'d0",
    r".*status_(len|id|dest|user)|.*_a[rw](lock|cache|prot)|.*read_data_t(id|dest|user)": "",
}


@dataclass(frozen=True)
class Peer:
    """``axi_dma`` in the checkout ``folder`` with the ports of this engine.

    ``unaligned``: Its option for addresses at any byte.
    ``burst``: Beats of its longest burst.
    """

    folder: Path
    unaligned: bool = False
    burst: int = BURSTS[0]

    def verilog(self, top: str, *, loop: bool = False) -> tuple[str, list[str]]:
        """The peer inside a module ``top``, and the ports of that; in a ``loop`` what it reads is what it writes."""
        text = "".join(map(self._read, _FILES))
        header = re.search(r"module axi_dma #\s*\((.*?)\n\)\s*\((.*?)\n\);", text, re.DOTALL)
        if header is None:
            raise CdmaError(f"{self.folder / 'rtl' / _FILES[0]} declares no module axi_dma with parameters")
        parameters, ports = header.groups()
        for name, value in self._parameters().items():
            parameters = re.sub(rf"parameter {name} = \w+", f"parameter {name} = {value}", parameters)
        names = re.findall(r"parameter (\w+) =", parameters)
        listed, wires = {"aclk": "input wire", "aresetn": "input wire"}, {}
        joined = dict(zip(names, names, strict=True)), {}
        for kind, name in _PORT.findall(ports):
            tied = next((value for pattern, value in _TIED.items() if re.fullmatch(pattern, name)), None)
            if tied is None and loop and "_data_t" in name:
                tied = name.rpartition("_")[2]
                wires[tied] = kind.replace("input", "").replace("output", "")
            elif tied is None:
                listed[name], tied = kind, name
            joined[1][name] = tied
        given, connected = (", ".join(f".{name}({value})" for name, value in each.items()) for each in joined)
        declared = ", ".join(f"{kind} {name}" for name, kind in listed.items())
        between = "".join(f"{kind} {name};\n" for name, kind in wires.items())
        wrapper = f"module {top} #({parameters}) ({declared});\n{between}axi_dma #({given}) dma ({connected});\nendmodule\n"
        # Yosys takes the index of a loop for a latch otherwise.
        return text.replace("\nmodule ", "\n(* nolatches *)\nmodule ") + "\n" + wrapper, list(listed)

    def _parameters(self) -> dict[str, int]:
        """What the wrapper sets; all else is the peer's default."""
        return {
            "AXI_DATA_WIDTH": 256,
            "AXI_ADDR_WIDTH": 64,
            "AXI_ID_WIDTH": 1,
            "AXI_MAX_BURST_LEN": self.burst,
            "AXIS_USER_ENABLE": 0,
            "LEN_WIDTH": 32,
            "TAG_WIDTH": 8,
            "ENABLE_UNALIGNED": int(self.unaligned),
        }

    def _read(self, name: str) -> str:
        path = self.folder / "rtl" / name
        try:
            return path.read_text()
        except OSError as error:
            raise CdmaError(
                f"cannot read {path}: {error.strerror}; --peer takes a checkout of verilog-axi"
            ) from None


def utilisation(peer: Peer) -> float:
    """The share of the cycles in which its port moves data both ways, copying 1 MiB."""
    return float(left_row(peer, "peer_loop", "peer_bench", bytes=_BYTES)["utilisation"])


def left_row(peer: Peer, top: str, bench: str, **settings: object) -> Any:
    """The row that a bench beside this file leaves of a peer in a loop."""
    verilog, ports = peer.verilog(top, loop=True)
    executable = build(verilog, top, ports)
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "rows.jsonl"
        settings["rows"] = str(rows)
        (outcome,) = simulate(executable, top, f"docs.results.{bench}", ["measure"], settings)
        if outcome.failure is not None:
            raise CdmaError(f"the bench of the peer failed: {outcome.failure}")
        return json.loads(rows.read_text())


def commit(checkout: Path) -> str:
    """The commit of the peer."""
    command = ["git", "-C", str(checkout), "rev-parse", "--short=7", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def measured(checkout: Path, liberty: Path, unaligned: bool) -> dict[str, Any]:
    """All figures, by the names that ``cdma area`` and ``cdma fpga`` have for them."""
    top = "peer_axi_dma"
    circuit = Circuit(top, {}, top, Peer(checkout, unaligned).verilog(top)[0])
    routed = measure_fpga(circuit, TARGETS["ecp5"], device="85k", seeds=_SEEDS)
    area = measure(circuit, load_libraries([liberty]), Options(1.0))
    used = None if unaligned else [utilisation(Peer(checkout, burst=burst)) for burst in BURSTS]
    tools = routed.tools | area.tools | {"verilog-axi": commit(checkout)}
    return {
        **routed.as_json(),
        "kge": area.plain.kge,
        "memory_bits": area.plain.memory_bits,
        "period_ns": area.plain.period_ns,
        "utilisation": used,
        "tools": tools,
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m docs.results.peer", description=__doc__)
    parser.add_argument("--peer", type=Path, required=True, metavar="CHECKOUT")
    parser.add_argument("--liberty", type=Path, required=True, metavar="FILE")
    parser.add_argument("--unaligned", action="store_true", help="addresses at any byte")
    arguments = parser.parse_args()
    print(json.dumps(measured(arguments.peer, arguments.liberty, arguments.unaligned)))


if __name__ == "__main__":
    main()
