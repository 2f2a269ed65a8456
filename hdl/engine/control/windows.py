"""Counts the accesses to registers that were refused, and keeps the first. The addresses that the engine may touch, as
the checkers of both channels read them: half an address at a time.
"""

from amaranth.hdl import C, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cdma.hdl.blocks.elaboration import Pace, optional
from cdma.hdl.blocks.memories import coding_of
from cdma.hdl.engine.channel.interfaces import WindowPort
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.registers.declare import DENIED_BITS
from cdma.hdl.spec.registers.description import REGISTER_BITS
from cdma.hdl.spec.registers.map import register_map

from .interfaces import ChangeLayout, Window


class Denied(data.StructLayout):
    """A refused access to the page of a ``pair``, in the cycle in which ``valid`` is high."""

    def __init__(self, address_bits: int, pair_bits: int = 0) -> None:
        super().__init__({"valid": 1, "pair": pair_bits, "address": address_bits, "prot": 3})


class Denials(wiring.Component):
    """What the register ``denied`` shows.

    ``write``, ``read``: The accesses that are refused; of two in one cycle the write counts as the first.
    ``clear``: Pulse: forgets all; an access that is refused in the same cycle is forgotten, too.
    ``count``: Stays at its largest value.
    """

    def __init__(self, address_bits: int) -> None:
        super().__init__(
            {
                "write": In(Denied(address_bits)),
                "read": In(Denied(address_bits)),
                "clear": In(1),
                "address": Out(address_bits),
                "prot": Out(3),
                "is_write": Out(1),
                "count": Out(DENIED_BITS),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        most = Const((1 << DENIED_BITS) - 1, DENIED_BITS)
        total = Signal(DENIED_BITS + 1)
        m.d.comb += total.eq(self.count + self.write.valid + self.read.valid)
        with m.If(self.clear):
            m.d.sync += self.count.eq(0)
        with m.Elif(total[-1]):
            m.d.sync += self.count.eq(most)
        with m.Else():
            m.d.sync += self.count.eq(total)
        with m.If(self.count == 0):
            with m.If(self.write.valid):
                m.d.sync += [
                    self.address.eq(self.write.address),
                    self.prot.eq(self.write.prot),
                    self.is_write.eq(1),
                ]
            with m.Else():
                m.d.sync += [
                    self.address.eq(self.read.address),
                    self.prot.eq(self.read.prot),
                    self.is_write.eq(0),
                ]
        return m


_PORTS = ("dev", "host")
#: Each channel, and which of them it writes to; it reads from the other one.
_CHANNELS = (("offload", 1), ("prefetch", 0))
_PAGE_LOG2 = 12
_IN_PAGE = (1 << _PAGE_LOG2) - 1


def _asked(m: Module, name: str, port: wiring.PureInterface, written: int) -> tuple[Value, Signal, Signal]:
    """The half that the channel of that name asks for: now, one cycle ago, two cycles ago. It is a number whose bit 0
    means the high half, and bit 1 the host port's window."""
    now = Cat(port.at.high, port.at.write == written)
    before = Signal(2, name=f"{name}_before")
    long_before = Signal(2, name=f"{name}_long_before")
    m.d.sync += [before.eq(now), long_before.eq(before)]
    return now, before, long_before


class DrivenWindows(wiring.Component):
    """Windows that other logic drives. A checker sees a change from the next cycle on, even during a check.

    ``dev_window``, ``host_window``: The windows of the two ports.
    ``offload``, ``prefetch``: The checkers of the two channels.
    """

    dev_window: In(Window)
    host_window: In(Window)
    offload: In(WindowPort())
    prefetch: In(WindowPort())

    def elaborate(self, platform: object) -> Module:
        m = Module()
        windows = (self.dev_window, self.host_window)
        bases = Cat(Cat(C(0, _PAGE_LOG2), window.base[_PAGE_LOG2:]) for window in windows)
        limits = Cat(window.limit | _IN_PAGE for window in windows)
        for name, written in _CHANNELS:
            port = getattr(self, name)
            _, before, long_before = _asked(m, name, port, written)
            m.d.comb += [
                port.base.eq(bases.word_select(before, REGISTER_BITS)),
                port.limit.eq(limits.word_select(long_before, REGISTER_BITS)),
            ]
        return m


class StoredWindows(wiring.Component):
    """Copies of the registers of both windows of all pairs, in memories of a few words. A checker sees a change from the
    cycle after the write on, or in a pipelined engine from the next one on, even during a check.

    ``changes``: All that is written into the memory of registers.
    ``offload``, ``prefetch``: The checkers of the two channels.
    ``offload_pair``, …: The pair whose windows a reader asks for.
    ``offload_lost``, …: With coded memories: pulse, two cycles after that: a word that it reads is lost.
    """

    def __init__(self, config: EngineConfig) -> None:
        self.registers = register_map(config)
        #: Those who read windows: with pages each channel's walk of them, too.
        self.readers: tuple[tuple[str, int], ...] = _CHANNELS
        if config.pages:
            self.readers += tuple((f"{name}_pages", written) for name, written in _CHANNELS)
        self.pipelined = config.pipelined
        self.pair_bits = (config.channels - 1).bit_length()
        self.address_bits = {"dev": config.dev_address_bits, "host": config.host_address_bits}
        super().__init__(
            {
                "changes": In(ChangeLayout(self.pair_bits)),
                **{name: In(WindowPort()) for name, _ in self.readers},
                **{f"{name}_pair": In(self.pair_bits) for name, _ in self.readers},
                **optional(config.coded_memories, **{f"{name}_lost": Out(1) for name, _ in self.readers}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.bases = bases = Memory(shape=REGISTER_BITS, depth=4 << self.pair_bits, init=[])
        m.submodules.limits = limits = Memory(shape=REGISTER_BITS, depth=4 << self.pair_bits, init=[])
        missing = self._copy(m, bases, limits)
        coding = coding_of(platform)
        for name, written in self.readers:
            port, pair = (getattr(self, each) for each in (name, f"{name}_pair"))
            now, before, long_before = _asked(m, name, port, written)
            lost = []
            for memory, half, asked, given in (
                (bases, port.base, now, before),
                (limits, port.limit, before, long_before),
            ):
                read = memory.read_port(domain="sync")
                absent = Cat(given == row for row in missing).any()
                # A window whose edge is lost is closed: it begins at the end, or ends at the beginning.
                closed = C(-1 if memory is bases else 0, REGISTER_BITS)
                # Another reader may be at a lost word of another pair.
                line, pulse = coding.at_port(read)
                lost.append(pulse)
                word = Mux(line, closed, read.data) if coding.coded else read.data
                reads: Value | int = 1
                if coding.coded and missing:
                    # What no register has nobody could write again if it were lost.
                    reads = ~Cat(asked == row for row in missing).any()
                m.d.comb += [read.addr.eq(Cat(asked, pair)), read.en.eq(reads), half.eq(Mux(absent, 0, word))]
            if coding.coded:
                m.d.comb += getattr(self, f"{name}_lost").eq(Cat(lost).any())
        return m

    def _copy(self, m: Module, bases: Memory, limits: Memory) -> list[int]:
        """Copies the registers; gives the rows that no register has, because the port has few address bits."""
        writes = {"base": bases.write_port(granularity=8), "limit": limits.write_port(granularity=8)}
        domain = Pace(m, self.pipelined).d
        domain += [write.data.eq(self.changes.data) for write in writes.values()]
        if self.pipelined:
            domain += [write.en.eq(0) for write in writes.values()]
        missing = []
        with m.Switch(self.changes.index):
            for number, port in enumerate(_PORTS):
                for high, half in enumerate(("low", "high")):
                    row = high | number << 1
                    if high and self.address_bits[port] <= REGISTER_BITS:
                        missing.append(row)
                        continue
                    for edge, write in writes.items():
                        with m.Case(self.registers.word(f"{port}_window.{edge}_{half}")):
                            domain += [
                                write.addr.eq(Cat(C(row, 2), self.changes.pair)),
                                write.en.eq(self.changes.enable),
                            ]
                            if (edge, half) == ("limit", "low"):
                                domain += write.data.eq(self.changes.data | _IN_PAGE)
        return missing
