"""What is not known: what this intake left out, known limits, and what has never been tried. What the block does on its
buses: order, transactions in flight, bursts, alignment, errors, security. What the block is, its clocks, its ports
and its interfaces: what generating it shows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from cdma.base.document import Bullets, Paragraph, Part, Table
from cdma.hdl.deliver.wrappers import CLOCK, RESET, STANDARDS, Bus, buses_of, clocking, role_of
from cdma.hdl.spec.codec import BLOCKS
from cdma.hdl.spec.stage import STAGES

from .record import cited, quoted
from .subject import NOT_SHOWN, Line, Subject


def limits(subject: Subject) -> Line:
    """What neither proofs nor tests say anything of."""
    answer = "What no proof, no test and no campaign of the project says anything of, by its own account."
    parts = cited("docs/verification.md", "What is not checked")
    return Line("limits", "Known limits", ["cdma prove --list"], answer, parts, nearest=True)


def never_tried(subject: Subject) -> Line:
    """No chip, no board, no tool of a vendor."""
    said = [
        *cited("README.md", "cDMA", "Status."),
        *cited("SECURITY.md", "What is not", "No design"),
        *cited("docs/integration.md", "The folder", "The constraints"),
    ]
    nearest = [subject.command("verify", "--netlist gates")]
    if subject.block not in STAGES:
        nearest.append(subject.command("fpga", "--target ecp5"))
    answer = "No silicon, no FPGA board, no tool of a vendor."
    return Line("never-tried", "Never tried", nearest, answer, said, nearest=True)


def verdict(subject: Subject, own: Sequence[Line], others: Sequence[Line]) -> Line:
    """What does not hold, and what was not done or not reached: of the certificate's ``own`` lines, and of all others."""
    every = [*others, *own]
    fails = [sentence for line in own for sentence in line.fails]
    fails += [f"{line.title}: {sentence}" for line in others for sentence in line.fails]
    left = [f"{line.title}: not shown" for line in every if line.status == NOT_SHOWN]
    left += [sentence for line in every for sentence in line.open]
    parts: list[Part] = [Paragraph("Not done, or not shown:"), Bullets(left)]
    commands, title = [subject.command("intake", "--run all")], "Verdict"
    if not fails and all(line.status == NOT_SHOWN for line in own):
        return Line("verdict", title, commands, "Nothing was tried.", parts)
    shown = sum(line.status != NOT_SHOWN for line in own)
    holds = "Everything that was tried holds"
    if shown < len(own):
        holds += f": {shown} of {len(own)} lines of the certificate; {len(own) - shown} were not tried"
    answer = "Something does not hold." if fails else f"{holds}."
    return subject.shown("verdict", title, commands, answer, *parts, fails=fails)


_GUIDE, _RULES = "docs/engine.md", "docs/integration.md"


def ordering(subject: Subject) -> Line:
    """In which order things come, and with which IDs."""
    title = "Ordering and IDs"
    if not subject.is_engine:
        answer = "Streams have no IDs. A packet goes out for each packet that comes in, in the same order."
        rules = cited(_RULES, "Rules", "Packing.", "Lengths.", "Reports") if subject.is_codec else []
        proofs = (f"{subject.block}_any_stream",) if subject.is_codec else ()
        return subject.by_verification("ordering", title, answer, *rules, proofs=proofs)
    rows = [row for row in quoted(_GUIDE, "Ports")[0].rows if "ID" in row[1]]  # type: ignore[union-attr]
    said = [Paragraph(f"{name}: {meaning}.") for name, meaning in rows]
    answer = "Completions come in the order of the descriptors; data and the rings have IDs of their own."
    order = cited(_GUIDE, "Descriptors and completions", "Completions come in")
    tests = ("soak", "ring_wrap", "registers")
    return subject.by_verification(
        "ordering", title, answer, *said, *order, tests=tests, proofs=("slots", "completer", "rings")
    )


def outstanding(subject: Subject) -> Line | None:
    """How much may be in flight."""
    if not subject.is_engine:
        return None
    config: Any = subject.design.config
    answer = (
        f"At most {config.outstanding} bursts of data at each port each way; at the host port the rings add "
        f"{config.ring_reads} reads and {config.ring_writes} writes of 64 bytes. {config.descriptors} descriptors a channel."
    )
    return subject.by_verification(
        "outstanding", "Transactions in flight", answer, proofs=("axi_reader", "axi_writer")
    )


def boundaries(subject: Subject) -> Line | None:
    """How long bursts are, and that none crosses 4 KiB."""
    if not subject.is_engine:
        return None
    config: Any = subject.design.config
    sizes = ", ".join(
        f"{config.burst(end)} beats = {config.burst(end) * config.data_bits(end) // 8:,} bytes at the {name} port"
        for end, name in (("dev", "device"), ("host", "host"))
    )
    answer = f"No burst crosses 4 KiB. The longest have {sizes}."
    return subject.by_verification("4kib", "Bursts and 4 KiB", answer, proofs=("axi_reader", "axi_writer"))


