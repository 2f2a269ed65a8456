"""The Q-channel: it accepts only a quiet engine, never amid an access of another clock, and always answers."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Assert, Assume, Cover, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.engine.control.quiescence import Closing, Quiescence
from cdma.hdl.spec.engine import EngineConfig

from .bench import Bench, FreeClocks, free, last_cycle
from .proof import REDUCED, Proof

#: The block has 32; nothing depends on the number but the depth.
_SETTLING = 4
#: Cycles of the synchronizer, and from the first state to the next two.
_STATES = 5
#: An answer takes no more cycles from the last in which something was in flight.
_LONGEST = 2 * _SETTLING + _STATES


@dataclass(eq=False)
class Answers(Bench):
    """A controller that requests, and withdraws its request when it is answered; work that begins and ends at any time.

    Ghost state: ``quiet`` counts the cycles without work, ``unanswered`` those of a request in which nothing was in
    flight.
    """

    quiescence: Quiescence

    def describe(self, m: Module) -> None:
        m.submodules.dut = dut = self.quiescence
        for name in ("request_n", "working", "taking", "pending"):
            free(m, name, getattr(dut, name))
        request_n, accept_n, deny = dut.request_n, dut.accept_n, dut.deny
        was_n = last_cycle(m, request_n, "request_before")
        accepted_n = last_cycle(m, accept_n, "accept_before")
        denied = last_cycle(m, deny, "deny_before")
        answered = ~accept_n | deny
        idle = ~dut.working & ~dut.taking & ~dut.pending
        quiet = Signal(range(_SETTLING + 1))
        with m.If(~dut.closed | ~idle):
            m.d.sync += quiet.eq(0)
        with m.Elif(quiet != _SETTLING):
            m.d.sync += quiet.eq(quiet + 1)
        unanswered = Signal(range(_LONGEST + 2))
        with m.If(request_n | answered | dut.working):
            m.d.sync += unanswered.eq(0)
        with m.Else():
            m.d.sync += unanswered.eq(unanswered + 1)
        m.d.comb += [
            # The controller asks one that runs, and takes a request back that is answered.
            Assume(~was_n | request_n | (accept_n & ~deny)),
            Assume(was_n | ~request_n | answered),
            Assert(accept_n | ~deny),
            Assert(accept_n | dut.closed),
            Assert(~(accepted_n & ~accept_n) | (~was_n & (quiet == _SETTLING))),
            Assert(~(~accepted_n & accept_n) | was_n),
            Assert(~(~denied & deny) | ~was_n),
            Assert(~(denied & ~deny) | was_n),
            Assert(unanswered <= _LONGEST),
            Cover(accepted_n & ~accept_n),
            Cover(denied & ~deny),
            Cover(deny & last_cycle(m, dut.closed, "was_closed")),
        ]


_BUS = "bus"
#: The block has 32; nothing depends on the number but the depth.
_FAR_SETTLING = 2
#: Edges of the bus in reset at the beginning.
_RESET_EDGES = 3


class FarInputs(wiring.Component):
    """A Q-channel, and an input on the other clock with one access at a time.

    ``offers``, ``ready``, ``answers``: The bus offers an access, the input is ready for it, and the open one is
        answered.
    ``takes``, ``open``: An access is accepted at the next edge of the bus; one is open.
    """

    def __init__(self, closing: type[Closing] = Closing) -> None:
        self.quiescence = Quiescence(_FAR_SETTLING, far=True)
        self.closing = closing(bus=_BUS)
        names = ("request_n", "working", "pending", "offers", "ready", "answers", "in_reset")
        super().__init__(
            {**dict.fromkeys(names, In(1)), **dict.fromkeys(("accept_n", "deny", "takes", "open"), Out(1))}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.quiescence, m.submodules.closing = quiescence, closing = self.quiescence, self.closing
        held = Signal()
        may = Signal()
        m.d.comb += [
            *(
                getattr(quiescence, name).eq(getattr(self, name))
                for name in ("request_n", "working", "pending")
            ),
            *(getattr(self, name).eq(getattr(quiescence, name)) for name in ("accept_n", "deny")),
            closing.closed.eq(quiescence.closed),
            quiescence.shut.eq(closing.shut),
            may.eq(~self.in_reset & (~closing.closes | held)),
            self.takes.eq(self.offers & may & self.ready),
            closing.open.eq(self.open | (self.offers & may)),
        ]
        m.d[_BUS] += [
            held.eq(self.offers & may & ~self.ready),
            self.open.eq((self.open & ~self.answers) | self.takes),
        ]
        return m


@dataclass(eq=False)
class Apart(Bench):
    """Clocks that tick at any time; the bus is reset at first, and at any time."""

    inputs: FarInputs

    def describe(self, m: Module) -> None:
        clocks, dut = FreeClocks("sync", _BUS), self.inputs
        m.submodules.dut = clocks.built(dut)
        for name, tick in clocks.ticks.items():
            free(m, f"{name}_ticks", tick)
        for number, late in enumerate(clocks.late):
            free(m, f"late_{number}", late)
        for name in ("request_n", "working", "pending", "offers", "ready", "answers", "in_reset"):
            free(m, name, getattr(dut, name))
        edges = Signal(range(_RESET_EDGES + 1))
        with m.If(clocks.ticks[_BUS] & (edges != _RESET_EDGES)):
            m.d.sync += edges.eq(edges + 1)
        accepted_n = last_cycle(m, dut.accept_n, "accept_before")
        worked = Signal()
        with m.If(dut.takes & clocks.ticks[_BUS]):
            m.d.sync += worked.eq(1)
        m.d.comb += [
            clocks.resets["sync"].eq(0),
            clocks.resets[_BUS].eq(dut.in_reset),
            Assume(dut.in_reset | (edges == _RESET_EDGES)),
            Assert(dut.accept_n | ~(dut.open | (dut.takes & clocks.ticks[_BUS]))),
            Cover(worked & accepted_n & ~dut.accept_n),
            Cover(worked & dut.deny & last_cycle(m, dut.open, "was_open")),
        ]


PROOFS = [
    Proof(
        name="quiescence",
        config="settles in 4 cycles",
        claim="a Q-channel keeps its states, accepts after so many cycles in which nothing was taken, done or waiting, and "
        "answers as soon as what is in flight has ended",
        blocks=(Quiescence,),
        built_so=lambda config: (
            isinstance(config, EngineConfig) and config.quiescence and not config.domains.registers_cross
        ),
        bench=lambda: Answers(Quiescence(_SETTLING)),
        cover=_LONGEST + 16,
    ),
    Proof(
        name="quiescence_apart",
        config="settles in 2 cycles",
        claim="a Q-channel whose inputs have another clock, which ticks and is reset at any time, accepts only when every "
        "access is answered, and none begins until it runs again",
        blocks=(Quiescence, Closing),
        built_so=lambda config: isinstance(config, EngineConfig) and config.quiescence,
        bench=lambda: Apart(FarInputs()),
        cover=50,
        prepare=REDUCED,
    ),
]
