"""The test plan of the engine: each test's stimulus and what it checks, in a line each."""

from __future__ import annotations

from cdma.hdl.spec.options import NO_CLOCKS, PROTECTIONS
from cdma.verif.simulator.plan import TestPlan, TestPoint
from cdma.verif.simulator.simulate import Design

from .measure import MOST_DESCRIPTORS

__all__ = ["ENGINE_PLAN"]


def _with_registers(design: Design) -> bool:
    """with registers"""
    return bool(design.config.registers)


def _with_padding(design: Design) -> bool:
    """with padded windows"""
    return bool(design.config.format.padded)


def _with_crc(design: Design) -> bool:
    """with a CRC"""
    return bool(design.config.crc)


def _with_stage(design: Design) -> bool:
    """with an error-bounded stage"""
    return design.config.quantisation is not None


def _with_units(design: Design) -> bool:
    """with several units"""
    return bool(design.config.units > 1)


def _with_shapes(design: Design) -> bool:
    """with shapes"""
    return bool(design.config.dimensions)


def _with_shapes_and_rings(design: Design) -> bool:
    """with registers and shapes, and rings of eight entries or more"""
    return _with_shapes(design) and design.config.registers and design.config.ring_entries >= 8


def _with_pages(design: Design) -> bool:
    """with pages of host memory"""
    return bool(design.config.pages)


def _with_sideband(design: Design) -> bool:
    """with registers of the sideband"""
    return bool(design.config.sideband_registers)


def _with_owners(design: Design) -> bool:
    """with IDs of streams or substreams"""
    return bool(design.config.records.owner_bits)


def _with_owners_in_pairs(design: Design) -> bool:
    """with several pairs, and IDs of streams or substreams"""
    return _with_owners(design) and _with_pairs(design)


def _quiescent(design: Design) -> bool:
    """with a Q-channel"""
    return bool(design.config.quiescence)


def _quiescent_rings(design: Design) -> bool:
    """with a Q-channel, and rings"""
    return bool(design.config.quiescence and design.config.registers)


def _quiescent_host(design: Design) -> bool:
    """with a Q-channel and registers, and another clock for the host port than the core's"""
    return _quiescent_rings(design) and bool(design.config.domains.host_crosses)


def _with_pairs(design: Design) -> bool:
    """with several queue pairs"""
    return bool(design.config.channels > 1)


def _with_messages(design: Design) -> bool:
    """with messages for interrupts"""
    return bool(design.config.msi)


def _protected(design: Design) -> bool:
    """with a right that accesses to registers must have"""
    return bool(design.config.register_protection != PROTECTIONS[0])


def _closed(design: Design) -> bool:
    """with registers, and windows that are closed after a reset"""
    return bool(design.config.registers and not design.config.open_windows)


def _with_watched_units(design: Design) -> bool:
    """with several units, and watchdogs"""
    return _with_units(design) and _timed(design)


def _windowed(design: Design) -> bool:
    """with windows"""
    return bool(design.config.windows)


def _timed(design: Design) -> bool:
    """with watchdogs"""
    return bool(design.config.times)


def _three_at_once(design: Design) -> bool:
    """with streams, or with rings of four entries or more"""
    return not design.config.registers or design.config.ring_entries >= 4


def _rings_of_three(design: Design) -> bool:
    """with registers, and rings of four entries or more"""
    return bool(design.config.registers) and _three_at_once(design)


def _paced(design: Design) -> bool:
    """with registers, a ring of 64 entries, two transactions outstanding, one unit and one clock"""
    config = design.config
    return bool(
        config.registers
        and config.ring_entries >= MOST_DESCRIPTORS
        and config.outstanding >= 2
        and config.units == 1
        and config.clocks == NO_CLOCKS
    )


def _three_clocks(design: Design) -> bool:
    """with registers, and another clock for the host port and for the registers than the core's, or one for both"""
    config = design.config
    domains = config.domains
    return bool(config.registers and domains.host_crosses and domains.registers_cross)


