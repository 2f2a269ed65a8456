"""Blocks that are broken on purpose: each kind of proof finds what is wrong with them. What breaks a block whose proofs take
long is for ``make thorough``, as these proofs are for ``cdma prove``.
"""

from inspect import getsource
from textwrap import dedent

import pytest
from amaranth.hdl import Assert, Assume, C, Cover, Mux, Signal

from cdma.hdl.axi.reader import AxiReader
from cdma.hdl.axi.turns import BurstTurns
from cdma.hdl.axi.writer import AxiWriter
from cdma.hdl.blocks.arithmetic import WideCounter
from cdma.hdl.blocks.clocks import AsyncFifo
from cdma.hdl.blocks.memories import WordCheck
from cdma.hdl.blocks.queues import Credit, Fifo
from cdma.hdl.blocks.registers import SkidBuffer, StreamRegister
from cdma.hdl.blocks.width import Narrow
from cdma.hdl.codec.generate import Compressor, Decompressor
from cdma.hdl.codec.lossy import Rounding
from cdma.hdl.codec.parts.interface import GatedCodec
from cdma.hdl.codec.parts.network import Routes
from cdma.hdl.codec.plain.compressor import BeatQueue
from cdma.hdl.codec.plain.planner import WordsLeft
from cdma.hdl.engine.channel.checker import Checker
from cdma.hdl.engine.channel.completer import Completer
from cdma.hdl.engine.channel.slots import Slots
from cdma.hdl.engine.control.quiescence import Closing
from cdma.hdl.engine.control.register_file import RegisterFile
from cdma.hdl.engine.rings.rings import Rings
from cdma.hdl.engine.rings.slot import RingSlot
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.registers.description import RegisterMap
from cdma.hdl.spec.registers.optional import window_block
from cdma.verif.proofs import clocks
from cdma.verif.proofs.bench import RULES, Bench, fixed
from cdma.verif.proofs.blocks import Credits, Queue
from cdma.verif.proofs.clocks import Resting, RestingChannel
from cdma.verif.proofs.codec import Lossless
from cdma.verif.proofs.compressor import Pace
from cdma.verif.proofs.control import LockedWindow
from cdma.verif.proofs.engine import SMALL as SMALL_RINGS
from cdma.verif.proofs.engine import TINY, Fetching, Moving
from cdma.verif.proofs.proof import BOUNDED, FAILED, PROVEN, UNKNOWN, VACUOUS, Proof, choose
from cdma.verif.proofs.runner import run_proof
from tests.support.thorough import cases_of

pytestmark = pytest.mark.slow


def outcome(bench, tmp_path, **more):
    """What becomes of a bench."""
    proof = Proof(name="broken", config="on purpose", claim="", bench=bench, **more)
    return run_proof(proof, traces=tmp_path, use_cache=False)


def refuted(bench, tmp_path, file, **more):
    """Whether a bench fails at an assertion in ``file``, with a waveform."""
    result = outcome(bench, tmp_path, **more)
    assert result.status == FAILED, result
    assert f"verif/proofs/{file}:" in result.detail
    with open(result.trace) as trace:
        assert "$var wire" in trace.read()


#: By the name of a proof, a method of a block, and what stands in it for what else.
BROKEN = {
    "butterfly_concentrate": (Routes.elaborate, "position < boundary", "position <= boundary"),
    "butterfly_expand": (Routes.elaborate, "self.offset + below", "self.offset + below + below[0]"),
    "stream_register": (StreamRegister.elaborate, "~self.output.valid | self.output.ready", "C(1)"),
    "skid_buffer": (SkidBuffer.elaborate, "spare_full.eq(1), ", ""),
    "narrow": (Narrow.elaborate, "Mux(final, 0, part + 1)", "part + 1"),
    "wide_counter": (WideCounter.elaborate, "total[-1] & ~self.hold", "total[-1]"),
    "axi_reader": (AxiReader._request, "length[: blocks.place_bits]", "length[: blocks.place_bits] | 1"),
    "completer": (Completer._judge, "m.Elif(ticket.overflow)", "m.Elif(ticket.overflow & wrong_crc)"),
    "window_lock": (RegisterFile._unlocked, "return ", "return C(1) | "),
    "owner_lock": (RegisterFile._unlocked, "return ", "return C(1) | "),
    "word_check": (WordCheck.elaborate, "syndrome.any() & ~self.corrected", "syndrome.any()"),
    "ring_slot": (RingSlot.elaborate, "allowed.eq(~outside)", "allowed.eq(~outside | self.completions)"),
    "clock_gates": (GatedCodec.elaborate, " | self.report.valid", ""),
    "decompressor_any_stream": (
        WordsLeft.elaborate,
        "self.length[: self.bits]",
        "(self.length + 1)[: self.bits]",
    ),
    "window_store": (Routes.elaborate, "position < boundary", "position <= boundary"),
    "packer": (BeatQueue.elaborate, "payload.last.eq(lasts[0])", "payload.last.eq(lasts[0] | used[1])"),
    "quantised_bound": (Rounding.elaborate, "scaled.half & (scaled.rest | scaled.whole[0])", "scaled.half"),
    "quiescence_apart": (Closing.elaborate, "asks & rests_seen.output", "asks"),
    "turns": (BurstTurns.elaborate, '(in_flight["write"] == 0)', "1"),
    "axi_writer": (AxiWriter.elaborate, "in_flight == 0", "~self.port.aw.valid & ~w.valid"),
    "owner_written": (AxiWriter._begin, "following.user", "self.command.payload.user"),
    "checker_decides": (Checker._add, "last, carry)", "last, C(0))"),
    "slots": (
        Slots._keep_outcomes,
        "counts.read_done, counts.write_done",
        "counts.read_done, counts.read_done",
    ),
    "crossing": (AsyncFifo._index, "following ^ (following >> 1)", "following"),
}


