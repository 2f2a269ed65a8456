"""A port of a memory at the pins of a simulation."""

from __future__ import annotations

from typing import Any

from cocotb.triggers import RisingEdge
from cocotb.utils import get_sim_time

from .memory import Memory
from .memory_port import Port

__all__ = ["PERIOD_NS", "connect_memory"]

#: Of the clock.
PERIOD_NS = 10


def connect_memory(memory: Memory, dut: Any, prefix: str) -> tuple[Port, Any, Any]:
    """Gives a memory a port at the pins that begin with the prefix; the port, and what serves its reads and its writes."""
    port = Port(memory, len(getattr(dut, f"{prefix}_wstrb")))
    return port, _serve_reads(port, dut, prefix), _serve_writes(port, dut, prefix)


class _Pins:
    """The pins of a bus, each driven only where its value changes."""

    def __init__(self, dut: Any, prefix: str, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> None:
        self._pins = {name: getattr(dut, f"{prefix}_{name}") for name in (*inputs, *outputs)}
        self._driven = dict.fromkeys(outputs, 0)
        for name in outputs:
            self._pins[name].value = 0

    def __getitem__(self, name: str) -> int:
        return int(self._pins[name].value)

    def burst(self, way: str) -> tuple[int, int, int, int]:
        """The ID, the address, the beats and the bytes of a beat that are on AR or AW."""
        return self[f"{way}id"], self[f"{way}addr"], self[f"{way}len"] + 1, 1 << self[f"{way}size"]

    def handles(self, *names: str) -> list[Any]:
        """The pins that are looked at in every cycle."""
        return [self._pins[name] for name in names]

    def drive(self, name: str, value: int) -> None:
        """Drives a pin."""
        if self._driven[name] != value:
            self._driven[name] = value
            self._pins[name].value = value


async def _asked(valid: Any) -> int:
    """Waits for a request: an idle port costs nothing per cycle. Returns the cycles until now."""
    if valid.value != 1:
        await RisingEdge(valid)
    return int(get_sim_time("ns")) // PERIOD_NS


async def _serve_reads(port: Port, dut: Any, prefix: str) -> None:
    pins = _Pins(
        dut,
        prefix,
        ("arvalid", "araddr", "arlen", "arsize", "arid", "rready"),
        ("arready", "rvalid", "rdata", "rlast", "rresp", "rid"),
    )
    edge, resetn = RisingEdge(dut.aclk), dut.aresetn
    arvalid, rready = pins.handles("arvalid", "rready")
    cycle, ready, offered = 0, True, False
    pins.drive("arready", ready)
    while True:
        if not offered and not port.reading:
            cycle = await _asked(arvalid)
        await edge
        cycle += 1
        if not resetn.value:
            port.forget_reads()
            offered = False
            pins.drive("rvalid", offered)
            continue
        if ready and arvalid.value:
            port.ask("ar", cycle, *pins.burst("ar"))
        ready = port.takes_read()
        pins.drive("arready", ready)
        if offered and not rready.value:
            continue
        beat = port.next_beat(cycle)
        offered = beat is not None
        pins.drive("rvalid", offered)
        if beat is not None:
            pins.drive("rid", beat.id)
            pins.drive("rdata", beat.data)
            pins.drive("rresp", beat.response)
            pins.drive("rlast", beat.last)


async def _serve_writes(port: Port, dut: Any, prefix: str) -> None:
    pins = _Pins(
        dut,
        prefix,
        ("awvalid", "awaddr", "awlen", "awsize", "awid", "wvalid", "wdata", "wstrb", "bready"),
        ("awready", "wready", "bvalid", "bresp", "bid"),
    )
    edge, resetn = RisingEdge(dut.aclk), dut.aresetn
    awvalid, wvalid, bready = pins.handles("awvalid", "wvalid", "bready")
    cycle, ready, takes, offered = 0, True, False, False
    pins.drive("awready", ready)
    while True:
        if not offered and not port.writing:
            cycle = await _asked(awvalid)
        await edge
        cycle += 1
        if not resetn.value:
            port.forget_writes()
            takes = offered = False
            pins.drive("wready", takes)
            pins.drive("bvalid", offered)
            continue
        if takes and wvalid.value:
            port.put(cycle, pins["wdata"], pins["wstrb"])
        if ready and awvalid.value:
            port.ask("aw", cycle, *pins.burst("aw"))
        ready, takes = port.takes_write(), port.takes_data(cycle)
        pins.drive("awready", ready)
        pins.drive("wready", takes)
        if offered and not bready.value:
            continue
        answer = port.next_answer(cycle)
        offered = answer is not None
        pins.drive("bvalid", offered)
        if answer is not None:
            pins.drive("bid", answer.id)
            pins.drive("bresp", answer.response)
