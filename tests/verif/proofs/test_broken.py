"""Blocks that are broken on purpose: each kind of proof finds what is wrong with them. What breaks a block whose proofs take
long is for ``make thorough``, as these proofs are for ``cdma prove``.
"""

import pytest
from amaranth.hdl import Assert, Assume, C, Cover, Module, Mux, Signal
from amaranth.lib import wiring

from cdma.hdl.axi.ports import PortShape
from cdma.hdl.axi.reader import AxiReader
from cdma.hdl.axi.turns import BurstTurns
from cdma.hdl.axi.writer import AxiWriter
from cdma.hdl.blocks.arithmetic import WideCounter
from cdma.hdl.blocks.clocks import AsyncFifo
from cdma.hdl.blocks.memories import WordCheck
from cdma.hdl.blocks.queues import Credit, Fifo
from cdma.hdl.blocks.registers import SkidBuffer, StreamRegister
from cdma.hdl.codec.generate import Compressor, Decompressor
from cdma.hdl.codec.parts.interface import GatedCodec
from cdma.hdl.codec.parts.network import Routes
from cdma.hdl.codec.parts.packer import Packer
from cdma.hdl.codec.plain import window_store
from cdma.hdl.codec.plain.compressor import BeatQueue
from cdma.hdl.codec.plain.window_store import WindowStore
from cdma.hdl.engine.channel.checker import Checker
from cdma.hdl.engine.channel.completer import Completer
from cdma.hdl.engine.channel.slots import Slots
from cdma.hdl.engine.control.quiescence import Closing
from cdma.hdl.engine.control.register_file import RegisterFile
from cdma.hdl.engine.rings.rings import Rings
from cdma.hdl.engine.rings.slot import RingSlot
from cdma.hdl.lossy.stages import Rounding
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.records import Status
from cdma.hdl.spec.registers.description import RegisterMap
from cdma.hdl.spec.registers.optional import window_block
from cdma.hdl.spec.stage import Quantisation
from cdma.verif.proofs import clocks, word_flow
from cdma.verif.proofs.axi import Reading, Writing
from cdma.verif.proofs.bench import RULES, Bench, fixed
from cdma.verif.proofs.blocks import Credits, FlippedWord, Queue, Sum
from cdma.verif.proofs.checker import Deciding
from cdma.verif.proofs.clocks import Crossing, Passage, Resting, RestingChannel
from cdma.verif.proofs.codec import AnyStream, Decoding, Lossless
from cdma.verif.proofs.compressor import Pace, Packing, Storing
from cdma.verif.proofs.control import LockedWindow
from cdma.verif.proofs.engine import SMALL as SMALL_RINGS
from cdma.verif.proofs.engine import TINY, Fetching, Finding, Moving
from cdma.verif.proofs.pairs import REGISTERS, SHAPE, LockedOwners, OwnedWriting
from cdma.verif.proofs.proof import BOUNDED, FAILED, PROVEN, REDUCED, UNKNOWN, VACUOUS, Proof, choose
from cdma.verif.proofs.quantised import Bounded
from cdma.verif.proofs.quiescence import Apart, FarInputs
from cdma.verif.proofs.realigned import Raised
from cdma.verif.proofs.runner import run_proof
from cdma.verif.proofs.slots import Completed, Keeping
from cdma.verif.proofs.turns import InTurns
from cdma.verif.proofs.word_flow import WordFlow

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


def around(m, outer, right, *, but):
    """Puts the ``right`` block behind the ports of one that is broken, but for those that the latter has to itself."""
    m.submodules.right = right
    for name, member in outer.signature.members.items():
        if name in but:
            continue
        mine, its = getattr(outer, name), getattr(right, name)
        if member.is_signature:
            wiring.connect(m, wiring.flipped(mine), its)
        else:
            m.d.comb += its.eq(mine) if member.flow is wiring.In else mine.eq(its)
    return right


class WrongRoutes(Routes):
    """Exchanges one pair too many, at one offset of one mask."""

    def elaborate(self, platform):
        m = Module()
        right = around(m, self, Routes(self.lanes), but=[])
        with m.If((self.offset == 2) & (self.ranks.count == 3)):
            m.d.comb += self.swap[1][0].eq(~right.swap[1][0])
        return m


@pytest.mark.parametrize("bench", [word_flow.Concentrated, word_flow.Expanded])
def test_a_wrong_exchange(bench, tmp_path, monkeypatch):
    monkeypatch.setattr(word_flow, "Routes", WrongRoutes)
    refuted(lambda: bench(4), tmp_path, "word_flow.py", cover=2)


