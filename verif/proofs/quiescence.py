"""The Q-channel: its states are those of the standard, it accepts only what has been quiet, and it always answers."""

from __future__ import annotations

from amaranth.hdl import Assert, Assume, Cover, Module, Signal

from cdma.hdl.engine.control.quiescence import Quiescence
from cdma.hdl.spec.engine import EngineConfig

from .bench import Bench, free, last_cycle
from .proof import Proof

__all__ = ["PROOFS", "Answers"]

#: The block has 32; nothing depends on the number but the depth.
_SETTLING = 4
#: Cycles of the synchronizer, and from the first state to the next two.
_STATES = 5
#: An answer takes no more cycles from the last in which something was in flight.
_LONGEST = 2 * _SETTLING + _STATES


class Answers(Bench):
    """A controller that asks, and takes its request back when it is answered; work that begins and ends at any time.

    Ghost state: ``quiet`` counts the cycles in which nothing was taken, done or waiting, ``unanswered`` those of a request
    in which nothing was in flight.
    """

    def __init__(self, quiescence: Quiescence) -> None:
        super().__init__()
        self.quiescence = quiescence

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
    )
]
