"""What registers, rings and windows have, which are there once for all pairs, and how they connect."""

from __future__ import annotations

from amaranth.hdl import Module, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.axi.ports import AxiLiteSignature
from cdma.hdl.blocks.elaboration import optional
from cdma.hdl.engine.channel.interfaces import CHANNELS, ChannelDriver
from cdma.hdl.engine.control.registers import RegisterBlock
from cdma.hdl.engine.control.windows import StoredWindows
from cdma.hdl.engine.rings.messages import queue_bits
from cdma.hdl.engine.rings.rings import Rings
from cdma.hdl.engine.user import connect_with_user, host_ports, ring_user
from cdma.hdl.spec.engine import EngineConfig


def shared_members(config: EngineConfig) -> dict[str, wiring.Member]:
    """What registers and rings have for the rest of an engine, and who drives its channels.

    ``bus``, ``irq``, ``alert``: The registers, and of each pair the interrupt and, in an engine with coded memories,
        the alert.
    ``watchdog_cycles``: The time of the watchdogs, as the first pair's registers have it.
    ``watchdog_tick``: That of the timebase.
    ``group_bursts``: As the first pair's registers have it.
    ``fetch``, ``complete``: The AXI4 ports of :class:`.Rings`.
    ``offload``, ``prefetch``: The channels.
    ``engine_clear``, ``loses``: Resets the channels; and, in an engine with coded memories, a word is lost that they
        depend on.
    """
    fetch, complete = host_ports(config, queue_bits(config))
    return {
        "bus": In(AxiLiteSignature(config.register_address_bits)),
        "irq": Out(config.channels),
        "watchdog_cycles": Out(32),
        "watchdog_tick": In(1),
        **optional(config.group_bursts, group_bursts=Out(9)),
        "fetch": Out(fetch),
        "complete": Out(complete),
        **{name: Out(ChannelDriver(config)) for name in CHANNELS},
        "engine_clear": Out(1),
        **optional(config.coded_memories, alert=Out(config.channels), loses=Out(1)),
    }


def connect_shared(m: Module, registers: RegisterBlock, rings: Rings, front: wiring.Component) -> data.View:
    """Connects registers and rings with each other and with the ports of :func:`shared_members`; gives what is written into
    the memory of registers."""
    wiring.connect(m, wiring.flipped(front.bus), registers.bus)
    wiring.connect(m, rings.stored, registers.stored)
    wiring.connect(m, rings.report, registers.report)
    m.d.comb += [
        front.irq.eq(registers.irq),
        front.watchdog_cycles.eq(registers.controls[0].watchdog_cycles),
    ]
    if rings.config.coded_memories:
        m.d.comb += front.alert.eq(registers.alert)
    if rings.config.group_bursts:
        m.d.comb += front.group_bursts.eq(registers.controls[0].group_bursts)
    pairs = range(rings.config.channels)
    users = [getattr(front, f"{name}_users")[number] for number in pairs for name in CHANNELS]
    for port in ("fetch", "complete"):
        connect_with_user(m, getattr(rings, port), getattr(front, port), ring_user(users))
    m.d.comb += rings.watchdog_tick.eq(front.watchdog_tick)
    m.d.comb += rings.changes.eq(registers.changes)
    return registers.changes


def connect_windows(
    m: Module,
    windows: StoredWindows,
    changes: data.View,
    front: wiring.Component,
    pairs: dict[str, Value] | None = None,
) -> None:
    """Connects the windows with the channels, whose checkers ask for those of ``pairs``."""
    m.d.comb += windows.changes.eq(changes)
    for name in CHANNELS:
        port = getattr(front, name)
        wiring.connect(m, wiring.flipped(port.windows), getattr(windows, name))
        if pairs is not None:
            m.d.comb += getattr(windows, f"{name}_pair").eq(pairs[name])
        if front.config.pages:
            wiring.connect(m, wiring.flipped(port.page_windows), getattr(windows, f"{name}_pages"))
            m.d.comb += getattr(windows, f"{name}_pages_pair").eq(port.page_pair)