class Overwriting(StreamRegister):
    """Takes another transfer before the one that it holds is gone."""

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.input.ready.eq(1)
        with m.If(self.input.valid | self.output.ready):
            m.d.sync += [self.output.valid.eq(self.input.valid), self.output.payload.eq(self.input.payload)]
        return m


class Hesitating(SkidBuffer):
    """Is not ready after each transfer."""

    def elaborate(self, platform):
        m = Module()
        right = around(m, self, SkidBuffer(2), but=["input"])
        rest = Signal()
        m.d.sync += rest.eq(self.input.valid & self.input.ready)
        m.d.comb += [
            right.input.payload.eq(self.input.payload),
            right.input.valid.eq(self.input.valid & ~rest),
        ]
        m.d.comb += self.input.ready.eq(right.input.ready & ~rest)
        return m


@pytest.mark.parametrize(
    ("block", "shape"),
    [
        (lambda: Overwriting(2), (1, 1, 1)),
        (lambda: Hesitating(2), (2, 2, 1)),
        # A writer that does not count.
        (lambda: Fifo(2, 4, reserved=True), (5, 0, 2, 6)),
        # An entry more late than is claimed.
        (lambda: Fifo(2, 4, ahead=True), (5, 4, 2)),
        # An entry fewer than is claimed.
        (lambda: StreamRegister(2), (1, 2, 1)),
    ],
    ids=["overwrites", "bubbles", "overflows", "late", "short"],
)
def test_a_wrong_queue(block, shape, tmp_path):
    refuted(lambda: Queue(block, *shape), tmp_path, "blocks.py")


class Unshifted(Raised):
    """Keeps a lane too many of the last beat."""

    def elaborate(self, platform):
        m = Module()
        right = around(m, self, Raised(2, 2), but=[])
        with m.If(right.output.payload.last):
            m.d.comb += self.output.payload.keep.eq(right.output.payload.keep | 1)
        return m


def test_a_wrong_flow_of_words(tmp_path):
    refuted(lambda: WordFlow(lambda: Unshifted(2, 2), 2, 2, 3, "up", buffer=6), tmp_path, "word_flow.py")


class Narrow(WideCounter):
    """Its lowest part overflows too often."""

    def __init__(self):
        super().__init__(1, 6)
        self.low, self.upper = 1, 5


def test_wrong_counters(tmp_path):
    refuted(lambda: Sum(Narrow(), 1), tmp_path, "blocks.py", cover=72)
    refuted(lambda: Credits(Credit(8, 1), 1), tmp_path, "blocks.py")


class TooLong(AxiReader):
    """Its second burst is a beat too long."""

    def elaborate(self, platform):
        m = Module()
        right = around(m, self, AxiReader(self.shape), but=["port", "idle", "progress"])
        wiring.connect(m, wiring.flipped(self.port.r), right.port.r)
        second = Signal()
        ar = right.port.ar
        with m.If(ar.valid & ar.ready):
            m.d.sync += second.eq(1)
        m.d.comb += [
            self.port.ar.valid.eq(ar.valid),
            ar.ready.eq(self.port.ar.ready),
            self.port.ar.payload.eq(ar.payload),
            self.port.ar.payload.len.eq(ar.payload.len | second),
        ]
        return m


def test_a_wrong_reader(tmp_path):
    shape = PortShape(word_bits=8, data_bits=8, address_bits=6, burst=2, outstanding=2, buffer=8, span_bits=5)
    refuted(lambda: Reading(TooLong(shape)), tmp_path, "axi.py", rules=(RULES,))


class Unreserved(AxiWriter):
    """Says that it is idle while it waits for a response."""

    def elaborate(self, platform):
        m = Module()
        right = around(m, self, AxiWriter(self.shape), but=["idle"])
        m.d.comb += self.idle.eq(~right.port.aw.valid & ~right.port.w.valid)
        return m


@pytest.mark.thorough
def test_a_wrong_writer(tmp_path):
    shape = PortShape(word_bits=8, data_bits=8, address_bits=6, burst=2, outstanding=2, buffer=8, span_bits=5)
    refuted(lambda: Writing(Unreserved(shape)), tmp_path, "axi.py", rules=(RULES,), prepare=REDUCED, cover=24)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["read_arbiter", "write_arbiter"])
def test_a_wrong_arbiter(name, tmp_path, monkeypatch):
    """Answers of any ID go to every client."""
    monkeypatch.setattr("cdma.hdl.axi.arbiter._choose", lambda m, id, ids, own: C(1, 1))
    [proof] = choose([name])
    result = outcome(proof.bench, tmp_path, rules=proof.rules, prepare=proof.prepare)
    assert result.status == FAILED, result
    assert RULES in result.detail


