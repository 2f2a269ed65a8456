"""What the block is, its clocks, its ports and its interfaces: what generating it shows."""

from __future__ import annotations

from collections import Counter

from cdma.hdl.deliver.buses import CLOCK, RESET, STANDARDS, Bus, buses_of, clocking, role_of
from cdma.hdl.deliver.document import Bullets, Paragraph, Table

from .line import Line
from .subject import Subject

__all__ = ["clocks", "interfaces", "parameters", "ports", "protocol", "resets", "verilog", "what"]


def what(subject: Subject) -> Line:
    """The kind of block, and what it does with its parameters."""
    block = subject.made.block
    facts = Table(("figure", "value"), list(block.facts.items()))
    article = "an" if block.title[0] in "aeiou" else "a"
    answer = f"`{block.name}`, {article} {block.title}, made by cdma {block.version}."
    return subject.shown("what", "What it is", [subject.command("generate")], answer, facts)


def verilog(subject: Subject) -> Line:
    """The text that everything here is about."""
    block = subject.made.block
    text = block.design.text
    answer = (
        f"`{block.name}.v`: {text.count(chr(10)):,} lines of Verilog-2005 (IEEE 1364) in {text.count('endmodule')} modules; "
        f"initial values: {block.parameters['initial values']}."
    )
    other = f"{block.name}.v in this folder is not the Verilog that this is about"
    return subject.shown(
        "verilog",
        "The Verilog",
        [subject.command("generate")],
        answer,
        Paragraph(f"SHA-256 `{subject.sha256}`"),
        fails=[other] if subject.other_text else [],
        data={"file": f"{block.name}.v", "sha256": subject.sha256},
    )


def parameters(subject: Subject) -> Line:
    """All of them, those at their defaults too."""
    values = subject.made.block.parameters
    rows = [(f"`{name}`", str(value)) for name, value in values.items()]
    given = subject.design.options() or "all at their defaults"
    return subject.shown(
        "parameters",
        "Parameters",
        [subject.command("generate")],
        f"`{given}`",
        Table(("parameter", "value"), rows),
    )


def clocks(subject: Subject) -> Line:
    """How many clocks there are, and what the constraints say."""
    block = subject.made.block
    count = sum(bus.kind == CLOCK for bus in buses_of(block.ports)[0])
    answer = f"{count} clock; the constraints of the folder say {block.period:g} ns, and have no false path."
    if count > 1:
        answer = (
            f"{count} clocks; the constraints of the folder say {block.period:g} ns for each, and the longest delay of each "
            "path between them."
        )
    said = Paragraph(clocking(block.ports, "`"))
    return subject.shown("clocks", "Clocks", [subject.command("generate")], answer, said)


def resets(subject: Subject) -> Line:
    """What a reset does at any moment."""
    count = sum(bus.kind == RESET for bus in buses_of(subject.made.block.ports)[0])
    answer = f"{count} reset{'s' * (count > 1)}, synchronous and active low; it may come at any moment."
    tests = ("hard_resets", "soft_resets", "reset_in_abort", "reset", "start", "resets", "starts")
    return subject.by_verification("resets", "Resets", answer, tests=tests)


def ports(subject: Subject) -> Line:
    """Every port."""
    found = subject.made.block.ports
    rows = [(f"`{port.name}`", port.direction, str(port.width)) for port in found]
    answer = f"{len(found)} ports of {sum(port.width for port in found):,} bits in all."
    return subject.shown(
        "ports", "Ports", [subject.command("generate")], answer, Table(("port", "direction", "bits"), rows)
    )


def interfaces(subject: Subject) -> Line:
    """The buses, and by which version of which standard."""
    buses = [bus for bus in buses_of(subject.made.block.ports)[0] if bus.kind in STANDARDS]
    counts = Counter(f"{bus.kind} {role_of(bus)}" for bus in buses)
    rows = [
        (f"`{bus.name}`", STANDARDS[bus.kind], role_of(bus), *(_width(bus, name) for name in _WIDTHS))
        for bus in buses
    ]
    titles = ("interface", "standard", "role", "bits of data", "of addresses", "of IDs")
    answer = ", ".join(f"{count} {kind}{'s' if count > 1 else ''}" for kind, count in counts.items()) + "."
    return subject.shown(
        "interfaces",
        "Interfaces by version of their standard",
        [subject.command("generate")],
        answer,
        Table(titles, rows),
    )


#: Of each, signals one of which a bus may have.
_WIDTHS = (("tdata", "wdata"), ("awaddr",), ("awid",))


def _width(bus: Bus, names: tuple[str, ...]) -> str:
    return next((str(bus.signals[name].width) for name in names if name in bus.signals), "")


def protocol(subject: Subject) -> Line:
    """The rules that each port is held to in each cycle of each test."""
    if not subject.is_engine:
        answer = (
            "The rules of AXI4-Stream and of packets are checked at every port in every cycle of every test."
        )
        return subject.by_verification("protocol", "Rules of the interfaces", answer)
    from cdma.verif.engine.rule_book import REGISTERS, broken_rules

    memory, registers = (broken_rules(port, -1) for port in ("host", REGISTERS))
    answer = (
        f"{len(memory)} rules of AXI4 are checked at every memory port, and {len(registers)} of AXI4-Lite at the registers, "
        "in every cycle of every test."
    )
    return subject.by_verification(
        "protocol",
        "Rules of the interfaces",
        answer,
        Paragraph("At memory ports:"),
        Bullets(memory),
        Paragraph("At the registers:"),
        Bullets(registers),
        proofs=("axi_reader", "axi_writer", "read_arbiter", "write_arbiter", "registers_port"),
    )
