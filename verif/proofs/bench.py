"""The vocabulary of benches: free inputs, claims about streams, clocks, windows, and AXI4 ports with their rules.

A bench holds a block, drives its inputs with values that may be anything, and states with ``Assume``, ``Assert`` and
``Cover`` what may come, what must hold, and what must be possible. Registers that remember what happened are ghost
state: they observe, and drive nothing.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any

from amaranth.back import rtlil
from amaranth.hdl import (
    Assert,
    Assume,
    C,
    Cat,
    ClockDomain,
    ClockSignal,
    DomainRenamer,
    Elaboratable,
    EnableInserter,
    Fragment,
    Instance,
    Module,
    ResetInserter,
    Signal,
    Value,
)
from amaranth.lib import stream, wiring
from amaranth.utils import exact_log2

from cdma.hdl.axi.ports import PortShape
from cdma.hdl.blocks.clocks import Synchroniser
from cdma.hdl.engine.control.windows import DrivenWindows


class Bench(Elaboratable):
    """The top of a proof. A run begins with the initial values, which are those after a reset.

    ``any_start``: The registers of the block begin with anything instead; those of the bench itself with their initial
        values.
    """

    any_start = False

    @cached_property
    def domain(self) -> ClockDomain:
        """That of the block and of the bench."""
        return ClockDomain("sync", reset_less=True)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.domains.sync = self.domain
        self.describe(m)
        return m

    def describe(self, m: Module) -> None:
        """Adds the block, its environment and the claims."""
        raise NotImplementedError

    def rtlil(self) -> str:
        """The bench as Yosys reads it, a module called ``top``."""
        text = str(rtlil.convert(self, name="top", ports=[self.domain.clk]))
        # Amaranth takes the cells for modules of the user's.
        text = text.replace("cell \\$any", "cell $any")
        if self.any_start:
            modules = text.split("\nattribute \\generator")
            text = "\nattribute \\generator".join(
                part if "module \\top\n" in part else _INITIAL.sub("", part) for part in modules
            )
        return text


#: What a register of RTLIL begins with.
_INITIAL = re.compile(r"^ *attribute \\init .*\n", re.MULTILINE)


def _any(m: Module, kind: str, name: str, value: Value) -> None:
    m.submodules[f"any_{name}"] = Instance(kind, p_WIDTH=len(value), o_Y=value)


def free(m: Module, name: str, target: Value | None = None, *, shape: object = 1) -> Value:
    """A value that may be another one in every cycle: ``target``, an input of the block, or a new signal."""
    target = Signal(shape, name=name) if target is None else target
    value = Value.cast(target)
    if len(value):
        source = Signal(len(value), name=f"{name}_free")
        _any(m, "$anyseq", name, source)
        m.d.comb += value.eq(source)
    return target


def fixed(m: Module, name: str, shape: object) -> Value:
    """A value that may be any, and stays the same for ever."""
    target = Signal(shape, name=name)
    _any(m, "$anyconst", name, Value.cast(target))
    return target


def started(m: Module) -> Signal:
    """High from the second cycle on."""
    high = Signal(name="started")
    m.d.sync += high.eq(1)
    return high


def last_cycle(m: Module, value: Value, name: str, *, init: int = 0) -> Signal:
    """The value in the cycle before."""
    before = Signal(len(Value.cast(value)), name=name, init=init)
    m.d.sync += before.eq(value)
    return before


def _held(m: Module, port: stream.Interface, name: str) -> Value:
    """Whether a stream keeps its rules: an offered transfer stays until it is accepted."""
    payload = Value.cast(port.payload)
    waiting = last_cycle(m, port.valid & ~port.ready, f"{name}_was_waiting")
    before = last_cycle(m, payload, f"{name}_was")
    return ~waiting | (port.valid & (payload == before))


def obey(m: Module, port: stream.Interface, name: str) -> None:
    """Drives a stream into the block: anything at any time, by the rules of streams."""
    free(m, f"{name}_payload", port.payload)
    free(m, f"{name}_valid", port.valid)
    m.d.comb += Assume(_held(m, port, name))


def hold(m: Module, port: stream.Interface, name: str) -> None:
    """Takes a stream from the block, at any time, and claims that it keeps the rules of streams."""
    free(m, f"{name}_ready", port.ready)
    m.d.comb += Assert(_held(m, port, name))


def any_windows(m: Module, port: Any, *, compressing: bool) -> tuple[Value, Value]:
    """Drives the windows of a channel: the one that it reads in, and the one that it writes in."""
    m.submodules.windows = windows = DrivenWindows()
    wiring.connect(m, port, windows.offload if compressing else windows.prefetch)
    for side in ("dev", "host"):
        window = getattr(windows, f"{side}_window")
        for edge in ("base", "limit"):
            m.d.comb += window[edge].eq(fixed(m, f"{side}_{edge}", 64))
    dev, host = windows.dev_window, windows.host_window
    return (dev, host) if compressing else (host, dev)


#: The file of the rules.
RULES = "axi4_manager.sv"

_INCR = 1
#: The channels whose valid is the manager's, and what each carries.
_CARRIES = {
    "ar": ("addr", "len", "size"),
    "aw": ("addr", "len", "size"),
    "w": ("data", "last"),
    "r": ("data", "resp", "last"),
    "b": ("resp",),
}
_OF_MANAGER = ("ar", "aw", "w")


class Side:
    """What benches need of the port besides the rules.

    ``write_open``, ``write_address``: Whether a write burst is open, and the address of its beat that comes next.
    ``idle``: Nothing is in flight.
    """

    def __init__(self, name: str, address_bits: int) -> None:
        self.write_open = Signal(name=f"{name}_write_open")
        self.write_address = Signal(address_bits, name=f"{name}_write_address")
        self.idle = Signal(name=f"{name}_idle")


def legal_subordinate(m: Module, shape: PortShape, name: str = "port", **port: Any) -> Side:
    """Puts the rules on the ports of a manager, one for reading, one for writing, or both; answers are any legal ones."""
    return _bind(m, shape, name, free_manager=False, **port)


def legal_manager(m: Module, shape: PortShape, name: str, **port: Any) -> Side:
    """Puts the rules on the ports of a subordinate; requests are any legal ones."""
    return _bind(m, shape, name, free_manager=True, **port)


def _bind(
    m: Module,
    shape: PortShape,
    name: str,
    *,
    free_manager: bool,
    read: Any = None,
    write: Any = None,
    id_bits: int = 0,
    taken_within: int = 0,
) -> Side:
    side = Side(name, shape.address_bits)
    beat = shape.data_bits // 8
    widths = {"addr": shape.address_bits, "len": 8, "size": 3, "data": shape.data_bits, "resp": 2, "last": 1}
    ports: dict[str, Any] = {
        "i_clk": ClockSignal(),
        "i_resetn": C(1),
        "o_write_address": side.write_address,
        "o_write_open": side.write_open,
        "o_idle": side.idle,
    }
    for channel, members in _CARRIES.items():
        stream: Any = getattr(read if channel in ("ar", "r") else write, channel, None)
        sends = (channel in _OF_MANAGER) == free_manager

        def value(target: Any, kind: str, *, driven: bool, channel: str = channel) -> Value:
            return free(m, f"{name}_{channel}{kind}", Value.cast(target)) if driven else Value.cast(target)

        for kind in ("valid", "ready"):
            driven = sends == (kind == "valid")
            ports[f"i_{channel}{kind}"] = (
                C(0, 1) if stream is None else value(getattr(stream, kind), kind, driven=driven)
            )
        for kind in members:
            member = "address" if kind == "addr" else kind
            ports[f"i_{channel}{kind}"] = (
                C(0, widths[kind]) if stream is None else value(stream.payload[member], kind, driven=sends)
            )
        if channel != "w":
            known = stream is not None and id_bits
            ports[f"i_{channel}id"] = (
                value(stream.payload.id, "id", driven=sends) if known else C(0, max(1, id_bits))
            )
        if channel in ("ar", "aw"):
            ports[f"i_{channel}burst"] = C(_INCR, 2)
            ports[f"i_{channel}beside"] = C(0, 1)
        if channel == "w":
            keep: Value = C(0, beat)
            if stream is not None:
                words = value(stream.payload.keep, "keep", driven=sends)
                keep = Cat(lane.replicate(shape.word_bits // 8) for lane in words)
            ports["i_wstrb"] = keep
    m.submodules[f"{name}_rules"] = Instance(
        "axi4_manager",
        p_ID_BITS=max(1, id_bits),
        p_ADDRESS_BITS=shape.address_bits,
        p_DATA_BITS=shape.data_bits,
        p_OUTSTANDING=shape.outstanding,
        p_LONGEST=shape.burst,
        # The longest burst divides 4 KiB, so what crosses none of its multiples does not cross 4 KiB.
        p_BOUNDARY_LOG2=exact_log2(shape.burst * beat),
        p_ALIGNED=1,
        p_NO_EMPTY_STROBES=1,
        p_TAKEN_WITHIN=taken_within,
        p_MANAGER_ASSUMED=int(free_manager),
        p_SUBORDINATE_ASSERTED=int(free_manager),
        **ports,
    )
    return side


#: The domain of all steps, in components that are not built yet.
_STEPS = "steps"


class FreeClocks:
    """Builds components of several clock domains in one, as Amaranth's platform.

    ``ticks``, ``resets``: For each domain whether its clock has an edge in this step, and whether it is in reset.
    ``late``, ``inputs``: For each synchroniser: the bits that it sees late, if they changed in the step before, and its
        input.
    """

    def __init__(self, *domains: str) -> None:
        self.ticks = {domain: Signal(name=f"{domain}_ticks") for domain in domains}
        self.resets = {domain: Signal(name=f"{domain}_reset") for domain in domains}
        self.late: list[Signal] = []
        self.inputs: list[Signal] = []

    def get_synchroniser(self, cell: Synchroniser) -> Elaboratable:
        m = Module()
        late = Signal(cell.bits, name=f"late_{len(self.late)}")
        self.late.append(late)
        self.inputs.append(cell.input)
        before = Signal(cell.bits)
        first, second = (Signal(cell.bits, name=name, reset_less=True) for name in ("first", "second"))
        m.d[_STEPS] += before.eq(cell.input)
        m.d.sync += [first.eq((before & late) | (cell.input & ~late)), second.eq(first)]
        m.d.comb += cell.output.eq(second)
        return m

    def built(self, component: Elaboratable) -> Elaboratable:
        """A component whose domains are those of ``ticks``."""
        built = EnableInserter(self.ticks)(ResetInserter(self.resets)(Fragment.get(component, self)))
        return DomainRenamer(dict.fromkeys((*self.ticks, _STEPS), "sync"))(built)