class Forgiving(Completer):
    """Does not report that a packet did not fit."""

    def _judge(self, m, status, *sources):
        super()._judge(m, status, *sources)
        with m.If(self.tickets.payload.overflow & ~self.tickets.payload.write_resp.as_value().any()):
            m.d.sync += status.eq(Status.OK)


def test_a_wrong_completer(tmp_path):
    refuted(lambda: Completed(Forgiving(8, 8)), tmp_path, "slots.py", cover=32)


class Trusting(Checker):
    """Does not see that the sum of an address goes beyond the last address, if the rest is in the window."""

    def _add(self, m, selected, steps, first, count):
        return super()._add(m, selected, steps, first, count)._replace(carry=C(0))


@pytest.mark.thorough
def test_a_wrong_checker(tmp_path):
    port = PortShape(
        word_bits=8, data_bits=16, address_bits=64, burst=2, outstanding=2, buffer=8, span_bits=8
    )
    refuted(
        lambda: Deciding(Trusting(port, port, 8, compressing=True)),
        tmp_path,
        "checker.py",
        method="bmc",
        depth=36,
        cover=36,
    )


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
        m.d.comb += Cover(self.rings.pair_0.offload.requests.valid)


class Unlocked(RegisterFile):
    """Locked registers are written all the same."""

    def _unlocked(self, placed, pair):
        return C(1)


def test_a_lock_that_does_not_hold(tmp_path):
    registers = RegisterMap("window", "", (window_block("dev", 64, 0, opened=False),), 5)
    refuted(lambda: LockedWindow(Unlocked(registers), "none"), tmp_path, "control.py")


def test_owners_that_a_lock_does_not_hold(tmp_path):
    refuted(lambda: LockedOwners(Unlocked(REGISTERS)), tmp_path, "pairs.py")


class OfTheCommand(AxiWriter):
    """An address is of the owner of the command in hand, and not of its own."""

    def _begin(self, m, queues, in_flight):
        pulses = super()._begin(m, queues, in_flight)
        m.d.comb += self.port.aw.payload.user.eq(self.command.payload.user)
        return pulses


@pytest.mark.thorough
def test_an_address_of_another_owner(tmp_path):
    refuted(lambda: OwnedWriting(OfTheCommand(SHAPE)), tmp_path, "pairs.py", rules=(RULES,), prepare=REDUCED)


def test_a_window_that_is_open_after_a_reset(tmp_path):
    registers = RegisterMap("window", "", (window_block("dev", 64, 0, opened=True),), 5)
    refuted(lambda: LockedWindow(RegisterFile(registers), "none"), tmp_path, "control.py")


class CorrectsTwo(WordCheck):
    """Takes a word with two flipped bits for one of which a bit is put right."""

    def elaborate(self, platform):
        m = Module()
        right = around(m, self, WordCheck(self.bits, self.code), but=["corrected"])
        m.d.comb += self.corrected.eq(right.corrected | right.lost)
        return m


def test_a_lost_word_that_counts_as_corrected(tmp_path):
    refuted(lambda: FlippedWord(CorrectsTwo(8, "secded")), tmp_path, "blocks.py", cover=2)


def test_a_wrong_slot_of_a_ring(tmp_path):
    config = EngineConfig()
    refuted(lambda: Finding(Unwatched(config)), tmp_path, "engine.py", method="bmc", depth=20)


@pytest.mark.thorough
def test_rings_with_a_wrong_slot(tmp_path, monkeypatch):
    monkeypatch.setattr("cdma.hdl.engine.rings.rings.RingSlot", Unwatched)
    refuted(
        lambda: SoonFetching(Rings(SMALL_RINGS)),
        tmp_path,
        "engine.py",
        method="bmc",
        depth=38,
        rules=(RULES,),
    )


class Mixing(Slots):
    """Keeps what the writer reports with the descriptor that the reader is at."""

    def _keep_outcomes(self, m, counts, write):
        super()._keep_outcomes(m, counts._replace(write_done=counts.read_done), write)


@pytest.mark.thorough
def test_wrong_slots(tmp_path):
    refuted(lambda: Keeping(Mixing(8, 8, 2)), tmp_path, "slots.py")


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


class Forgotten(GatedCodec):
    """Does not look at what is reported."""

    def elaborate(self, platform):
        m = Module()
        m.submodules.codec = self.gates.gated(m, "codec", self.codec, self.input.valid | self.output.valid, 3)
        wiring.connect(m, wiring.flipped(self), self.codec)
        return m


def test_a_gate_that_forgets_reports(tmp_path, monkeypatch):
    monkeypatch.setattr("cdma.verif.proofs.clocks.GatedCodec", Forgotten)
    changes(
        lambda: Resting(Compressor(SMALL), 3, any_state=True),
        tmp_path,
        "compressor.py",
        method="bmc",
        depth=4,
    )


