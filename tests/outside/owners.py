"""Whose addresses are, as ``docs/engine.md`` says it."""

from __future__ import annotations

from typing import Any

import cocotb
from cocotb.triggers import RisingEdge

from .bench import CHANNELS, Bench, Transfer

__all__ = ["Owners"]

_STREAM_AT, _VALID_AT = 20, 31


class Owners:
    """Watches the addresses of both memories.

    ``rings``
        Whose the rings of each channel are.
    ``faults``
        What is wrong.
    """

    def __init__(self, bench: Bench, guards: dict[str, int]) -> None:
        self.bench = bench
        self.stream_bits, self.substream_bits = guards["stream_id_bits"], guards["substream_id_bits"]
        self.has = ((1 << self.stream_bits) - 1) << _STREAM_AT
        if self.substream_bits:
            self.has |= 1 << _VALID_AT | (1 << self.substream_bits) - 1
        self.rings = dict.fromkeys(CHANNELS, 0)
        self.ranges: dict[tuple[str, str], list[tuple[range, int]]] = {}
        self.seen = 0
        cocotb.start_soon(self._watch())

    def some(self) -> int:
        """Anybody."""
        rng = self.bench.rng
        word = rng.getrandbits(self.stream_bits) << _STREAM_AT
        if self.substream_bits and rng.random() < 0.7:
            word |= rng.getrandbits(self.substream_bits) | 1 << _VALID_AT
        return word

    def give(self, channel: str, made: Transfer, owner: int) -> None:
        """Makes a transfer somebody's."""
        made.descriptor |= {"owned": 1, "owner": owner}
        ports = ("dev", "host") if channel == "offload" else ("host", "dev")
        lengths = (made.bytes_read, made.descriptor["capacity"])
        for port, way, end, length in zip(
            ports, ("ar", "aw"), ("source", "destination"), lengths, strict=True
        ):
            beat = self.bench.memory[port].bytes
            start = made.descriptor[end] // beat * beat
            whole = range(start, made.descriptor[end] + length)
            self.ranges.setdefault((port, way), []).append((whole, owner))

    async def _watch(self) -> None:
        bench = self.bench
        while True:
            await RisingEdge(bench.dut.aclk)
            for port, names in bench.names.items():
                for name in names:
                    for way in ("ar", "aw"):
                        if int(self._pin(name, way, "valid").value):
                            self._look(port, name, way)

    def _pin(self, name: str, way: str, signal: str) -> Any:
        return getattr(self.bench.dut, f"m_axi_{name}_{way}{signal}")

    def _look(self, port: str, name: str, way: str) -> None:
        def value(signal: str) -> int:
            return int(self._pin(name, way, signal).value)

        owner = 0
        if self.stream_bits:
            owner |= value("mmusid") << _STREAM_AT
        if self.substream_bits:
            owner |= value("mmussid") | value("mmussidv") << _VALID_AT
        id_, address = value("id"), value("addr")
        if port == "host" and id_:
            want = {self.rings[CHANNELS[(id_ - 1) % 2]]}
        else:
            want = {each for whole, each in self.ranges.get((port, way), []) if address in whole}
        self.seen += 1
        if owner not in want and self.bench.error is None:
            self.bench.error = AssertionError(
                f"{name} {way} {address:#x}, ID {id_}: of {owner:#x}, not of {want}"
            )
