"""Queue pairs: each address carries the owner that its descriptor was checked with, and shares starve no pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from amaranth.hdl import (
    Assert,
    Assume,
    C,
    Cat,
    ClockDomain,
    Cover,
    DomainRenamer,
    Module,
    Mux,
    Signal,
    Value,
    signed,
)
from amaranth.lib import data, wiring

from cdma.hdl.axi.ports import PortShape
from cdma.hdl.axi.reader import AxiReader
from cdma.hdl.axi.writer import AxiWriter
from cdma.hdl.engine.channel.slots import Slots
from cdma.hdl.engine.control.register_file import RegisterFile
from cdma.hdl.engine.pairs.accounts import Accounts
from cdma.hdl.engine.pairs.sharing import Shares
from cdma.hdl.spec.records import RecordOptions
from cdma.hdl.spec.registers.description import RegisterMap
from cdma.hdl.spec.registers.optional import owner_block

from .axi import Reading, Writing
from .bench import RULES, Bench, Side, fixed, free, last_cycle, started
from .control import any_access
from .proof import REDUCED, Proof, engine_with
from .slots import Keeping

#: A port that is as small as ports can be.
SHAPE = PortShape(
    word_bits=8, data_bits=8, address_bits=6, burst=2, outstanding=2, buffer=8, span_bits=5, user_bits=1
)


def _by_address(m: Module, command: Value) -> None:
    """Memory has two owners, one of either half, and each command keeps to its half: an address identifies its owner."""
    first, last, owner = command.payload.first, command.payload.last, command.payload.user
    m.d.comb += Assume(~command.valid | ((first[-1] == owner) & (last[-1] == owner)))


class OwnedReading(Reading):
    """Addresses of a reader are of the owner of their command."""

    def describe(self, m: Module) -> None:
        super().describe(m)
        _by_address(m, self.reader.command)
        ar = self.reader.port.ar
        m.d.comb += [
            Assert(~ar.valid | (ar.payload.user == ar.payload.address[-1])),
            Cover(ar.valid & ar.payload.user),
        ]


class OwnedWriting(Writing):
    """Addresses of a writer are of the owner of their command."""

    def claim(self, m: Module, dut: AxiWriter, port: Side, first: Value) -> None:
        super().claim(m, dut, port, first)
        _by_address(m, dut.command)
        aw = dut.port.aw
        m.d.comb += [
            Assert(~aw.valid | (aw.payload.user == aw.payload.address[-1])),
            Cover(last_cycle(m, aw.valid & aw.payload.user, "was_mine") & ~aw.valid),
        ]


@dataclass(eq=False)
class LockedOwners(Bench):
    """A register file of owners, with anything on its bus and at ``soft_reset`` at any time."""

    file: RegisterFile

    def describe(self, m: Module) -> None:
        dut = self.file
        # Its flip-flops have no reset of their own, so that their domain needs one.
        m.domains.registers = registers = ClockDomain("registers")
        m.submodules.dut = DomainRenamer("registers")(dut)
        m.d.comb += [registers.clk.eq(self.domain.clk), registers.rst.eq(~started(m))]
        any_access(m, dut)
        for name in ("offload", "prefetch"):
            owners = getattr(dut, f"{name}_owner")
            locked = owners.lock.locked
            words = {
                part: Cat(getattr(getattr(owners, part), field) for field in ("substream", "stream"))
                for part in ("value", "mask", "ring")
            }
            was_locked = last_cycle(m, locked, f"{name}_was_locked")
            for part, word in words.items():
                before = last_cycle(
                    m, word, f"{name}_{part}_before", init=(1 << len(word)) - 1 if part == "mask" else 0
                )
                m.d.comb += Assert(~was_locked | (word == before))
                # Nothing else than a write changes it: a soft reset does not.
                m.d.comb += Assert(
                    (word == before) | last_cycle(m, dut.bus.awready, f"{name}_{part}_written")
                )
            m.d.comb += [
                Assert(~was_locked | locked),
                Cover(was_locked & words["value"].any() & last_cycle(m, dut.soft_reset, f"{name}_was_reset")),
            ]


#: The registers of both channels.
REGISTERS = RegisterMap(
    "owners",
    "Owners.",
    (
        replace(
            owner_block(RecordOptions(stream_id_bits=2, substream_id_bits=2).owner_fields),
            instances=(("offload_owner", 0x0), ("prefetch_owner", 0x20)),
        ),
    ),
    6,
)


_COUNT, _BITS = 3, 2
_MOST = (1 << _BITS) - 1
#: Looks in which all the others use up what they have; a debt of ``_MOST - 1`` takes as many looks again, each after one
#: that fills the accounts; and in the end each of the others may go first.
_LONGEST = _MOST * (_COUNT - 1) * _MOST + _MOST + (_COUNT - 1)
_OFTEN_LOG2 = 1
#: Cycles from a change of accounts until all are known: four for the one at work, and for each that is changed.
_SETTLING = 4 * (1 + _COUNT) + 1


def _balances(m: Module, turns: wiring.PureInterface, weights: Value, ones: Sequence[Value]) -> list[Signal]:
    """Ghost state: what is left of the turns of these pairs, of ``weights`` of two bits."""
    balances: list[Signal] = []
    for one in ones:
        balance = Signal(signed(_BITS + 1), name=f"balance_{len(balances)}")
        rich, deep, _ = _compared(balance, weights, one)
        weight = weights.word_select(one, _BITS)
        amount = Mux(weight == 0, 1, weight)
        with m.If(turns.charge.bit_select(one, 1)):
            m.d.sync += balance.eq(balance - turns.cost)
        with m.Elif(turns.add.bit_select(one, 1)):
            saves = rich | (turns.often & ~deep)
            m.d.sync += balance.eq(
                Mux(saves, 0, balance) + Mux(turns.often & deep, amount << _OFTEN_LOG2, amount)
            )
        balances.append(balance)
    return balances


def _compared(balance: Value, weights: Value, one: Value) -> tuple[Value, Value, Value]:
    """Whether a balance is rich, deep in debt, and full."""
    weight = weights.word_select(one, _BITS)
    amount = Mux(weight == 0, 1, weight)
    return balance > 0, balance + (amount << _OFTEN_LOG2) <= 0, balance == amount


@dataclass(eq=False)
class Balanced(Bench):
    """Constant weights and limits, periods that end at any time, and turns and charges as the contract allows them. Ghost
    state: what is left of the turn of ``one``."""

    accounts: Accounts

    def describe(self, m: Module) -> None:
        m.submodules.dut = dut = self.accounts
        turns = dut.turns
        for name in ("changed", "over"):
            free(m, name, getattr(dut, name))
        for name in ("add", "often", "charge", "cost"):
            free(m, name, getattr(turns, name))
        weights, limits = (fixed(m, name, _BITS << len(dut.row) - 1) for name in ("weights", "limits"))
        terms = Cat(weights, limits)
        m.d.comb += dut.term.eq(terms.word_select(last_cycle(m, dut.row, "row_before"), _BITS))
        changes = turns.add.any() | turns.charge.any()
        unsettled = last_cycle(m, ~turns.settled, "was_unsettled", init=1)
        m.d.comb += [
            Assume(~changes | turns.settled),
            Assume(~turns.add.any() | ~turns.charge.any()),
            Assume((turns.charge & (turns.charge - 1)) == 0),
            Assume((turns.charge & ~turns.rich) == 0),
            Assume(turns.settled | (turns.cost == last_cycle(m, turns.cost, "cost_before"))),
        ]
        one = fixed(m, "one", range(_COUNT))
        m.d.comb += Assume(one < _COUNT)
        [balance] = _balances(m, turns, weights, [one])
        shown = [getattr(turns, name).bit_select(one, 1) for name in ("rich", "deep", "full")]
        for bit, held in zip(shown, _compared(balance, weights, one), strict=True):
            m.d.comb += Assert(~turns.settled | (bit == held))
        waited = Signal(range(_SETTLING + 2))
        m.d.sync += waited.eq(Mux(turns.settled, 0, Mux(unsettled & (waited == 0), 0, waited + 1)))
        m.d.comb += [Assert(waited <= _SETTLING), Cover(turns.settled & (balance < 0) & dut.limited.any())]


@dataclass(eq=False)
class Turns(Bench):
    """Constant weights and levels, any requests and bytes, and accounts that settle at once. Ghost state: the accounts;
    ``waited`` counts the looks in which ``one`` requested, no higher level did, and it was not chosen."""

    shares: Shares

    def describe(self, m: Module) -> None:
        m.submodules.dut = dut = self.shares
        turns = dut.turns
        free(m, "asks", dut.asks)
        free(m, "look", dut.look)
        free(m, "charge", dut.charge)
        free(m, "cost", dut.cost)
        weights = fixed(m, "weights", _COUNT * _BITS)
        pairs = [C(number) for number in range(_COUNT)]
        balances = _balances(m, turns, weights, pairs)
        for number, balance in enumerate(balances):
            for name, held in zip(
                ("rich", "deep", "full"), _compared(balance, weights, pairs[number]), strict=True
            ):
                m.d.comb += getattr(turns, name)[number].eq(held)
        m.d.comb += dut.levels.eq(fixed(m, "levels", data.ArrayLayout(2, _COUNT)))
        looked, charged = Signal(), Signal()
        asks, asked = Signal(_COUNT), Signal(_COUNT)
        m.d.sync += [looked.eq(dut.look), asks.eq(dut.asks)]
        with m.If(dut.look):
            m.d.sync += [asked.eq(asks), charged.eq(0)]
        with m.Elif(dut.charge):
            m.d.sync += charged.eq(1)
        chosen_one = dut.choice.any()
        m.d.comb += [
            Assume(~dut.charge | (chosen_one & ~dut.look & ~charged)),
            Assume(~dut.look | charged | ~chosen_one),
            Assume(dut.cost != 0),
        ]

        one = fixed(m, "one", range(_COUNT))
        m.d.comb += Assume(one < _COUNT)
        mine = Signal(2)
        m.d.comb += mine.eq(Cat(dut.levels).word_select(one, 2))
        counts = (
            asks.bit_select(one, 1)
            & ~Cat(asks[number] & (dut.levels[number] > mine) for number in range(_COUNT)).any()
        )
        waited = Signal(range(2 * _LONGEST))
        before = Signal()
        # Whether it was chosen is known a cycle after the look.
        chosen = dut.choice.bit_select(one, 1)
        spent = Signal.like(waited)
        m.d.comb += spent.eq(Mux(before & looked & ~chosen, waited + 1, Mux(looked, 0, waited)))
        m.d.sync += waited.eq(spent)
        with m.If(dut.look):
            m.d.sync += before.eq(counts)
        chosen_level = Signal(2)
        for number in range(_COUNT):
            with m.If(dut.choice[number]):
                m.d.comb += chosen_level.eq(dut.levels[number])
        m.d.comb += [
            Assert((dut.choice & ~asked) == 0),
            Assert((dut.choice & (dut.choice - 1)) == 0),
            Assert(spent <= _LONGEST),
            Cover(spent == _MOST),
        ]
        for number in range(_COUNT):
            m.d.comb += Assert(~(dut.choice.any() & asked[number]) | (dut.levels[number] <= chosen_level))


PROOFS = [
    Proof(
        name="owner_read",
        config="1 lane, bursts of 2",
        claim="every address of a reader is of the owner of its command",
        blocks=(AxiReader,),
        built_so=engine_with(owners=True, units=True),
        bench=lambda: OwnedReading(AxiReader(SHAPE)),
        rules=(RULES,),
        cover=24,
        quick=False,
    ),
    Proof(
        name="owner_written",
        config="1 lane, bursts of 2",
        claim="every address of a writer is of the owner of its command",
        blocks=(AxiWriter,),
        built_so=engine_with(owners=True, units=True),
        bench=lambda: OwnedWriting(AxiWriter(SHAPE)),
        rules=(RULES,),
        prepare=REDUCED,
        cover=24,
        quick=False,
    ),
    Proof(
        name="owner_kept",
        config="2 slots",
        claim="the commands of a descriptor are of its owner, and all else is as without owners",
        blocks=(Slots,),
        built_so=engine_with(owners=True, realign=True),
        bench=lambda: Keeping(Slots(8, 8, 2, options=RecordOptions(stream_id_bits=2))),
        quick=False,
    ),
    Proof(
        name="owner_lock",
        config="2 bits of each ID",
        claim="owners that are allowed, and that of rings, change by writes alone, and not once they are locked, over a "
        "soft reset too",
        blocks=(RegisterFile,),
        built_so=engine_with(owners=True, realign=True, units=True),
        bench=lambda: LockedOwners(RegisterFile(REGISTERS)),
        cover=24,
    ),
    Proof(
        name="shares",
        config="3 that ask, weights and levels of 2 bits",
        claim="who is chosen asks and none of a higher level does, and with any weights no one of the highest level waits "
        "for ever",
        blocks=(Shares,),
        bench=lambda: Turns(Shares(_COUNT, _BITS)),
        prepare=REDUCED,
        quick=False,
    ),
    Proof(
        name="accounts",
        config="3 pairs, weights, limits and costs of 2 bits",
        claim="what is left of a turn is what it got and paid, whatever limits do meanwhile, and is known in time",
        blocks=(Accounts,),
        bench=lambda: Balanced(
            Accounts(_COUNT, _BITS, step_log2=0, weight_bits=_BITS, limit_bits=_BITS, often_log2=_OFTEN_LOG2)
        ),
        prepare=REDUCED,
        cover=60,
        quick=False,
    ),
]