def without_commands(m, name, channel, component, gates, clear):
    """A gate that forgets what software commands."""
    active = channel.requests.valid | channel.done.valid | channel.status.busy
    return gates.gated(m, name, component, active, 4, clear=clear)


@pytest.mark.thorough
def test_a_gate_of_a_channel_that_forgets_commands(tmp_path, monkeypatch):
    monkeypatch.setattr("cdma.verif.proofs.clocks.gated_channel", without_commands)
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


class Generous(Decompressor):
    """Delivers a word more than it is asked for."""

    def elaborate(self, platform):
        m = Module()
        right = around(m, self, Decompressor(self.config), but=["length"])
        m.d.comb += [
            right.length.payload.eq(self.length.payload + 1),
            right.length.valid.eq(self.length.valid),
            self.length.ready.eq(right.length.ready),
        ]
        return m


def test_a_wrong_decompressor(tmp_path):
    refuted(lambda: AnyStream(Generous(SMALL)), tmp_path, "codec.py")
    refuted(lambda: Decoding(Generous(SMALL)), tmp_path, "codec.py", prepare=REDUCED)


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


def test_a_wrong_window_store(tmp_path, monkeypatch):
    """Two pairs of lanes exchange their words at the wrong times."""
    monkeypatch.setattr(window_store, "Routes", WrongRoutes)
    refuted(lambda: Storing(WindowStore(WIDE)), tmp_path, "compressor.py")


class Forgetting(BeatQueue):
    """Takes the second of two rows for the last one of the packet."""

    def elaborate(self, platform):
        m = Module()
        right = around(m, self, BeatQueue(self.config, self.depth), but=["last"])
        m.d.comb += right.last.eq(self.last | (self.push & 2))
        return m


def test_a_wrong_packer(tmp_path):
    refuted(lambda: Packing(Packer(SMALL, Forgetting(SMALL, 3))), tmp_path, "word_flow.py")


class RoundsUp(Rounding):
    """Takes the greater of two integers as near, not the even one."""

    def elaborate(self, platform):
        m = Module()
        right = around(m, self, Rounding(self.form), but=["scaled"])
        m.d.comb += [right.scaled.eq(self.scaled), right.scaled.rest.eq(1)]
        return m


def test_a_wrong_rounding(tmp_path):
    class Wrong(Bounded):
        def rounding(self, form):
            return RoundsUp(form)

    refuted(lambda: Wrong(Quantisation(bits=4)), tmp_path, "quantised.py", cover=2)


class Binary(AsyncFifo):
    """Shows the other side a count of which several bits change at a time."""

    def _index(self, m, domain, name, steps, clear):
        _, gray = super()._index(m, domain, name, steps, clear)
        shown = Signal.like(gray, name=f"{name}_binary", reset_less=True)
        with m.If(clear):
            m.d[domain] += shown.eq(0)
        with m.Elif(steps):
            m.d[domain] += shown.eq(shown + 1)
        return shown[:-1], shown


@pytest.mark.thorough
def test_a_crossing_without_a_gray_code(tmp_path):
    refuted(lambda: Crossing(Passage(2, Binary), resets=False), tmp_path, "clocks.py", cover=40)


class Hasty(Closing):
    """Says that nothing is open as soon as the bus is asked."""

    def elaborate(self, platform):
        m = Module()
        m.submodules.right = right = Closing(bus=self.bus)
        m.d.comb += [
            right.closed.eq(self.closed),
            self.shut.eq(right.shut),
            self.closes.eq(right.closes),
        ]
        return m


def test_inputs_that_are_shut_too_soon(tmp_path):
    refuted(lambda: Apart(FarInputs(Hasty)), tmp_path, "quiescence.py", cover=50)


class Impatient(BurstTurns):
    """A turn begins although bursts of the other direction are in flight, as these seem to have ended at once."""

    def elaborate(self, platform):
        m = Module()
        m.submodules.right = right = BurstTurns(self._most)
        for name in self.signature.members:
            mine, of_right = getattr(self, name), getattr(right, name)
            m.d.comb += mine.eq(of_right) if name in ("reads", "writes") else of_right.eq(mine)
        m.d.comb += [right.read_ended.eq(self.read_taken), right.write_ended.eq(self.write_taken)]
        return m


def test_reads_that_do_not_wait_for_writes_in_flight(tmp_path):
    refuted(lambda: InTurns(Impatient), tmp_path, "turns.py", cover=30)


class Small(Bench):
    """A counter of four, with what each test says of it."""

    def __init__(self, *, assumed=False, limit=3):
        super().__init__()
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
