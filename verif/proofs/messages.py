"""Messages: each event has one that begins after it, and there are no more of them than events."""

from __future__ import annotations

from amaranth.hdl import Assert, Assume, Cover, Module, Mux, Signal, Value

from cdma.hdl.engine.channel.interfaces import CHANNELS
from cdma.hdl.engine.rings.messages import Messages
from cdma.hdl.spec.engine import EngineConfig

from .bench import Bench, free, hold, last_cycle
from .proof import REDUCED, Proof

__all__ = ["PROOFS", "Told"]

_SMALL = EngineConfig(msi=True, host_data_bits=64, host_address_bits=16)
#: Cycles in which the port keeps nobody waiting, until the address of a message is offered: a message of either channel may
#: be under way.
_LONGEST = 20
#: A message that is to be written, and one that has begun.
_MOST = 2


class Told(Bench):
    """Bits of two channels' status that are set at any time, cleared and enabled by software at any time, soft resets, and a
    port that takes and answers whenever it likes.

    Ghost state of each channel: ``told`` is low from an event to the first cycle of the next address, ``late`` counts the
    cycles of that in which the port keeps nobody waiting, ``credit`` the events that have no message yet.
    """

    def __init__(self, messages: Messages) -> None:
        super().__init__()
        self.messages = messages

    def describe(self, m: Module) -> None:
        m.submodules.dut = dut = self.messages
        aw, w, b = dut.port.aw, dut.port.w, dut.port.b
        free(m, "stop", dut.stop)
        hold(m, aw, "aw")
        hold(m, w, "w")
        free(m, "b", b.payload)
        free(m, "b_valid", b.valid)
        # The state of the one write that may be open: its data are to come, its answer is.
        sends, waits = Signal(), Signal()
        taken, sent, answered = (each.valid & each.ready for each in (aw, w, b))
        m.d.sync += [sends.eq((sends | taken) & ~sent), waits.eq((waits | sent) & ~answered)]
        rises = aw.valid & ~last_cycle(m, aw.valid, "aw_before")
        stalls = (aw.valid & ~aw.ready) | (w.valid & ~w.ready) | (b.ready & ~b.valid)
        m.d.comb += [
            Assume(~b.valid | waits),
            Assert(~aw.valid | ~(sends | waits)),
            # Data are offered as soon as their address is taken.
            Assert(w.valid == sends),
            Assert(~b.valid | b.ready),
            Assert(dut.busy | ~(aw.valid | sends | waits)),
        ]
        for index, name in enumerate(CHANNELS):
            self._tell(m, name, rises & (aw.payload.id == index), stalls)

    def _tell(self, m: Module, name: str, rises: Value, stalls: Value) -> None:
        """The events of a channel, and what is claimed of it, whose message's address ``rises``."""
        channel = getattr(self.messages, name)
        sets, clears, enables = (free(m, f"{name}_{what}", shape=2) for what in ("sets", "clears", "enables"))
        status = Signal(2, name=f"{name}_status")
        m.d.sync += status.eq((status & ~clears) | sets)
        m.d.comb += [channel.shown.eq(status & enables), channel.comes.eq(sets)]
        anew = last_cycle(m, sets, f"{name}_sets_before") | ~last_cycle(
            m, channel.shown, f"{name}_shown_before"
        )
        event = (channel.shown & anew).any() & ~self.messages.stop
        given_up = self.messages.stop | ~channel.shown.any()
        told = Signal(init=1, name=f"{name}_told")
        late = Signal(range(_LONGEST + 2), name=f"{name}_late")
        credit = Signal(range(_MOST + 1), name=f"{name}_credit")
        more, fewer = event & (credit != _MOST), rises
        with m.If(event):
            m.d.sync += told.eq(0)
        with m.Elif(given_up | rises):
            m.d.sync += told.eq(1)
        with m.If(told | rises | given_up):
            m.d.sync += late.eq(0)
        with m.Elif(~stalls):
            m.d.sync += late.eq(late + 1)
        m.d.sync += credit.eq(Mux(fewer, credit - 1 + event, credit + more))
        m.d.comb += [
            Assert(told | channel.pending | given_up),
            Assert(late <= _LONGEST),
            Assert(~rises | (credit != 0)),
            Cover(rises & (credit == _MOST)),
            Cover(channel.failed),
        ]


PROOFS = [
    Proof(
        name="msi",
        config="a port of 64 bits",
        claim="each event that software does not clear has a message whose address is offered after it, in a bounded time, "
        "and there are no more messages than events",
        blocks=(Messages,),
        built_so=lambda config: isinstance(config, EngineConfig) and not config.coded_memories,
        bench=lambda: Told(Messages(_SMALL)),
        prepare=REDUCED,
    )
]