_CHANNELS = (
    TestPoint(
        "soak",
        "random descriptors and tables on both channels at once, random back-pressure and latency, many ring wraps",
        "the completions in order, every byte in its place",
        weight=8,
    ),
    TestPoint(
        "lengths",
        "every length around a beat, a window, a burst and a page, in every mode, in both directions, no pauses",
        "the completions in order, every byte in its place",
        weight=2,
    ),
    TestPoint(
        "dense",
        "packets without a zero, of each number of windows up to the lanes, in each of several units, random back-pressure",
        "headers and ends in every place of a beat",
    ),
    TestPoint(
        "limits",
        "lengths of 2^k bytes and a few more, over 2^34, and shapes of 2^16 rows, until aborted; longer ones, each bit",
        "the addresses of what moved; the longer ones are refused",
        weight=8,
    ),
    TestPoint(
        "refusals",
        "every objection to a descriptor",
        "nothing moves, cause and address are reported, the next descriptor runs",
        weight=3,
    ),
    TestPoint(
        "windows",
        "source and destination on both sides of each edge of their windows",
        "those outside are refused, and nothing moves",
        _windowed,
    ),
    TestPoint(
        "bus_errors",
        "SLVERR and DECERR on reads and writes of data, raw and through the codec, first and last beat and burst, a second "
        "error after the first",
        "reported once, in order, with the address; the channel goes on, or halts where it should",
        weight=5,
        needs=_three_at_once,
    ),
    TestPoint(
        "corrupt",
        "streams with flipped bits, cut or prolonged",
        "the model's error and data, and nothing past the end",
    ),
    TestPoint(
        "causes",
        "transfers that fail for two or three causes at once: reads, streams, writes, capacity, CRC, bounds",
        "the first in the order of the guide, with its address; the next descriptor runs",
    ),
    TestPoint(
        "padding",
        "streams with padding that is not 0",
        "reported as such, and the next descriptor runs",
        _with_padding,
    ),
    TestPoint(
        "crc",
        "flipped literals, which no decoder sees, and wrong CRCs in descriptors, in both directions",
        "CRC_MISMATCH with the CRC of the data that came; the next descriptor runs",
        _with_crc,
    ),
    TestPoint(
        "lossy",
        "numbers and integers through the error-bounded stage in every mode, with any step, also numbers that are "
        "not within the bound",
        "the model's bits; LOSSY_RANGE with the count and the first, behind every other cause; the next descriptor runs",
        _with_stage,
    ),
    TestPoint(
        "capacity",
        "compressed data that do not fit, also with the responses held back and then all at once",
        "whole beats up to the capacity, nothing past it; the next descriptor runs",
    ),
    TestPoint(
        "aborts",
        "aborts at random moments",
        "transactions end legally, what had started is ABORTED or done, the rest runs",
        weight=2,
    ),
    TestPoint(
        "early_aborts",
        "aborts in every cycle of the check of a good and of a bad descriptor, and again a little later",
        "each is ABORTED or done, in order, and the next ones run",
    ),
    TestPoint(
        "hard_resets",
        "aresetn at random moments, with transactions open everywhere",
        "nothing is offered or taken meanwhile, nothing is left, data move right after it",
        weight=2,
    ),
    TestPoint(
        "watchdog",
        "a memory that falls silent, each of the two in each direction",
        "WATCHDOG with an address in time, the channel is stuck until the memory answers",
        _timed,
    ),
    TestPoint(
        "late_answers",
        "answers to a transfer about when the watchdog of the next one fires",
        "the one that was answered is done or WATCHDOG, and the other one accordingly",
        _timed,
    ),
    TestPoint(
        "uneven",
        "each device port in turn slow, and with all of the literals, both directions at once",
        "every byte in its place",
        _with_units,
        weight=3,
    ),
    TestPoint(
        "silent_unit",
        "a device port that alone falls silent",
        "WATCHDOG with an address in one of its stripes, then all goes on",
        _with_watched_units,
    ),
    TestPoint(
        "shape_refusals",
        "every objection to a shape, and shapes beyond what addresses of the port reach",
        "nothing moves, cause and address are reported, the next descriptor runs",
        _with_shapes,
    ),
    TestPoint(
        "shape_windows",
        "shapes with large numbers that reach to the first or the last byte of a window, and beyond it by a step or more",
        "those outside are refused, with the address of their lowest byte; the others arrive",
        _with_shapes,
    ),
    TestPoint(
        "shape_errors",
        "SLVERR and DECERR in the first, the last and any row of a shape; streams of shapes that are cut or prolonged",
        "reported with the address of the row; no byte between rows is written, and the next descriptor runs",
        _with_shapes,
    ),
    TestPoint(
        "shape_aborts",
        "aborts in every cycle in which a shape is measured and checked",
        "each is ABORTED or done, and the next shape is measured anew",
        _with_shapes,
    ),
    TestPoint(
        "far_rows",
        "shapes whose rows lie 2^k bytes and a few more apart, up and down, anywhere; and a row beyond the last address",
        "every byte in its row; those beyond are refused",
        _with_shapes,
    ),
    TestPoint(
        "owners",
        "descriptors of anybody in channels of everybody, of one alone, and of some; rings of anybody",
        "every address says whose it is; who may not is refused before anything moves",
        _with_owners,
        weight=2,
    ),
    TestPoint(
        "pair_owners",
        "the same in all pairs at once, each with rules and rings of its own",
        "every address says whose it is, and every descriptor has the rule of its pair",
        _with_owners_in_pairs,
        weight=2,
    ),
    TestPoint(
        "halting",
        "an error with and without halt_on_error",
        "the channel halts if it should; what had not started waits for resume",
    ),
)