#: Those of which the proofs take long.
LONG = ["axi_writer", "owner_written", "checker_decides", "slots", "crossing"]


@pytest.mark.parametrize("name", cases_of({name: name for name in BROKEN}, LONG))
def test_a_broken_block(name, tmp_path, monkeypatch):
    method, right, wrong = BROKEN[name]
    text = dedent(getsource(method))
    assert right in text
    made = {}
    exec(text.replace(right, wrong), method.__globals__ | {"C": C}, made)
    block = method.__globals__[method.__qualname__.partition(".")[0]]
    monkeypatch.setattr(block, method.__name__, made[method.__name__])
    result = run_proof(choose([name])[0], traces=tmp_path, use_cache=False)
    assert result.status == FAILED, result
    with open(result.trace) as trace:
        assert "$var wire" in trace.read()


@pytest.mark.parametrize(
    ("block", "shape"),
    [
        # A writer that does not count.
        (lambda: Fifo(2, 4, reserved=True), (5, 0, 2, 6)),
        # An entry more late than is claimed.
        (lambda: Fifo(2, 4, ahead=True), (5, 4, 2)),
        # An entry fewer than is claimed.
        (lambda: StreamRegister(2), (1, 2, 1)),
    ],
    ids=["overflows", "late", "short"],
)
def test_a_wrong_queue(block, shape, tmp_path):
    refuted(lambda: Queue(block, *shape), tmp_path, "blocks.py")


def test_credit_for_a_writer_that_is_later_than_it_knows(tmp_path):
    refuted(lambda: Credits(Credit(8, 1), 1), tmp_path, "blocks.py")


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["read_arbiter", "write_arbiter"])
def test_a_wrong_arbiter(name, tmp_path, monkeypatch):
    """Answers of any ID go to every client."""
    monkeypatch.setattr("cdma.hdl.axi.arbiter._choose", lambda m, id, ids, own: C(1, 1))
    [proof] = choose([name])
    result = outcome(proof.bench, tmp_path, rules=proof.rules, prepare=proof.prepare)
    assert result.status == FAILED, result
    assert RULES in result.detail


class OneMore(Checker):
    """Takes the address after the last byte for that of the last byte."""

    def _add(self, m, selected, steps, first, count):
        return super()._add(m, selected._replace(objection=C(1)), steps, first, count)


class Starting(Moving):
    """Covers what is soon reached."""

    def cover(self, m, dut, port):
        m.d.comb += Cover(dut.checking)


@pytest.mark.thorough
def test_a_wrong_channel(tmp_path, monkeypatch):
    monkeypatch.setattr("cdma.hdl.engine.channel.channel.Checker", OneMore)
    refuted(
        lambda: Starting(TINY, compressing=True),
        tmp_path,
        "engine.py",
        rules=(RULES,),
        method="bmc",
        depth=36,
        cover=4,
    )