def narrow(subject: Subject) -> Line | None:
    """What is asked of addresses, and whether beats are ever narrow."""
    if not subject.is_engine:
        return None
    config: Any = subject.design.config
    answer = (
        "Every burst has whole beats of its port and begins at one: there are no narrow transfers. Strobes say which bytes "
        f"are meant. Sources and destinations are multiples of {config.align('dev')} bytes at the device port and of "
        f"{config.align('host')} at the host port."
    )
    said = cited(_GUIDE, "Descriptors and completions", "Alignment", "Length")
    tests = ("lengths", "refusals", "capacity")
    return subject.by_verification(
        "narrow", "Narrow and unaligned transfers", answer, *said, tests=tests, proofs=("checker_decides",)
    )


#: What a block does with what is wrong: the answer, where the documents say more, and the tests.
_ERRORS: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "engine": (
        "Each error is reported once, in the completion of its descriptor, in order. The first cause in this table counts.",
        (_GUIDE, "Errors"),
        (
            *("refusals", "windows", "bus_errors", "corrupt", "causes", "capacity", "aborts", "watchdog"),
            *("ring_errors",),
        ),
    ),
    **dict.fromkeys(
        BLOCKS,
        (
            "A malformed beat or a corrupt packet ends in a report with the error; the next packet is not affected.",
            (_RULES, "Rules", "A malformed beat", "A corrupt packet", "Reports"),
            ("malformed", "corrupt", "soak"),
        ),
    ),
}


def errors(subject: Subject) -> Line:
    """What comes of errors."""
    if subject.block not in _ERRORS:
        answer = "Numbers out of range are counted in the report of their packet; a malformed beat harms no other one."
        return subject.by_verification(
            "errors", "Error behaviour", answer, tests=("beyond", "special", "holes")
        )
    answer, place, tests = _ERRORS[subject.block]
    proofs = ("checker_decides", "completer") if subject.is_engine else (f"{subject.block}_any_stream",)
    return subject.by_verification(
        "errors", "Error behaviour", answer, *cited(*place), tests=tests, proofs=proofs
    )


def security(subject: Subject) -> Line:
    """What whoever attacks it can and cannot do."""
    answer = "What is held against hostile data and software, and what is left to the system."
    said = [*cited("SECURITY.md", "What is checked"), *cited("SECURITY.md", "What is not")]
    tests = ("windows", "ring_windows", "corrupt", "malformed", "holes")
    proofs = ("checker_decides", "checker_rests") if subject.is_engine else ()
    return subject.by_verification("security", "Security model", answer, *said, tests=tests, proofs=proofs)


def _generated(subject: Subject, key: str, title: str, answer: str, *parts: Part, **more: Any) -> Line:
    """A line that generating the block shows."""
    return subject.shown(key, title, [subject.command("generate")], answer, *parts, **more)


def what(subject: Subject) -> Line:
    """The kind of block, and what it does with its parameters."""
    block = subject.made.block
    facts = Table(("figure", "value"), list(block.facts.items()))
    article = "an" if block.title[0] in "aeiou" else "a"
    answer = f"`{block.name}`, {article} {block.title}, made by cdma {block.version}."
    return _generated(subject, "what", "What it is", answer, facts)


def verilog(subject: Subject) -> Line:
    """The text that everything here is about."""
    block = subject.made.block
    text = block.design.text
    answer = (
        f"`{block.name}.v`: {text.count(chr(10)):,} lines of Verilog-2005 (IEEE 1364) in {text.count('endmodule')} modules; "
        f"initial values: {block.parameters['initial values']}."
    )
    other = f"{block.name}.v in this folder is not the Verilog that this is about"
    data = {"file": f"{block.name}.v", "sha256": subject.sha256}
    part, fails = Paragraph(f"SHA-256 `{subject.sha256}`"), [other] if subject.other_text else []
    return _generated(subject, "verilog", "The Verilog", answer, part, fails=fails, data=data)


def parameters(subject: Subject) -> Line:
    """All of them, those at their defaults too."""
    values = subject.made.block.parameters
    rows = [(f"`{name}`", str(value)) for name, value in values.items()]
    given = subject.design.options() or "all at their defaults"
    return _generated(subject, "parameters", "Parameters", f"`{given}`", Table(("parameter", "value"), rows))


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
    return _generated(subject, "clocks", "Clocks", answer, Paragraph(clocking(block.ports, "`")))


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
    return _generated(subject, "ports", "Ports", answer, Table(("port", "direction", "bits"), rows))


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
    title = "Interfaces by version of their standard"
    return _generated(subject, "interfaces", title, answer, Table(titles, rows))


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
    from cdma.verif.engine.design import REGISTERS, broken_rules

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
