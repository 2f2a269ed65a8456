"""An engine as a design under test.

Its Verilog has the rules of AXI beside it, which a simulation evaluates in every cycle. With several clocks, their
ratios are random, all have jitter, and synchronisers see a change late if it comes just before their edge.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, NoReturn

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.options import NO_CLOCKS, has_slices, reset_of
from cdma.hdl.spec.records import RECORD_BYTES
from cdma.hdl.spec.registers.map import register_map
from cdma.verif.simulator.monitors.rules import number
from cdma.verif.simulator.plan import TestPlan
from cdma.verif.simulator.simulate import Design

#: The module of the rules of a memory port, and of the register port.
_MANAGER, _SUBORDINATE = "axi4_manager", "axi_lite_subordinate"
#: Names the register port.
REGISTERS = "registers"
#: Begins the names of all signals of the rules: ``broken`` is high before an edge at which any is broken, and the others are
#: those of the single ports.
PREFIX = "axi_rules_"
#: A signal that wakes the bench: it belongs to nothing in the design.
WAKE = "bench_wake"
_CHANNELS = ("aw", "w", "b", "ar", "r")
#: What a simulation shows of each port.
_SHOWN = {"broken": 32, "passed": 10, "idle": 1}
#: Cycles within which a register answers.
_PATIENCE = 64

_RULE = re.compile(r'`\w+\((?P<number>\d+), "(?P<text>[^"]+)"')


class AxiViolation(AssertionError):
    """A broken rule, and the port."""


@cache
def _rules(module: str) -> Mapping[int, str]:
    return {int(rule["number"]): rule["text"] for rule in _RULE.finditer(_text(module))}


def broken_rules(port: str, broken: int) -> list[str]:
    """The rules for the bits that a port shows as broken."""
    rules = _rules(_SUBORDINATE if port == REGISTERS else _MANAGER)
    return [text for number, text in rules.items() if broken >> number & 1]


@cache
def _text(module: str) -> str:
    return (files("cdma.verif") / "properties" / f"{module}.sv").read_text()


def with_rules(verilog: str, design: Design) -> str:
    """The text of an engine with the rules on its ports, inside its top module; waves and coverage leave them out."""
    config: EngineConfig = design.config
    found = [_instance(port, f"m_axi_{port}", design, _of_memory(port, config)) for port in config.dev_ports]
    found.append(_instance("host", "m_axi_host", design, _of_memory("host", config)))
    names = [*config.dev_ports, "host"]
    if config.registers:
        found.append(_instance(REGISTERS, "s_axil", design, _of_registers(config)))
        names.append(REGISTERS)
    any_broken = ", ".join(f"{PREFIX}{name}_broken" for name in names)
    lines = [
        "/*verilator coverage_off*/ /*verilator tracing_off*/",
        *found,
        f"wire {PREFIX}broken /*verilator public_flat_rd*/ = |{{{any_broken}}};",
        f"reg {WAKE} /*verilator public_flat_rw*/ = 1'b0;",
        "/*verilator tracing_on*/ /*verilator coverage_on*/",
    ]
    watched, count = re.subn(
        rf"(^module {design.top}\b.*?)(^endmodule$)",
        # On one line, so that the lines of the design keep their numbers, by which coverage is counted.
        lambda module: module[1].removesuffix("\n") + " ".join(lines) + "\n" + module[2],
        verilog,
        flags=re.MULTILINE | re.DOTALL,
    )
    assert count == 1, f"there are {count} modules {design.top}"
    books = "\n".join(map(_text, (_MANAGER, _SUBORDINATE)))
    return f"{watched}\n/*verilator coverage_off*/ /*verilator tracing_off*/\n{books}"


def _of_memory(port: str, config: EngineConfig) -> dict[str, int]:
    kind = "host" if port == "host" else "dev"
    bits = config.data_bits(kind)
    others = max(config.ring_reads, config.list_reads) // 2
    # Other IDs of a device port are bases.
    if port != "host" and config.delta:
        others = config.outstanding
    return {
        "OUTSTANDING": config.most_open(kind),
        "LONGEST": max(config.burst(kind), RECORD_BYTES * 8 // bits),
        "ALIGNED": 1,
        # A crossing finishes without strobes what a reset of the core has left.
        "NO_EMPTY_STROBES": int(port != "host" or not config.domains.host_crosses),
        "DATA_AFTER_ADDRESS": 1,
        # The data of both channels share no port in one direction; each ring has a half of what rings have.
        "MOST_OF_ID_0": config.outstanding,
        "MOST_OTHER_READS": others,
        "MOST_OTHER_WRITES": config.ring_writes // 2,
        **_in_reset(config),
    }


def _of_registers(config: EngineConfig) -> dict[str, int]:
    slices = sum(has_slices(config.register_slices, direction) for direction in ("in", "out"))
    # A slice takes a request while the registers' words get their reset values, one per cycle.
    more = config.channels * len(register_map(config).kept) + slices if slices else 0
    # The bus may have a much faster clock than what is behind a crossing.
    pace = 16 if config.domains.registers_cross else 1
    return {"OUTSTANDING": 8, "ANSWERED_WITHIN": pace * (_PATIENCE + 1 + more), **_in_reset(config)}


def _in_reset(config: EngineConfig) -> dict[str, int]:
    # With register slices, outputs fall at the first edge in reset, and not before it.
    return {"UNREADY_IN_RESET": 1, "AT_ONCE": int(config.register_slices == "none")}


def _instance(name: str, prefix: str, design: Design, parameters: dict[str, int]) -> str:
    """The Verilog of the rules on one port, and of what they show."""
    own = [port for port in design.ports if port.name.startswith(f"{prefix}_") and not port.times]
    bus = {port.name.removeprefix(f"{prefix}_"): port for port in own}
    module = _SUBORDINATE if name == REGISTERS else _MANAGER
    parameters |= {"ADDRESS_BITS": bus["awaddr"].width, "DATA_BITS": bus["wdata"].width}
    connected = {member: port.name for member, port in bus.items()}
    if module == _MANAGER:
        known = set(re.findall(r"^    input .*?(\w+),?$", _text(module), re.MULTILINE))
        parameters["ID_BITS"] = bus["awid"].width
        for way in ("aw", "ar"):
            sideband = [bus[each] for each in bus if each.startswith(way) and each not in known]
            parameters["BESIDE_BITS"] = sum(port.width for port in sideband)
            connected[f"{way}beside"] = f"{{{', '.join(port.name for port in sideband)}}}"
        connected = {member: value for member, value in connected.items() if member in known}
    mine = f"{PREFIX}{name}"
    idle = " && ".join([f"{mine}_nothing_open", *(f"!{prefix}_{channel}valid" for channel in _CHANNELS)])
    return " ".join(
        [
            f"wire [31:0] {mine}_broken /*verilator public_flat_rd*/;",
            f"wire [9:0] {mine}_passed /*verilator public_flat_rd*/;",
            f"wire {mine}_nothing_open;",
            f"wire {mine}_idle /*verilator public_flat_rd*/ = {idle};",
            f"{module} #({', '.join(f'.{key}({value})' for key, value in parameters.items())}) {mine} (",
            f".clk({own[0].clock}), .resetn({reset_of(own[0].clock)}),",
            *(f".{member}({value})," for member, value in connected.items()),
            f".idle({mine}_nothing_open), .broken({mine}_broken), .passed({mine}_passed)",
            ");",
        ]
    )


class RuleBook:
    """The rules in a simulation, as a bench in Python sees them.

    ``any_broken``, ``wake``: Signals that are high while any rule is broken, and that wake the bench.
    """

    def __init__(self, dut: Any, config: EngineConfig) -> None:
        # A simulation with four states has a module around the design.
        scope = dut if hasattr(dut, f"{PREFIX}broken") else dut.dut
        self.ports = (*config.dev_ports, "host", *([REGISTERS] if config.registers else []))
        self.any_broken, self.wake = getattr(scope, f"{PREFIX}broken"), getattr(scope, WAKE)
        self._shown = {
            (port, what): number(getattr(scope, f"{PREFIX}{port}_{what}"))
            for port in self.ports
            for what in _SHOWN
        }

    def _show(self, port: str, what: str) -> int:
        return self._shown[port, what]()

    def object(self) -> NoReturn:
        """Raises :class:`AxiViolation` with the rules that are broken at this rising edge."""
        found = [
            f"{port}: {text}"
            for port in self.ports
            for text in broken_rules(port, self._show(port, "broken"))
        ]
        raise AxiViolation("; ".join(found))

    def busy(self) -> list[str]:
        """The ports with an open transaction, or with anything that is offered."""
        return [port for port in self.ports if not self._show(port, "idle")]

    def finish(self, *, but: str | None = None) -> None:
        """Objects to a busy port, ``but`` one that software still uses."""
        if busy := [port for port in self.busy() if port != but]:
            raise AxiViolation(f"accesses are still open on {', '.join(busy)}")

    def handshakes(self) -> Iterator[tuple[str, str, bool]]:
        """The port, the channel, and whether it waited, of each kind of transfer that has happened."""
        for port in self.ports:
            passed = self._show(port, "passed")
            for place in range(2 * len(_CHANNELS)):
                if passed >> place & 1:
                    yield port, _CHANNELS[place // 2], bool(place & 1)


#: Periods of other clocks than the core's, beside its period of 10 ns.
_PERIODS_NS = (4, 7, 9, 10, 11, 13, 23)
#: The part of half a period that jitter adds at most.
_JITTER = 0.2


def _clocks(config: EngineConfig) -> tuple[str, ...]:
    domains = config.domains
    used = (domains.core, domains.host, *([domains.registers] if config.registers else []))
    return tuple(dict.fromkeys(used))


def clock_periods(config: EngineConfig, rng: random.Random) -> dict[str, tuple[int, int]]:
    """Half a period of each clock and its jitter in steps of the simulation; the core's is the first."""
    # Only in a simulation.
    from cocotb.utils import get_sim_steps

    from .edges import PERIOD_NS

    core, *others = _clocks(config)
    half = get_sim_steps(PERIOD_NS, "ns") // 2
    periods = {core: (half, 0)}
    for clock in others:
        half = get_sim_steps(rng.choice(_PERIODS_NS), "ns") // 2
        periods[clock] = half, int(half * _JITTER)
    return periods


