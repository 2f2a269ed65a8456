"""Window registers, closed until software opens them and fixed once locked; messages, one after each event."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Assert, Assume, Cat, Cover, Module, Mux, Signal, Value

from cdma.hdl.engine.channel.interfaces import CHANNELS
from cdma.hdl.engine.control.register_file import RegisterFile
from cdma.hdl.engine.rings.messages import Messages
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.options import rights
from cdma.hdl.spec.registers.description import REGISTER_BITS, RegisterMap
from cdma.hdl.spec.registers.optional import window_block

from .bench import Bench, free, hold, last_cycle
from .proof import REDUCED, Proof

_PAGE_LOG2 = 12
#: What whoever uses the registers drives.
_DRIVEN = (
    "awaddr", "awprot", "awvalid", "wdata", "wstrb", "wvalid", "bready", "araddr", "arprot", "arvalid",
    "rready",
)  # fmt: skip


def any_access(m: Module, file: RegisterFile) -> None:
    """Any accesses to a register file that AXI4-Lite allows, and ``soft_reset`` at any time."""
    bus = file.bus
    for name in _DRIVEN:
        free(m, name, getattr(bus, name))
    free(m, "soft_reset", file.soft_reset)
    for channel, fields in (("aw", ("addr", "prot")), ("w", ("data", "strb"))):
        valid, ready = getattr(bus, f"{channel}valid"), getattr(bus, f"{channel}ready")
        payload = Cat(getattr(bus, f"{channel}{field}") for field in fields)
        waiting = last_cycle(m, valid & ~ready, f"{channel}_waiting")
        same = payload == last_cycle(m, payload, f"{channel}_before")
        m.d.comb += Assume(~waiting | (valid & same))


@dataclass(eq=False)
class LockedWindow(Bench):
    """A register file of one window, with any accesses and ``soft_reset`` at any time.

    Ghost state: ``base`` and ``limit`` follow ``changes``, like the copies in checkers and rings. ``opened`` is set
    once software has written one of them.
    """

    file: RegisterFile
    protection: str

    def describe(self, m: Module) -> None:
        m.submodules.dut = dut = self.file
        bus = dut.bus
        any_access(m, dut)
        changes, window = dut.changes, dut.dev_window
        edges = {edge: Signal(2 * REGISTER_BITS, name=f"ghost_{edge}") for edge in ("base", "limit")}
        with m.Switch(changes.index):
            for edge, ghost in edges.items():
                for number, half in enumerate(("low", "high")):
                    with m.Case(dut.registers.word(f"dev_window.{edge}_{half}")):
                        for byte, enable in enumerate(changes.enable):
                            first = REGISTER_BITS * number + 8 * byte
                            with m.If(enable):
                                m.d.sync += ghost[first : first + 8].eq(changes.data.word_select(byte, 8))
        base, limit = edges["base"], edges["limit"]
        opened, ready = Signal(name="opened"), Signal(name="ready")
        written = changes.enable.any() & bus.awready
        m.d.sync += [opened.eq(opened | written), ready.eq(ready | dut.settled)]
        locked = window.lock.locked
        before = {edge: last_cycle(m, ghost, f"{edge}_before") for edge, ghost in edges.items()}
        was_locked = last_cycle(m, locked, "was_locked")
        m.d.comb += [
            Assert(~was_locked | locked),
            Assert(~was_locked | Cat(base == before["base"], limit == before["limit"]).all()),
            # No page is at or above the base and at or below the limit.
            Assert(opened | ~ready | (base[_PAGE_LOG2:] > limit[_PAGE_LOG2:])),
            *self._rightful(m, bus, written),
            Cover(was_locked & (limit > base) & last_cycle(m, dut.soft_reset, "was_reset")),
            Cover(opened & ~locked & (limit > base)),
        ]

    def _rightful(self, m: Module, bus: Value, written: Value) -> list[Assert]:
        mask, value = rights(self.protection)
        return [Assert(~written | ((bus.awprot & mask) == value))]


def _locked(protection: str) -> Proof:
    registers = RegisterMap(
        "window", "One window.", (window_block("dev", EngineConfig().dev_address_bits, 0x0, opened=False),), 5
    )
    return Proof(
        name="window_lock",
        config=f"64 bits of address, {protection}",
        claim="a window is closed after a reset until software writes it with the right to, and stays as it is once locked, "
        "over a soft reset too",
        blocks=(RegisterFile,),
        built_so=lambda config: (
            isinstance(config, EngineConfig)
            and not config.pipelined
            and not config.open_windows
            and config.register_protection == protection
        ),
        bench=lambda: LockedWindow(RegisterFile(registers, protection=protection), protection),
        cover=24,
    )


_SMALL = EngineConfig(msi=True, host_data_bits=64, host_address_bits=16)
#: Cycles in which the port keeps nobody waiting, until the address of a message is offered: a message of either channel may
#: be under way.
_LONGEST = 20
#: A message that is to be written, and one that has begun.
_MOST = 2


@dataclass(eq=False)
class Told(Bench):
    """Status bits of two channels, set at any time, cleared and enabled by software at any time, soft resets, and a port
    that accepts and answers at any time.

    Ghost state of each channel: ``told`` is low from an event to the first cycle of the next address, ``late`` counts
    the cycles of that in which the port stalls nobody, ``credit`` the events without a message.
    """

    messages: Messages

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
        """The events of a channel and its claims; its message's address ``rises``."""
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
    _locked("none"),
    _locked("secure"),
    Proof(
        name="msi",
        config="a port of 64 bits",
        claim="each event that software does not clear has a message whose address is offered after it, in a bounded time, "
        "and there are no more messages than events",
        blocks=(Messages,),
        built_so=lambda config: isinstance(config, EngineConfig) and not config.coded_memories,
        bench=lambda: Told(Messages(_SMALL)),
        prepare=REDUCED,
    ),
]