class Unwatched(RingSlot):
    """Allows every completion of the offload channel."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        with m.If(self.completions & ~self.channel):
            m.d.comb += self.allowed.eq(1)
        return m


class SoonFetching(Fetching):
    """Covers what is soon reached."""

    def cover(self, m, places):
        m.d.comb += Cover(self.rings.offload_requests.shown)


def test_a_window_that_is_open_after_a_reset(tmp_path):
    registers = RegisterMap("window", "", (window_block("dev", 64, 0, opened=True),), 5)
    refuted(lambda: LockedWindow(RegisterFile(registers), "none"), tmp_path, "control.py")


@pytest.mark.thorough
def test_rings_with_a_wrong_slot(tmp_path, monkeypatch):
    monkeypatch.setattr("cdma.hdl.engine.rings.rings.RingSlot", Unwatched)
    refuted(
        lambda: SoonFetching(Rings(SMALL_RINGS)),
        tmp_path,
        "engine.py",
        method="bmc",
        depth=38,
        cover=64,
        rules=(RULES,),
    )


SMALL = CodecConfig(Format(word_bits=2, window=4), lanes=2)
WIDE = CodecConfig(Format(word_bits=2, window=8), lanes=4)


def changes(bench, tmp_path, register, **more):
    """Whether a bench finds that a register in the file ``register`` is not at rest."""
    result = outcome(bench, tmp_path, **more)
    assert result.status == FAILED, result
    assert f"{register}:" in result.detail


def test_a_gate_that_closes_a_cycle_early(tmp_path):
    compressor = Compressor(CodecConfig(Format(8, 8), lanes=2))
    changes(
        lambda: Resting(compressor, 2, any_state=True), tmp_path, "window_store.py", method="bmc", depth=3
    )
    changes(lambda: Resting(Decompressor(SMALL), 2, any_state=False), tmp_path, "planner.py")


def without_commands(m, name, channel, component, clocking, clear):
    """A gate that forgets what software commands."""
    active = channel.requests.valid | channel.done.valid | channel.status.busy
    return clocking.gated(m, name, component, lambda: active, 4, clear=clear)


@pytest.mark.thorough
def test_a_gate_of_a_channel_that_forgets_commands(tmp_path, monkeypatch):
    monkeypatch.setattr("cdma.verif.proofs.clocks.clocked_channel", without_commands)
    changes(lambda: RestingChannel(4, compressing=True), tmp_path, "channel.py", method="bmc", depth=9)


class NeverAtRest(RestingChannel):
    """Claims that the gate does not close once a descriptor has completed."""

    def describe(self, m):
        closed, done = Signal(), Signal()
        stopping = self.gates.stopping

        def noted(m, name, component, runs, reset, **named):
            m.d.comb += closed.eq(~runs)
            return stopping(m, name, component, runs, reset, **named)

        self.gates.stopping = noted
        super().describe(m)
        completion = self.channel.done
        m.d.sync += done.eq(done | (completion.valid & completion.ready))
        m.d.comb += Assert(~(done & closed))


@pytest.mark.thorough
def test_a_gate_of_a_channel_closes_after_a_descriptor_within_the_depth_of_its_proof(tmp_path, monkeypatch):
    of_registers = clocks._REGISTER.splitlines()
    monkeypatch.setattr(
        clocks, "_REGISTER", "\n".join(line for line in of_registers if "$assert" not in line)
    )
    depth = max(proof.depth for proof in choose(["clock_gates"]))
    refuted(lambda: NeverAtRest(4, compressing=True), tmp_path, "test_broken.py", method="bmc", depth=depth)


@pytest.mark.thorough
def test_a_wrong_compressor(tmp_path):
    """It takes another value for the frequent one."""
    other = Compressor(CodecConfig(Format(word_bits=2, window=4, values=(1,)), lanes=2))
    refuted(lambda: Lossless(SMALL, 3, other), tmp_path, "codec.py", method="bmc", depth=10)


@pytest.mark.thorough
def test_a_compressor_that_loses_cycles(tmp_path):
    """Without a queue it waits in every other window that is full of literals."""
    slow = Compressor(CodecConfig(Format(word_bits=4, window=4), lanes=2, queue=0))
    refuted(lambda: Pace(slow, 4), tmp_path, "compressor.py", method="bmc", depth=36, cover=24)


class Small(Bench):
    """A counter of four, with what each test says of it."""

    def __init__(self, *, assumed=False, limit=3):
        self.assumed = assumed
        self.limit = limit

    def describe(self, m):
        count = Signal(2)
        m.d.sync += count.eq(count + 1)
        if self.assumed:
            m.d.comb += Assume(fixed(m, "any", 1) & (count == 0))
        m.d.comb += [Assert(count <= self.limit), Cover(count == 2)]


def test_a_proof_says_what_became_of_it(tmp_path):
    assert outcome(Small, tmp_path).status == PROVEN
    assert outcome(Small, tmp_path, method="induction", depth=2).status == PROVEN
    assert outcome(lambda: Small(limit=2), tmp_path, method="bmc", depth=3).status == BOUNDED
    assert outcome(lambda: Small(limit=2), tmp_path, method="bmc", depth=4).status == FAILED
    assert outcome(lambda: Small(limit=1), tmp_path, method="induction", depth=4).status == FAILED


def test_assumptions_that_contradict(tmp_path):
    result = outcome(lambda: Small(assumed=True, limit=0), tmp_path)
    assert result.status == VACUOUS
    assert "verif/proofs/test_broken.py" in result.detail


def test_an_induction_that_does_not_converge_proves_nothing(tmp_path):
    """Five comes after three, and three is never reached: a step of the induction does not know that."""

    class Hidden(Bench):
        def describe(self, m):
            count = Signal(3)
            m.d.sync += count.eq(Mux(count == 4, 0, count + 2))
            m.d.comb += [Assert(count != 5), Cover(count == 4)]

    result = outcome(Hidden, tmp_path, method="induction", depth=1)
    assert result.status == UNKNOWN
    assert result.trace is None