def resets_of(dut: Any, config: EngineConfig) -> list[Any]:
    return [getattr(dut, reset_of(clock)) for clock in _clocks(config)]


#: A synchroniser in the text of a design.
_CELL = re.compile(r"^// Source: \S*, Synchroniser$.*?^endmodule$", re.MULTILINE | re.DOTALL)
#: What it becomes: a change in the last nanosecond before the edge is seen now or later, each bit by itself.
_LATE = """\
  reg {span}now = 0, old = 0;
  time changed = 0;
  always @(input_) begin
    old = now;
    now = input_;
    changed = $time;
  end
  reg {span}late;
"""


def with_late_flops(verilog: str) -> str:
    """The text of a design whose synchronisers see a change just before their edge now or an edge later."""

    def late(cell: re.Match[str]) -> str:
        span = re.search(r"input  wire (\[.*?\] )?input_", cell[0])
        assert span is not None
        body = cell[0].replace(");\n", ");\n" + _LATE.format(span=span[1] or ""), 1)
        return body.replace(
            "first <= input_;",
            "late = $time - changed < 1000 ? $urandom : 0; first <= (old & late) | (input_ & ~late);",
        )

    text, cells = _CELL.subn(late, verilog)
    assert cells, "the design has no synchroniser"
    return text


#: What the tests run on by default: ports of different widths, and small queues that fill up.
SMALL = EngineConfig(
    format=Format(word_bits=16, code_bits=2, values=(0,)),
    lanes=4,
    dev_data_bits=64,
    host_data_bits=128,
    dev_address_bits=40,
    host_address_bits=48,
    burst_beats=8,
    outstanding=4,
    latency=32,
    descriptors=4,
    ring_entries=64,
)


@dataclass(frozen=True)
class EngineDesign(Design):
    """An engine as ``cdma generate engine`` writes it."""

    config: EngineConfig = SMALL
    init: bool = True
    block: str = "engine"

    @property
    def summary(self) -> str:
        config = self.config
        ports = f"dev {config.dev_data_bits}, host {config.host_data_bits} bits"
        control = "registers" if config.registers else "streams"
        return f"{ports}, {control}, codecs {config.codec.summary()}"

    def watched(self, verilog: str) -> str:
        text = with_rules(verilog, self)
        return text if self.config.clocks == NO_CLOCKS else with_late_flops(text)


ENGINE_PLAN = TestPlan(
    package="cdma.verif.engine.tests",
    names=(
        *("transfers", "limits", "owners", "errors", "stops", "shapes", "pages", "deltas", "rings"),
        *("registers", "quiescence", "messages", "pairs"),
    ),
    unit="transfers",
    budget=1000,
)