_REGISTERS = (
    TestPoint(
        "ring_windows",
        "a locked window, and rings outside of it",
        "fetches outside are refused; a hardware reset opens the lock",
        _with_registers,
    ),
    TestPoint(
        "closed_windows",
        "descriptors in registers and in rings after a reset, with no window open or one alone",
        "refused for their windows, and nothing is reached",
        _closed,
    ),
    TestPoint(
        "ring_wrap",
        "both rings of both channels round and round, anywhere, of two entries and more, until the indexes themselves wrap",
        "every descriptor once, every completion in order",
        _with_registers,
        weight=6,
    ),
    TestPoint(
        "ring_errors",
        "SLVERR and DECERR on fetches and completions, first and last beat",
        "reported once, in order, with the address; the channel goes on, or halts where it should",
        _rings_of_three,
        weight=2,
    ),
    TestPoint(
        "soft_resets",
        "soft resets at random moments",
        "the ports fall silent legally, and everything works again after",
        _with_registers,
        weight=2,
    ),
    TestPoint(
        "reset_in_abort",
        "a soft reset while an abort waits for a host that is silent, or for software to take completions from registers",
        "the reset waits for the host, too, and everything works again after it",
        _with_registers,
    ),
    TestPoint(
        "registers",
        "descriptors and completions through registers, without rings",
        "completions, interrupts with coalescing, counters",
        _with_registers,
    ),
    TestPoint(
        "register_bus",
        "each address read and written; then both at once, with strobes, under back-pressure",
        "every value read, SLVERR exactly where no register is",
        _with_registers,
    ),
    TestPoint(
        "pace",
        "packets of 128 beats one after the other, memories of two cycles that never wait, each direction and mode",
        "no cycle beside the beats of the busiest part; up to 3 between packets where something has to fill anew",
        _paced,
        weight=2,
    ),
    TestPoint(
        "shape_rings",
        "an extension that comes late, that a fetch fails for, that a pushed descriptor overtakes; shapes through registers",
        "every descriptor once, with its own shape; a lost extension is reported and the next descriptor runs",
        _with_shapes_and_rings,
    ),
    TestPoint(
        "pages",
        "host memory in lists of up to ten pages, anywhere, with more room than is needed",
        "every byte in its page; no page behind the last that is needed is looked at",
        _with_pages,
    ),
    TestPoint(
        "page_errors",
        "entries that are no page, or beyond all addresses; SLVERR and DECERR of lists and of pages; too many of them",
        "the first is reported with its address; no byte outside of the pages is written, and the next descriptor runs",
        _with_pages,
    ),
    TestPoint(
        "page_drops",
        "data that end, and a first page that is none, while a memory is silent amid the list",
        "every byte in its page; the next transfer has the pages of its own list",
        _with_pages,
    ),
    TestPoint(
        "page_windows",
        "the first page, the list and the last page on both sides of the window's edge",
        "nothing outside is reached, and its address is reported",
        _with_pages,
    ),
    TestPoint(
        "page_stops",
        "aborts while a list is read from a memory that is silent for long",
        "the abort ends after the read, and the next transfer has the pages of its own list",
        _with_pages,
    ),
    TestPoint(
        "sideband",
        "AxCACHE, AxPROT, AxQOS and AxUSER of each channel and target written at rest and during transfers",
        "every address has its channel's, and none changes before the channel rests",
        _with_sideband,
    ),
    TestPoint(
        "rights",
        "accesses to registers with every AxPROT, between transfers on both channels",
        "those without the right are answered SLVERR, change nothing, are counted, and the first is kept",
        _protected,
    ),
    TestPoint(
        "quiescence",
        "requests for quiescence at rest and at random moments of transfers; descriptors and accesses while it lasts",
        "an answer in time, no transaction open when it accepts, nothing taken until it runs again, and nothing lost",
        _quiescent,
    ),
    TestPoint(
        "quiescence_of_rings",
        "requests while what is fetched is in flight, an interrupt waits for its time, or descriptors wait",
        "accepted when the completion is written and the interrupt has come; denied while descriptors wait",
        _quiescent_rings,
    ),
    TestPoint(
        "quiescence_of_registers",
        "accesses to registers about when a request is answered, under back-pressure",
        "answered before the engine accepts, or waiting until it runs again",
        _quiescent_rings,
    ),
    TestPoint(
        "quiescence_apart",
        "a request right after a reset of the core alone, amid transfers to a slow host",
        "accepted when the host port has finished what was open there; everything works again after it",
        _quiescent_host,
    ),
    TestPoint(
        "pairs",
        "random descriptors and tables on all pairs, beside one that aborts, resets itself, errs and takes no completions",
        "every other pair's completions in order, every byte in its place, an interrupt for each",
        _with_pairs,
        weight=4,
    ),
    TestPoint(
        "pair_windows",
        "descriptors and rings of each pair on both sides of its window's edge, while the other pairs' windows are others",
        "what is outside of its own is refused, and nothing else",
        _with_pairs,
    ),
    TestPoint(
        "shares",
        "pairs that always have descriptors, of different lengths, with weights, with priorities, and with a limit",
        "what each moves is as its weight within a twentieth; a higher one goes first; the limit holds",
        _with_pairs,
        weight=4,
    ),
    TestPoint(
        "messages",
        "software of every pair that is told by messages alone, with coalescing and errors; messages that are answered with "
        "errors, disabled, locked, and cut by soft resets",
        "each word at its address, each completion in memory before; none is lost, and no more come than events",
        _with_messages,
        weight=2,
    ),
    TestPoint(
        "silent_host",
        "a host that falls silent under a fetch, and under the write of a completion",
        "error register and interrupt, a halt, and nothing lost after it",
        _with_registers,
    ),
    TestPoint(
        "begun_anew",
        "a ring of completions is disabled, for good or for a moment, while one is on its way",
        "that one arrives, and the ring begins anew",
        _with_registers,
    ),
    TestPoint(
        "lone_resets",
        "the reset of one clock at random moments, of the host port, of the core and of the registers in turn",
        "what was open ends, nothing is written past what was allowed or later, and everything works again after it",
        _three_clocks,
        weight=2,
    ),
)

_TESTS = "cdma.verif.engine.tests"

ENGINE_PLAN = TestPlan(
    modules=tuple(
        f"{_TESTS}.{name}"
        for name in (
            "transfers",
            "pace",
            "limits",
            "refusals",
            "owners",
            "errors",
            "causes",
            "crc",
            "lossy",
            "stops",
            "units",
            "shapes",
            "far_rows",
            "pages",
            "rings",
            "registers",
            "sideband",
            "rights",
            "quiescence",
            "lone_resets",
            "messages",
            "pairs",
        )
    ),
    points=(*_CHANNELS, *_REGISTERS),
    unit="transfers",
    budget=1000,
)
