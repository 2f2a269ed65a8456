"""The registers of a window: closed after a reset until software opens it, and as it is once it is locked."""

from __future__ import annotations

from amaranth.hdl import Assert, Assume, Cat, Cover, Module, Signal, Value

from cdma.hdl.engine.control.register_file import RegisterFile
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.options import rights
from cdma.hdl.spec.registers.description import REGISTER_BITS, RegisterMap
from cdma.hdl.spec.registers.optional import window_block

from .bench import Bench, free, last_cycle
from .proof import Proof

__all__ = ["PROOFS", "LockedWindow", "any_access"]

_PAGE_LOG2 = 12
#: What whoever uses the registers drives.
_DRIVEN = (
    "awaddr",
    "awprot",
    "awvalid",
    "wdata",
    "wstrb",
    "wvalid",
    "bready",
    "araddr",
    "arprot",
    "arvalid",
    "rready",
)


def any_access(m: Module, file: RegisterFile) -> None:
    """Anything on the bus of a register file, and at ``soft_reset``, at any time: whoever drives the bus keeps what was
    offered and not taken, as AXI asks."""
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


class LockedWindow(Bench):
    """A register file of one window, with anything on its bus and at ``soft_reset`` at any time.

    Ghost state: ``base`` and ``limit`` follow ``changes``, as the copies of the checkers and of the rings do. ``opened``
    says that software has written one of them.
    """

    def __init__(self, file: RegisterFile, protection: str) -> None:
        super().__init__()
        self.file = file
        self.protection = protection

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
        """A write that changes anything has the right."""
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


PROOFS = [_locked("none"), _locked("secure")]
