"""What the block does on its buses: order, transactions in flight, bursts, alignment, errors, security."""

from __future__ import annotations

from typing import Any

from cdma.hdl.deliver.document import Paragraph
from cdma.hdl.spec.codecs import BLOCKS

from .documents import cited, quoted
from .line import Line
from .subject import Subject

__all__ = ["boundaries", "errors", "narrow", "ordering", "outstanding", "security"]

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
            "refusals",
            "windows",
            "bus_errors",
            "corrupt",
            "causes",
            "capacity",
            "aborts",
            "watchdog",
            "ring_errors",
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
