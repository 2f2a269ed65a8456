"""A memory of the engine's bench in Amaranth's own simulator, with the rules of AXI."""

from __future__ import annotations

import ctypes
import random
from collections.abc import AsyncIterator, Callable
from typing import Any, NamedTuple

from cdma.hdl.axi.ports import PortShape
from cdma.hdl.axi.reader import AxiReader
from cdma.hdl.axi.writer import AxiWriter
from cdma.verif.engine.edges import CHANNELS, Port
from cdma.verif.engine.memory import Memory, library
from cdma.verif.engine.owners import Objections
from tests.outside.axi_rules import PortRules

#: Data bits, longest burst, the share of cycles in which a channel rests, and whether it is pipelined: bursts of 4 KiB are
#: among them, and every kind of block with pauses and without.
PORTS = [(64, 16, 0.4, True), (128, 256, 0.0, False), (512, 64, 0.0, True), (1024, 8, 0.4, False)]


def offsets_in(beat: int) -> list[int]:
    """Where words begin in a beat of so many bytes: at its ends, and in between at up to sixteen places."""
    return sorted({*range(0, beat, max(4, beat // 16)), 4, beat - 4})


def port_shape(
    data_bits: int, burst: int, outstanding: int = 3, realign: bool = False, pipelined: bool = False
) -> PortShape:
    """Returns a port with 20 address bits, words of 32 bits, and a buffer of two bursts."""
    return PortShape(
        word_bits=32,
        data_bits=data_bits,
        address_bits=20,
        burst=burst,
        outstanding=outstanding,
        buffer=2 * burst,
        realign=realign,
        pipelined=pipelined,
    )


class Beat(NamedTuple):
    id: int
    data: int
    response: int
    last: bool


class Answer(NamedTuple):
    id: int
    response: int


class _Offer(ctypes.Structure):
    _fields_ = [("id", ctypes.c_uint64), ("response", ctypes.c_uint64), ("last", ctypes.c_uint64)]


class Server:
    """Answers at a port, for a bench in Python: in each cycle it gets what passed the channels, and returns what it offers
    and accepts next."""

    def __init__(self, port: Port) -> None:
        self.port = port
        self._library = library()
        self._server = self._library.server_new(ctypes.addressof(port))
        self._offer = _Offer()
        self._data = (ctypes.c_uint8 * port.bus_bytes)()
        self._objections = Objections(port.memory)

    def __del__(self) -> None:
        self._library.server_delete(self._server)

    def ask(self, way: str, cycle: int, id: int, address: int, beats: int, beat_bytes: int) -> None:
        """An address that was taken on ``ar`` or ``aw``."""
        self._do("ask", way == "aw", cycle, id, address, beats, beat_bytes)

    def put(self, cycle: int, data: int, strobes: int) -> None:
        """A beat that was taken on W. One that is answered with an error is not stored."""
        lanes = self.port.bus_bytes
        self._do("put", cycle, data.to_bytes(lanes, "little"), strobes.to_bytes(-(-lanes // 8), "little"))

    def takes_read(self) -> bool:
        return bool(self._library.server_takes_read(self._server))

    def takes_write(self) -> bool:
        return bool(self._library.server_takes_write(self._server))

    def takes_data(self, cycle: int) -> bool:
        """Whether W is ready in the next cycle, for data whose address has come."""
        return bool(self._library.server_takes_data(self._server, cycle))

    def next_beat(self, cycle: int) -> Beat | None:
        """What R offers next; None where nothing is due."""
        offer = self._offer
        if not self._do("next_beat", cycle, ctypes.addressof(offer), ctypes.addressof(self._data)):
            return None
        return Beat(offer.id, int.from_bytes(self._data, "little"), offer.response, bool(offer.last))

    def next_answer(self, cycle: int) -> Answer | None:
        """What B offers next; None where nothing is due."""
        offer = self._offer
        if not self._library.server_next_answer(self._server, cycle, ctypes.addressof(offer)):
            return None
        return Answer(offer.id, offer.response)

    def _do(self, what: str, *arguments: Any) -> int:
        """Calls a function and raises its objections."""
        result: int = getattr(self._library, f"server_{what}")(
            self._server, *arguments, self._objections.text
        )
        self._objections.check()
        return result


class AxiMemory(Memory):
    """A memory on a component's read port, its write port, or both.

    ``pause`` is the share of cycles in which each channel rests. ``asked`` and ``written`` are the addresses and the
    beats of the bursts that came.
    """

    def __init__(
        self,
        *,
        size: int = 1 << 16,
        read: Any = None,
        write: Any = None,
        latency: int = 3,
        pause: float = 0.0,
        seed: int = 0,
        longest: int = 256,
        outstanding: int = 256,
    ) -> None:
        super().__init__(random.Random(seed), size)
        self.allow(0, size)
        self.latency = latency
        self.read_port, self.write_port = read, write
        width = (read.r.payload.data if read is not None else write.w.payload.data).shape().width
        port = Port(self, width // 8)
        port.pauses.draw(lambda: pause)
        self.server = Server(port)
        self.asked: list[tuple[int, int]] = []
        self.written: list[tuple[int, int]] = []
        self.cycle = 0
        #: The cycles in which all channels rest, instead of a share of them.
        self.rests: Callable[[int], bool] | None = None
        self._values: dict[str, int] = {}
        #: What the port offers and takes in this cycle.
        self._offered: dict[str, bool] = dict.fromkeys(CHANNELS, False)
        self.rules = PortRules("memory", width // 8, lambda name: self._values.get(name, 0))
        self.rules.beats, self.rules.data_limit = longest, outstanding

    async def answer(self, ctx: Any) -> None:
        """Answers for as long as the simulation runs."""
        while True:
            self._offer(ctx)
            await ctx.delay(0.1e-9)
            self._values = self._sample(ctx)
            await ctx.tick()
            self.rules.sample(resetting=False)
            self.cycle += 1
            self._take(self._values)

    def _offer(self, ctx: Any) -> None:
        """Drives what the component sees in this cycle."""
        server, offered = self.server, self._offered
        if self.rests is not None:
            resting = float(self.rests(self.cycle))
            server.port.pauses.draw(lambda: resting)
        if self.read_port is not None:
            ctx.set(self.read_port.ar.ready, server.takes_read())
            if not offered["r"] and (beat := server.next_beat(self.cycle)) is not None:
                payload = {"id": beat.id, "data": beat.data, "resp": beat.response, "last": beat.last}
                ctx.set(self.read_port.r.payload, payload)
                offered["r"] = True
            ctx.set(self.read_port.r.valid, offered["r"])
        if self.write_port is not None:
            ctx.set(self.write_port.aw.ready, server.takes_write())
            ctx.set(self.write_port.w.ready, server.takes_data(self.cycle))
            if not offered["b"] and (answer := server.next_answer(self.cycle)) is not None:
                ctx.set(self.write_port.b.payload, {"id": answer.id, "resp": answer.response})
                offered["b"] = True
            ctx.set(self.write_port.b.valid, offered["b"])

    def _take(self, values: dict[str, int]) -> None:
        """Tells the port what has passed in this cycle."""
        passed = {each for each in CHANNELS if values.get(f"{each}valid") and values[f"{each}ready"]}
        self._offered |= dict.fromkeys(passed, False)
        if "w" in passed:
            assert values["wstrb"], "a write beat has no strobe"
            self.server.put(self.cycle, values["wdata"], values["wstrb"])
        for way in passed & {"ar", "aw"}:
            id, address, beats, size = (values[f"{way}{name}"] for name in ("id", "addr", "len", "size"))
            assert not address % (1 << size), f"{way}: {address:#x} is not aligned to its beats"
            (self.asked if way == "ar" else self.written).append((address, beats + 1))
            self.server.ask(way, self.cycle, id, address, beats + 1, 1 << size)

    def _sample(self, ctx: Any) -> dict[str, int]:
        values: dict[str, int] = {}
        for port, names in ((self.read_port, ("ar", "r")), (self.write_port, ("aw", "w", "b"))):
            if port is None:
                continue
            for name in names:
                stream = getattr(port, name)
                values[f"{name}valid"] = int(ctx.get(stream.valid))
                values[f"{name}ready"] = int(ctx.get(stream.ready))
                payload = ctx.get(stream.payload)
                for key in payload.shape().members:
                    value = payload[key]
                    full = {"address": "addr"}.get(key, key)
                    values[f"{name}{full}"] = int(value.value if hasattr(value, "value") else value)
                if name == "w":
                    lanes = payload.shape()["keep"].width
                    per_word = self.server.port.bus_bytes // lanes
                    keep = values["wkeep"]
                    values["wstrb"] = sum(
                        ((1 << per_word) - 1) << lane * per_word for lane in range(lanes) if keep >> lane & 1
                    )
                if name in ("ar", "aw"):
                    values[f"{name}burst"] = 1
        return values


async def outcomes(ctx: Any, dut: AxiReader | AxiWriter, count: int) -> AsyncIterator[tuple[int, int]]:
    """Yields ``(response, address)`` for ``count`` commands, each in the cycle in which it is done.

    The address is the one that was noted, or 0.
    """
    outcome, noted = dut.outcome, 0
    while count:
        if ctx.get(outcome.note):
            noted = ctx.get(outcome.address)
        if ctx.get(outcome.done):
            yield ctx.get(outcome.resp).value, noted
            noted = 0
            count -= 1
        await ctx.tick()
