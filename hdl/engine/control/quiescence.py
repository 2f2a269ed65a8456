"""A Q-channel: before the clock or the power goes, a controller asks the engine for quiescence."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import In, Out

__all__ = ["SETTLING_CYCLES", "Quiescence"]

#: Work that goes from one part of the engine to the next, and what was taken last, show again well within so many cycles.
SETTLING_CYCLES = 32


class Quiescence(wiring.Component):
    """Answers a controller by the low-power interface of Arm IHI 0068.

    After a request, what is in flight ends, while the engine still takes what it is given. Then it takes nothing, and
    accepts if all is quiet for ``settling_cycles``. It denies as soon as a descriptor waits, or if an input was taken at the
    last moment. After a reset it is quiescent until the controller lets it run.

    ``request_n``
        Low while the controller asks; asynchronous.
    ``accept_n``
        Low while the engine is quiescent.
    ``deny``
        High from a denial until the request is taken back.
    ``working``
        Something is in flight.
    ``taking``
        An input is offered, or what was taken is not answered.
    ``pending``
        A descriptor waits.
    ``closed``
        The engine may take nothing.
    ``shut``
        Nothing is taken any more, and all is answered, where inputs are ``far``, in another clock domain.
    """

    def __init__(self, settling_cycles: int = SETTLING_CYCLES, *, far: bool = False) -> None:
        self.settling_cycles = settling_cycles
        self.far = far
        super().__init__(
            {
                "request_n": In(1, init=1),
                "accept_n": Out(1),
                "deny": Out(1),
                "working": In(1),
                "taking": In(1),
                "pending": In(1),
                "closed": Out(1, init=1),
                **({"shut": In(1)} if far else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        asked_n = Signal()
        m.submodules.synchronizer = FFSynchronizer(self.request_n, asked_n)
        quiet = Signal(range(self.settling_cycles))
        settled = quiet == self.settling_cycles - 1
        with m.FSM(init="stopped"):
            with m.State("stopped"), m.If(asked_n):
                m.d.sync += [self.accept_n.eq(1), self.closed.eq(0)]
                m.next = "running"
            with m.State("running"), m.If(~asked_n):
                m.d.sync += quiet.eq(0)
                m.next = "finishing"
            with m.State("finishing"):
                m.d.sync += quiet.eq(Mux(self.working, 0, quiet + 1))
                with m.If(self.pending):
                    m.d.sync += self.deny.eq(1)
                    m.next = "denied"
                with m.Elif(~self.working & settled):
                    m.d.sync += self.closed.eq(1)
                    m.next = "closing"
            with m.State("closing"):
                m.d.sync += quiet.eq(Mux(self.shut, quiet + 1, 0) if self.far else quiet + 1)
                with m.If(self.pending | self.working | self.taking):
                    m.d.sync += [self.deny.eq(1), self.closed.eq(0)]
                    m.next = "denied"
                with m.Elif(settled):
                    m.d.sync += self.accept_n.eq(0)
                    m.next = "stopped"
            with m.State("denied"), m.If(asked_n):
                m.d.sync += self.deny.eq(0)
                m.next = "running"
        return m
