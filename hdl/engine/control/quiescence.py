"""How the engine comes to rest: gated clocks, soft reset, closing and quiescence."""

from __future__ import annotations

from amaranth.hdl import Cat, DomainRenamer, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import In, Out

from cdma.hdl.blocks.clocks import Synchroniser
from cdma.hdl.blocks.elaboration import optional
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.registers.map import register_map

#: The clock domain of registers, rings and windows.
CONTROL = "control"

#: Registers and rings have done within so many cycles what follows from the last that they were given.
_SETTLING_CYCLES = 64


def settling_cycles(config: EngineConfig) -> int:
    """Cycles for which that clock runs on: after a reset the registers get their values one by one."""
    return config.channels * len(register_map(config).kept) + _SETTLING_CYCLES


def accessed(bus: wiring.PureInterface) -> list[Value]:
    """What is high while registers are accessed."""
    return [getattr(bus, f"{channel}valid") for channel in ("aw", "w", "b", "ar", "r")]


#: Cycles of a soft reset where parts are reset one after the other.
_RESET_CYCLES = 3


def soft_reset(
    m: Module, control: wiring.PureInterface, stopped: Value, clear: Signal, *, staged: bool
) -> None:
    """Drives ``clear`` for a ``control.soft_reset`` once all has ``stopped``, and ``control.resetting`` until then. Nothing
    may begin meanwhile, so that what has stopped stays so. ``staged`` is that of :class:`.Clocking`."""
    cleared = Signal()
    with m.If(control.soft_reset):
        m.d.sync += control.resetting.eq(1)
    with m.Elif(cleared):
        m.d.sync += control.resetting.eq(0)
    if not staged:
        m.d.comb += cleared.eq(clear)
        m.d.sync += clear.eq(control.resetting & ~clear & stopped)
    else:
        # Parts of parts are reset a cycle after those: all together, and until all are.
        steps = Signal(_RESET_CYCLES)
        ready = Signal()
        m.d.comb += cleared.eq(steps[-1])
        m.d.sync += [
            ready.eq(control.resetting & stopped),
            clear.eq(control.resetting & ~cleared & (clear | ready)),
            steps.eq(Mux(cleared, 0, Cat(clear, steps))),
        ]


class Closing(wiring.Component):
    """Closes inputs of the domain ``bus`` from the domain ``sync``, by a handshake of four phases.

    ``closed``: The inputs are to take nothing. It may change at any time.
    ``shut``: They have taken nothing, and all is answered, since ``closed`` rose.
    ``closes``: The bus: the inputs take nothing more.
    ``open``: The bus: something is taken, or not answered yet.
    """

    def __init__(self, *, bus: str) -> None:
        self.bus = bus
        super().__init__({"closed": In(1), "shut": Out(1), "closes": Out(1), "open": In(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        closes_seen = Synchroniser()
        m.submodules.closes_seen = DomainRenamer(self.bus)(closes_seen)
        m.submodules.rests_seen = rests_seen = Synchroniser()
        asks = Signal(init=1)
        # A reset of the bus leaves nothing open, and cuts no handshake short.
        rests = Signal(name="rests_level", reset_less=True)
        m.d[self.bus] += rests.eq(self.closes & ~self.open)
        with m.If(asks == rests_seen.output):
            m.d.sync += asks.eq(self.closed)
        m.d.comb += [
            closes_seen.input.eq(asks),
            self.closes.eq(closes_seen.output),
            rests_seen.input.eq(rests),
            self.shut.eq(asks & rests_seen.output & self.closed),
        ]
        return m


#: Work that goes from one part of the engine to the next, and what was taken last, show again well within so many cycles.
SETTLING_CYCLES = 32


class Quiescence(wiring.Component):
    """Answers a controller by the low-power interface of Arm IHI 0068.

    After a request, what is in flight ends, while the engine still takes what it is given. Then it takes nothing, and
    accepts if all is quiet for ``settling_cycles``. It denies as soon as a descriptor waits, or if an input was taken at the
    last moment. After a reset it is quiescent until the controller lets it run.

    ``request_n``: Low while the controller asks; asynchronous.
    ``accept_n``: Low while the engine is quiescent.
    ``deny``: High from a denial until the request is taken back.
    ``working``: Something is in flight.
    ``taking``: An input is offered, or what was taken is not answered.
    ``pending``: A descriptor waits.
    ``closed``: The engine may take nothing.
    ``shut``: Nothing is taken any more, and all is answered, where inputs are ``far``, in another clock domain.
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
                **optional(far, shut=In(1)),
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
