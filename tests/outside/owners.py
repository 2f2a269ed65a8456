"""Whose addresses are, as ``docs/options/owners.md`` says it."""

from __future__ import annotations

from functools import partial

from .bench import CHANNELS, Bench, Transfer

_STREAM_AT, _VALID_AT = 20, 31


class Owners:
    """Watches the addresses of both memories.

    ``rings``
        Whose the rings of each channel are.
    ``seen``
        How many there were.
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
        lsbs = {"mmusid": _STREAM_AT} if self.stream_bits else {}
        if self.substream_bits:
            lsbs |= {"mmussid": 0, "mmussidv": _VALID_AT}
        self.lsbs = tuple(lsbs.values())
        for port, each in bench.rules.items():
            for rules in each:
                rules.beside = {way: tuple(f"{way}{signal}" for signal in lsbs) for way in ("ar", "aw")}
                rules.asks = partial(self._look, port)

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

    def _look(self, port: str, way: str, id_: int, address: int, signals: tuple[int, ...]) -> None:
        owner = sum(value << lsb for value, lsb in zip(signals, self.lsbs, strict=True))
        if port == "host" and id_:
            want = {self.rings[CHANNELS[(id_ - 1) % 2]]}
        else:
            want = {each for whole, each in self.ranges.get((port, way), []) if address in whole}
        self.seen += 1
        assert owner in want, f"{port} {way} {address:#x}, ID {id_}: of {owner:#x}, not of {want}"
