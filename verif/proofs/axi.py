"""Reader, writer and arbiters keep AXI4 under any legal subordinate, and reader and writer their commands.

Turns of reads and writes at a memory port: one direction at a time, in groups, and neither waits for ever.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Assert, Assume, Cat, Cover, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.utils import exact_log2

from cdma.hdl.axi.arbiter import ReadArbiter, WriteArbiter
from cdma.hdl.axi.ports import PortShape
from cdma.hdl.axi.reader import AxiReader
from cdma.hdl.axi.turns import BurstTurns
from cdma.hdl.axi.writer import AxiWriter
from cdma.hdl.blocks.arithmetic import popcount
from cdma.hdl.spec.engine import EngineConfig
from cdma.verif.proofs.bench import (
    RULES,
    Bench,
    Side,
    free,
    hold,
    last_cycle,
    legal_manager,
    legal_subordinate,
    obey,
)
from cdma.verif.proofs.proof import REDUCED, Config, Proof, any_design, engine_with


def _shape(
    *,
    words: int = 1,
    address_bits: int = 6,
    burst: int = 2,
    outstanding: int = 2,
    pipelined: bool = False,
    rows: bool = False,
) -> PortShape:
    """A port that is as small as ports can be.

    The blocks keep 4 KiB by crossing no multiple of the longest burst. So addresses need only the bits of a command's
    span, and one above, into which the count of blocks carries.
    """
    return PortShape(
        word_bits=8,
        data_bits=8 * words,
        address_bits=address_bits,
        burst=burst,
        outstanding=outstanding,
        buffer=8,
        pipelined=pipelined,
        rows=rows,
        span_bits=address_bits - 1,
    )


def _command(m: Module, dut: wiring.Component, shape: PortShape) -> tuple[Value, Value]:
    """Drives commands of any bytes; the addresses of the command's first byte and of its last beat."""
    obey(m, dut.command, "command")
    first, last = dut.command.payload.first, dut.command.payload.last
    low = exact_log2(shape.data_bits // 8)
    span = 1 << shape.span_bits - 1
    m.d.comb += Assume(~dut.command.valid | ((first <= last) & (last - first < span) & (first[:low] == 0)))
    for name in ("flush", "mark"):
        free(m, name, getattr(dut, name))
    return first, Cat(Value.cast(last)[low:] << low)


#: Cycles in which a response is taken.
_ANSWERED = 4
#: Cycles from a command until its burst is offered, with one to spare.
_SOON = 8


@dataclass(eq=False)
class Reading(Bench):
    """The bursts of a command follow each other from its first beat to its last one, and are nowhere else.

    Ghost state: ``expected`` is the address of the next burst of the current command. With ``rows`` it is that of the
    cycle before the burst is offered.

    ``progress``: Claims also that data leave at once, that nothing is left over, and that there is no deadlock.
    """

    reader: AxiReader
    progress: bool = False

    def describe(self, m: Module) -> None:
        m.submodules.dut = dut = self.reader
        shape = dut.shape
        port = legal_subordinate(m, shape, read=dut.port, taken_within=2 if self.progress else 0)
        first, last_beat = _command(m, dut, shape)
        hold(m, dut.output, "output")
        ar = dut.port.ar
        if self.progress:
            self._progress(m, port)
        going_on = Signal()
        expected = Signal(shape.address_bits + 1)
        here = Signal.like(expected)
        after = Signal.like(expected)
        taken = ar.valid & ar.ready
        there, ends = dut.command.valid, dut.command.ready
        if shape.rows:
            ends = taken & self._offered(m, ends)
            there, first, last_beat = (self._offered(m, value) for value in (there, first, last_beat))
        else:
            # So far as it is known, the address is there before it is offered.
            early = going_on & ~last_cycle(m, taken, "was_taken")
            m.d.comb += Assert(~early | (ar.payload.address == expected))
        m.d.comb += [
            here.eq(Mux(going_on, expected, first)),
            after.eq(here + ((ar.payload.len + 1) << exact_log2(shape.data_bits // 8))),
        ]
        with m.If(taken):
            m.d.sync += [going_on.eq(~ends), expected.eq(after)]
        m.d.comb += [
            # Each burst is where the one before ended, and the last one ends with the command.
            Assert(~ar.valid | (there & (ar.payload.address == here))),
            Assert(~ar.valid | (after <= last_beat + shape.data_bits // 8)),
            Assert(~ends | (taken & (after == last_beat + shape.data_bits // 8))),
            Assert(~taken | ends | (after <= last_beat)),
            Cover(taken & (ar.payload.len == shape.burst - 1)),
            Cover(going_on & ends),
            Cover(dut.outcome.done & (dut.outcome.resp.as_value() == 2)),
        ]

    def _offered(self, m: Module, value: Value) -> Value:
        """What the command was in the cycle before the burst was offered."""
        offered = Signal(len(value))
        with m.If(~self.reader.port.ar.valid):
            m.d.sync += offered.eq(value)
        return offered

    def _progress(self, m: Module, port: Side) -> None:
        """A command that is there, with nothing in flight and nothing in the buffer, gets its burst soon."""
        dut = self.reader
        # After a flush the reader must be reset.
        flushed = Signal()
        waits = Signal(range(_SOON + 1))
        held_up = (
            dut.command.valid & port.idle & ~dut.output.valid & ~dut.port.ar.valid & ~dut.flush & ~flushed
        )
        m.d.sync += [flushed.eq(flushed | dut.flush), waits.eq(Mux(held_up, waits + 1, 0))]
        m.d.comb += [Assert(waits != _SOON), Assert(~dut.idle | (port.idle & ~dut.port.ar.valid))]


@dataclass(eq=False)
class Writing(Bench):
    """Bursts are legal, and nothing is left over."""

    writer: AxiWriter

    def describe(self, m: Module) -> None:
        m.submodules.dut = dut = self.writer
        shape = dut.shape
        port = legal_subordinate(m, shape, write=dut.port, taken_within=_ANSWERED)
        first, _ = _command(m, dut, shape)
        obey(m, dut.input, "input")
        beat = dut.input.payload
        m.d.comb += [
            Assume(~dut.input.valid | ((beat.keep & (beat.keep + 1)[: shape.lanes]) == 0)),
            Assume(~dut.input.valid | beat.last | beat.keep.all()),
        ]
        self.claim(m, dut, port, first)
        w = dut.port.w
        was_last = last_cycle(m, w.valid & w.payload.last, "was_last", init=1)
        m.d.comb += [
            Cover(w.valid & w.ready & w.payload.last & ~was_last),
            Cover(dut.outcome.done & dut.overflow),
            Cover(dut.outcome.done & ~dut.overflow & (dut.outcome.resp.as_value() == 2)),
        ]

    def claim(self, m: Module, dut: AxiWriter, port: Side, first: Value) -> None:
        """What is claimed beside the rules of AXI4."""
        m.d.comb += Assert(~dut.idle | (port.idle & ~dut.port.aw.valid & ~dut.port.w.valid))


class Written(Writing):
    """Each word that fits is written once, to its own address, and nothing else is written.

    Ghost state: ``place`` is the address of the next beat of the current packet, ``over`` is set once one did not fit,
    and ``inside`` counts the beats in the buffer. One beat is followed: ``target`` is its address, and ``ahead`` counts
    the beats in the buffer before it.
    """

    def claim(self, m: Module, dut: AxiWriter, port: Side, first: Value) -> None:
        shape = dut.shape
        beat, w = dut.input.payload, dut.port.w
        size = shape.data_bits // 8
        word = shape.word_bits // 8
        put = dut.input.valid & dut.input.ready
        take = Signal()
        place, here = Signal(shape.address_bits + 2), Signal(shape.address_bits + 2)
        going_on, over, fits, stored = Signal(), Signal(), Signal(), Signal()
        words = popcount(beat.keep) if shape.lanes > 1 else beat.keep
        m.d.comb += [
            Assume(~dut.flush),
            take.eq(w.valid & w.ready),
            here.eq(Mux(going_on, place, first)),
            fits.eq(~over & (here + words * word - 1 <= dut.command.payload.last)),
            stored.eq(put & beat.keep.any() & fits),
            Assert(~put | dut.command.valid),
        ]
        inside = Signal(range(shape.buffer + 4))
        m.d.sync += inside.eq(inside + stored - take)
        with m.If(put):
            m.d.sync += [
                going_on.eq(~beat.last),
                over.eq(~beat.last & (over | (beat.keep.any() & ~fits))),
                place.eq(here + size),
            ]
        follow = free(m, "follow")
        tracked, came_out = Signal(), Signal()
        target = Signal(shape.address_bits)
        kept = Signal(len(beat.keep))
        content = Signal(shape.data_bits)
        ahead = Signal.like(inside)
        with m.If(~tracked & stored & follow):
            m.d.sync += [
                tracked.eq(1),
                target.eq(here),
                kept.eq(beat.keep),
                content.eq(Value.cast(beat.data)),
                ahead.eq(inside - take),
            ]
        with m.Elif(tracked & take):
            m.d.sync += [ahead.eq(ahead - 1), tracked.eq(ahead != 0), came_out.eq(came_out | (ahead == 0))]
        arrives = tracked & w.valid & (ahead == 0)
        m.d.comb += [
            Assert(~w.valid | (inside != 0)),
            Assert(~arrives | (port.write_address == target)),
            Assert(~arrives | ((w.payload.data == content) & (w.payload.keep == kept))),
            Cover(came_out & (target != 0)),
        ]


#: Neither the ports of a writer nor those of a reader know options or units.
_AS_PROVEN = engine_with(options=True, units=True)


def _pipelined(config: Config) -> bool:
    return isinstance(config, EngineConfig) and not config.realign and config.pipelined


def _not_pipelined(config: Config) -> bool:
    return isinstance(config, EngineConfig) and not config.realign and not config.pipelined


def _of_rows(config: Config) -> bool:
    return (
        isinstance(config, EngineConfig)
        and _not_pipelined(config)
        and bool(config.dimensions or config.pages)
    )


def _reading(config: str, *, quick: bool = True, **shape: Any) -> Proof:
    return Proof(
        name="axi_reader",
        config=config,
        claim="AXI4 rules under any legal subordinate; bursts cover exactly the bytes of the command; stream rules",
        blocks=(AxiReader,),
        built_so=_of_rows if shape.get("rows") else _pipelined if shape.get("pipelined") else _not_pipelined,
        bench=lambda: Reading(AxiReader(_shape(**shape))),
        rules=(RULES,),
        cover=24,
        quick=quick,
    )


def _writing(config: str, **shape: Any) -> Proof:
    return Proof(
        name="axi_writer",
        config=config,
        claim="AXI4 rules under any legal subordinate, also when flushed; no response is left over",
        blocks=(AxiWriter,),
        built_so=_AS_PROVEN,
        bench=lambda: Writing(AxiWriter(_shape(**shape))),
        rules=(RULES,),
        prepare=REDUCED,
        cover=24,
        quick=False,
    )


def _written(config: str, depth: int, **shape: Any) -> Proof:
    return Proof(
        name="axi_writer_data",
        config=config,
        claim="AXI4 rules; each word that fits is written once, to its own address, and nothing else is written",
        blocks=(AxiWriter,),
        built_so=_AS_PROVEN,
        bench=lambda: Written(AxiWriter(_shape(**shape))),
        rules=(RULES,),
        method="bmc",
        depth=depth,
        cover=24,
        quick=False,
    )


_DATA_BITS, _ADDRESS_BITS, _BURST = 8, 1, 2
#: The first client has one ID, and the second one, as the rings are, has two.
_IDS = ((0,), (1, 2))
_ID_BITS = 2


def _byte_port(outstanding: int) -> PortShape:
    """A port of a byte. An arbiter has no buffer, so the beats of one mean nothing."""
    return PortShape(
        word_bits=_DATA_BITS,
        data_bits=_DATA_BITS,
        address_bits=_ADDRESS_BITS,
        burst=_BURST,
        outstanding=outstanding,
        buffer=_BURST,
    )


class Sharing(Bench):
    """Two legal managers with ``outstanding`` bursts each, and any legal subordinate: each side sees legal AXI4."""

    def __init__(self, arbiter: wiring.Component, outstanding: int) -> None:
        self.arbiter = arbiter
        self.outstanding = outstanding
        self.reading = isinstance(arbiter, ReadArbiter)

    def describe(self, m: Module) -> None:
        m.submodules.dut = dut = self.arbiter
        kind = "read" if self.reading else "write"
        clients = []
        for number, ids in enumerate(_IDS):
            client = getattr(dut, f"client_{number}")
            clients.append(client)
            legal_manager(
                m,
                _byte_port(self.outstanding),
                f"client_{number}",
                **{kind: client},
                id_bits=(len(ids) - 1).bit_length(),
            )
            if self.reading:
                # A client takes its data at any time.
                m.d.comb += Assume(client.r.ready)
        legal_subordinate(m, _byte_port(self.outstanding * len(_IDS)), **{kind: dut.port}, id_bits=_ID_BITS)
        for client in clients:
            answer = client.r if self.reading else client.b
            m.d.comb += Cover(answer.valid & answer.ready & (answer.payload.resp.as_value() == 2))


def _sharing(kind: type[ReadArbiter] | type[WriteArbiter], outstanding: int) -> Proof:
    reading = kind is ReadArbiter
    widths = (_DATA_BITS, _ADDRESS_BITS, _ID_BITS) if reading else (_DATA_BITS, _ADDRESS_BITS, 8, _ID_BITS)
    return Proof(
        name=f"{'read' if reading else 'write'}_arbiter",
        config=f"2 clients, {outstanding} {'burst' if outstanding == 1 else 'bursts'} each",
        claim="of any legal managers and any legal subordinate, what each sees of the other is legal AXI4 again",
        blocks=(kind,),
        built_so=any_design if reading else engine_with(options=True, realign=True, units=True),
        bench=lambda: Sharing(kind(_IDS, *widths), outstanding),
        rules=(RULES,),
        prepare=REDUCED,
        quick=False,
    )


_MOST, _GROUP = 3, 2
#: A burst that is taken ends within so many cycles, and an address that may pass is taken within as many.
_PATIENCE = 2
#: What was in flight ends, the other direction's group is taken and ends, one after another, and the own address is taken;
#: two turns.
_LONGEST = (_MOST + 2 * _GROUP + 1) * (_PATIENCE + 1) + 3


class InTurns(Bench):
    """Two directions that want to pass, and pass, at any time; data and a ring are who reads.

    Ghost state: how many bursts of each direction are in flight, and how long the oldest of them; how long a direction,
    and the ring, has waited.
    """

    def describe(self, m: Module) -> None:
        m.submodules.dut = dut = BurstTurns(_MOST)
        m.d.comb += dut.group.eq(_GROUP)
        in_flight = {}
        for way, passes in (("read", dut.reads), ("write", dut.writes)):
            waits, taken, ended = (getattr(dut, f"{way}_{name}") for name in ("waits", "taken", "ended"))
            for signal in (taken, ended) if way == "read" else (waits, taken, ended):
                free(m, signal.name, signal)
            count = in_flight[way] = Signal(range(_MOST + 1), name=f"{way}_count")
            age, offered, waited = (Signal(8, name=f"{way}_{name}") for name in ("age", "offered", "waited"))
            m.d.sync += [
                count.eq(count + taken - ended),
                age.eq(age + 1),
                offered.eq(offered + 1),
                waited.eq(waited + 1),
            ]
            with m.If(ended | (count == 0)):
                m.d.sync += age.eq(0)
            with m.If(taken | ~(waits & passes)):
                m.d.sync += offered.eq(0)
            with m.If(taken | ~waits):
                m.d.sync += waited.eq(0)
            was_offered = last_cycle(m, waits & passes & ~taken, f"{way}_was_offered")
            waited_before = last_cycle(m, waits & ~taken, f"{way}_waited_before")
            m.d.comb += [
                Assume(~taken | (waits & passes & (count != _MOST))),
                Assume(~ended | (count != 0)),
                (Assert if way == "read" else Assume)(~waited_before | waits),
                Assume(age <= _PATIENCE),
                Assume((offered <= _PATIENCE) | (count == _MOST)),
                Assert(~was_offered | passes),
                Assert(waited <= _LONGEST),
                Cover(taken & (waited == _PATIENCE + 4)),
            ]
        m.d.comb += Assert((in_flight["read"] == 0) | (in_flight["write"] == 0))
        self._read(m, dut)

    def _read(self, m: Module, dut: BurstTurns) -> None:
        """Two managers that want to read at any time, behind an arbiter."""
        m.submodules.arbiter = arbiter = ReadArbiter(((0,), (1,)), 8, 1, 1)
        for client in (arbiter.client_0, arbiter.client_1):
            obey(m, client.ar, f"client_{'ring' if client is arbiter.client_1 else 'data'}")
        ring, waited = arbiter.client_1.ar, Signal(8, name="ring_waited")
        m.d.comb += [
            dut.read_waits.eq(arbiter.port.ar.valid),
            arbiter.port.ar.ready.eq(dut.read_taken),
            Assert(waited <= 2 * _LONGEST + 1),
            Cover(ring.ready & (waited == _LONGEST // 2)),
        ]
        with m.If(ring.ready | ~ring.valid):
            m.d.sync += waited.eq(0)
        with m.Else():
            m.d.sync += waited.eq(waited + 1)


PROOFS = [
    _reading("1 lane, bursts of 2"),
    _reading("2 lanes, bursts of 2", words=2, quick=False),
    _reading("1 lane, bursts of 2, registered", pipelined=True, quick=False),
    _reading("1 lane, bursts of 2, of rows", rows=True),
    Proof(
        name="axi_reader_progress",
        config="1 lane, bursts of 2",
        claim="a command gets its burst soon once nothing is in flight; data are taken at once; nothing is left over",
        blocks=(AxiReader,),
        built_so=_AS_PROVEN,
        bench=lambda: Reading(AxiReader(_shape()), progress=True),
        rules=(RULES,),
        method="bmc",
        depth=14,
        cover=24,
        quick=False,
    ),
    _writing("1 lane, bursts of 2"),
    # More addresses than the writer has lengths for, whose data have not begun.
    _writing("1 lane, bursts of 2, 4 in flight", outstanding=4),
    _writing("1 lane, bursts of 2, registered", pipelined=True),
    _written("1 lane, bursts of 2", 14),
    _sharing(ReadArbiter, 2),
    _sharing(WriteArbiter, 1),
    Proof(
        name="turns",
        config=f"groups of {_GROUP}, {_MOST} in flight, 2 clients that read",
        claim="reads and writes of a port with groups are never in flight at once, an address that is offered stays "
        "so, a direction waits at most for the other's group and what that has in flight, and a ring that reads for one "
        "burst of data besides",
        blocks=(BurstTurns,),
        built_so=lambda config: isinstance(config, EngineConfig) and config.group_bursts > 0,
        bench=InTurns,
        cover=30,
    ),
]
