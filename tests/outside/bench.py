"""The bench: the engine between two memories, with the driver, and the rules on every cycle of both ports."""

from __future__ import annotations

import itertools
import json
import os
import random
import traceback
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from .axi_rules import PortRules
from .clocks import Clocks
from .codec import Form
from .crc import crc32c
from .document import Document
from .driver import RECORD, Channel, Driver
from .memory import Memory
from .shapes import Shape, some_shape

CHANNELS = ("offload", "prefetch")
GUARD = 128


@dataclass
class Transfer:
    """A descriptor, the words on its raw side, and what must come of it.

    ``status``
        The name of the status that it must end with.
    ``written``
        What must lie at the destination; ``None`` where only the guards around it count.
    ``rows``
        Of a prefetch with a shape: what must lie where, counted from the destination. ``written`` is all of that.
    ``base``
        The fields by which the descriptor names its base.
    """

    descriptor: dict[str, Any]
    status: str
    written: bytes | None
    literals: int = 0
    bytes_read: int = 0
    address: int = 0
    crc: int = 0
    rows: dict[int, bytes] | None = None
    run: int = 0
    base: dict[str, int] = field(default_factory=dict)

    @property
    def entries(self) -> int:
        """Those of a ring that it takes."""
        return 2 if "extension" in self.descriptor else 1


def mixed(raw: bytes, base: bytes) -> bytes:
    """Bytes XOR as many of a base."""
    return bytes(one ^ other for one, other in zip(raw, base, strict=False))


@dataclass(frozen=True)
class Objection:
    """A reason to refuse a descriptor: what to change in one, and the address that the completion has then.

    ``end``
        The field of the descriptor that is the completion's address, if one is.
    ``options``
        Of the transfer that is to be refused.
    """

    status: str
    changes: dict[str, int]
    end: str = ""
    options: dict[str, Any] = field(default_factory=dict)


class Bench:
    """The testbench."""

    def __init__(self, dut: Any, name: str) -> None:
        self.settings: dict[str, Any] = json.loads(os.environ["CDMA_BENCH"])
        self.budget: int = self.settings["packets"]
        self.rng = random.Random(f"{self.settings['seed']}/{name}")
        self.dut, self.name = dut, name
        self.document = Document(Path(self.settings["registers"]))
        self.tag = self.transfers = self.words = self.checks = self.cycles = 0
        self.error: BaseException | None = None

    async def start(self) -> None:
        """Connects everything, resets, and reads what the engine says of itself."""
        dut, rng = self.dut, self.rng
        self.clocks = clocks = Clocks(dut, rng)
        several = [f"dev{unit}" for unit in range(8) if hasattr(dut, f"m_axi_dev{unit}_araddr")]
        #: The ports of each memory.
        self.names = {"dev": several or ["dev"], "host": ["host"]}
        self.memory = {
            name: Memory(dut, [f"m_axi_{port}" for port in ports], rng, 0xA5, *clocks.of(name))
            for name, ports in self.names.items()
        }
        self.rules = {
            name: [_rules_on(dut, f"m_axi_{port}") for port in ports] for name, ports in self.names.items()
        }
        self.driver = Driver(dut, self.document, clocks)
        for port in self.rules:
            cocotb.start_soon(self._watch(port))
        await clocks.start()
        driver = self.driver
        said = await driver.read("engine.ident")
        assert said["value"].to_bytes(4, "little") == b"cDMA"
        self.format = await driver.read("engine.stream_format")
        self.fields = await driver.read("engine.stream_fields")
        self.any_length = self.fields.get("any_length", 0)
        self.ports = {port: await driver.read(f"engine.{port}_port") for port in self.memory}
        self.dimensions = self.ports["dev"].get("dimensions", 0)
        self.dev_align = 1 << self.ports["dev"]["align_log2"]
        self.bursts = await driver.read("engine.bursts")
        limits = await driver.read("engine.limits")
        self.index_log2 = limits["ring_log2"]
        self.with_crc = limits["crc"]
        assert limits["units"] == len(self.names["dev"])
        self.memory["dev"].stripe = 1 << limits["stripe_log2"]
        for port, each in self.rules.items():
            rings = (self.bursts["ring_reads"], self.bursts["ring_writes"]) if port == "host" else (0, 0)
            for rules in each:
                assert self.ports[port]["data_bits"] == 8 * rules.bus_bytes
                rules.beats, rules.data_limit = self.bursts["beats"], self.bursts["outstanding"]
                rules.ring_limits = rings
                rules.pairs = 1 + self.fields.get("more_pairs", 0) + 8 * self.fields.get("pairs_beyond", 0)
                rules.lists = bool(self.ports["host"].get("pages", 0))
                rules.messages = bool(self.ports["host"].get("messages", 0))
                rules.bases = port == "dev" and bool(self.fields.get("delta", 0))
        for port in self.memory:
            await driver.write64(f"{port}_window.base", 0)
            await driver.write64(f"{port}_window.limit", (1 << self.ports[port]["address_bits"]) - 1)
        self.tables = {
            name: [
                (await driver.read(f"{name}.table[{index}]"))["entry"]
                for index in range(self.format["table_size"])
            ]
            for name in CHANNELS
        }
        self.first_tables = {name: list(table) for name, table in self.tables.items()}
        log2 = min(3, self.index_log2)
        self.top = {port: 1 << min(self.ports[port]["address_bits"], 48) for port in self.memory}
        base = rng.randrange(0, self.top["host"] // 8, 4096)
        self.channels = {
            name: Channel(driver, self.memory["host"], name, base + 0x2000 * index, log2, self.index_log2)
            for index, name in enumerate(CHANNELS)
        }
        self.next = {
            port: rng.randrange(self.top[port] // 4, self.top[port] // 2, 4096) for port in self.memory
        }

    async def after(self, cycles: int) -> None:
        """Waits for so many cycles of the slowest clock."""
        await ClockCycles(self.clocks.slowest, cycles)

    async def _watch(self, port: str) -> None:
        clock, reset = self.clocks.of(port)
        # The first edges bring the engine from anywhere into its reset.
        await ClockCycles(clock, 5)
        resetting = True
        while self.error is None:
            await RisingEdge(clock)
            self.cycles += port == "dev"
            now = not int(reset.value)
            try:
                for rules in self.rules[port]:
                    rules.sample(now and resetting)
                faults = self.memory[port].faults
                assert not faults, faults[0]
            except AssertionError as error:
                self.error = error
            resetting = now

    def finish(self) -> None:
        """Raises what the rules objected to."""
        if self.error is not None:
            raise self.error

    def pauses(self, share: float | None = None) -> None:
        """Lets every channel of every bus pause in its own share of the cycles."""
        rng = self.rng

        def generator(some: float) -> Iterator[bool]:
            while True:
                yield rng.random() < some

        buses = [self.driver, *self.memory.values()]
        for channel in [channel for bus in buses for channel in bus.channels()]:
            some = rng.choice((0.0, 0.2, 0.6)) if share is None else share
            channel.set_pause_generator(generator(some) if some else None)
            if not some:
                channel.pause = False
        for memory in self.memory.values():
            memory.latency = rng.choice((0, 10, 80))

    # -- transfers

    def form(self, channel: str, mode: str) -> Form:
        """The stream format of a mode."""
        table = self.tables[channel]
        values = tuple(table if mode == "fvc" else [0] * min(1, len(table)))
        return Form(
            self.format["word_bits"],
            self.format["window"],
            self.format["code_bits"],
            values,
            self.fields["field_bits"],
            self.fields["rotate"],
            self.fields["zero"],
            1 << self.fields["align_log2"],
            1 + self.fields.get("two_levels", 0),
            self.format["window"] * self.format["code_bits"],
        )

    async def set_table(self, channel: str) -> None:
        """Gives a channel a new table."""
        top = (1 << (self.fields["field_bits"] or self.format["word_bits"])) - 1
        for index in range(len(self.tables[channel])):
            value = self.rng.choice((0, 1, top, self.rng.randint(0, top)))
            self.tables[channel][index] = value
            await self.driver.write(f"{channel}.table[{index}]", entry=value)

    def place(self, port: str, length: int) -> int:
        """An aligned address with guard bytes around, often near the end of a page."""
        rng, align = self.rng, 1 << self.ports[port]["align_log2"]
        start = self.next[port] + GUARD
        if rng.random() < 0.5:
            start = (start | 4095) + 1 - align * rng.randint(0, 8)
            start += 4096 if start < self.next[port] + GUARD else 0
        start = -(-start // align) * align
        self.next[port] = start + length + GUARD
        return start

    def words_of(self, channel: str, count: int) -> list[int]:
        """Words of some density."""
        rng, bits = self.rng, self.format["word_bits"]
        density, form = rng.choice((0, 0.1, 0.5, 1)), self.form(channel, "fvc")
        common = [0, *self.tables[channel]]

        def frequent() -> int:
            rest = rng.choice((0, rng.getrandbits(form.rest_bits) if form.rest_bits else 0))
            return form.word(rng.choice(common), rest)

        return [rng.getrandbits(bits) if rng.random() < density else frequent() for _ in range(count)]

    def pack(self, words: list[int]) -> bytes:
        """Words as they lie in memory."""
        size = self.format["word_bits"] // 8
        return b"".join(word.to_bytes(size, "little") for word in words)

    def some_count(self) -> int:
        """A number of words: short, around a window, a burst or a page, or any."""
        rng, size = self.rng, self.format["word_bits"] // 8
        unit = rng.choice((1, self.format["window"], 256 // size, 4096 // size))
        return max(
            1,
            rng.choice(
                (unit + rng.randint(-1, 1), rng.randint(1, 3 * self.format["window"]), rng.randint(1, 900))
            ),
        )

    def transfer(
        self,
        channel: str,
        *,
        count: int | None = None,
        mode: str | None = None,
        damage: bool = False,
        length: int | None = None,
        raw: bytes | None = None,
        based: bool = False,
    ) -> Transfer:
        """A transfer of random words, or of those in ``raw``, with its data in memory. ``damage`` changes the stream of a
        prefetch. Unless they or their bytes are counted, less of the last word may be meant, where lengths are any. The
        words of one that is ``based`` are the differences of its data from a base."""
        rng, size = self.rng, self.format["word_bits"] // 8
        mode = mode or rng.choice(list(self.document.mode.values()))
        cut = (
            rng.randrange(size) if self.any_length and count is None and length is None and raw is None else 0
        )
        if length is not None or raw is not None:
            length = len(raw) if raw is not None else length
            count, cut = -(-length // size), -length % size
        if raw is None:
            words = self.words_of(channel, count or self.some_count())
        else:
            words = [int.from_bytes(raw[at : at + size], "little") for at in range(0, len(raw), size)]
        around = self.pack(words)
        length = len(around) - cut
        old = rng.randbytes(length) if based else bytes(length)
        kept = raw = around[:length]
        if channel == "offload":
            # Zeros fill the last word; a stream that is made elsewhere may have anything there.
            words[-1] &= (1 << 8 * (size - cut)) - 1
        form = self.form(channel, mode)
        stream, literals = form.compress(words)
        status = "ok"
        if channel == "offload":
            source, written = raw, raw if mode == "raw" else stream
        else:
            if damage and mode != "raw":
                stream = self._damaged(stream, form)
                result, literals, fault = form.decompress(stream, len(words), self.format["lanes"])
                status, raw = f"stream_{fault}" if fault else "ok", self.pack(result)[:length]
            source, written = (raw if mode == "raw" else stream), raw
        read, write = ("dev", "host") if channel == "offload" else ("host", "dev")
        spare = rng.choice((0, 0, size, 1000 * size))
        room = max(len(written), length if channel == "prefetch" else 0) + spare
        self.tag += 1
        descriptor = {
            "source": self.place(read, len(source)),
            "destination": self.place(write, room),
            "length": length,
            "capacity": room,
            "compressed_length": len(source) if channel == "prefetch" and mode != "raw" else 0,
            "tag": self.tag,
            "mode": next(number for number, name in self.document.mode.items() if name == mode),
        }
        base = {}
        if based:
            # The bytes that software has are others than those that are coded.
            data = mixed(raw, old)
            around, kept = (data, data) if channel == "offload" else (around, mixed(kept, old))
            source, written = (data, written) if channel == "offload" else (source, data)
            raw = data
            # Ports that share memory share both in the same way.
            ports = len(self.names["dev"])
            apart = ports * self.memory["dev"].stripe if ports > 1 else 1
            at = self.place("dev", length + apart)
            at += (descriptor["source" if channel == "offload" else "destination"] - at) % apart
            self.memory["dev"].store(at, old)
            base = {"delta": 1, "compressed_length" if channel == "offload" else "capacity": at}
        crc = crc32c(raw) if self.with_crc else 0
        if self.with_crc and rng.random() < 0.5:
            wrong = rng.choice((0, 0, 1 << rng.randrange(32))) if damage else 0
            descriptor |= {"check_crc": 1, "crc": crc32c(kept) ^ wrong}
            status = "crc_mismatch" if status == "ok" and descriptor["crc"] != crc else status
        self.memory[read].store(descriptor["source"], around if source is raw else source)
        self._clear(write, descriptor)
        literals = 0 if mode == "raw" else literals
        return Transfer(descriptor, status, written, literals, len(source), crc=crc, base=base)

    def shaped(self, channel: str, *, damage: bool = False, shape: Shape | None = None) -> Transfer:
        """A transfer of a shape of random words, with its data in memory."""
        rng = self.rng
        made_of = shape or some_shape(
            rng, self.dimensions, self.dev_align, self.ports["dev"]["data_bits"] // 8
        )
        places = made_of.places
        low, span = min(places), max(places) - min(places) + made_of.run
        size = self.format["word_bits"] // 8
        mode = rng.choice(list(self.document.mode.values()))
        if channel == "offload":
            form = self.form(channel, "fvc")
            plain = mode == "fvc" and not form.field_bits and not form.zero and form.values
            row_at = {
                place: self.pack(self.words_of(channel, -(-made_of.run // size)))[: made_of.run]
                for place in sorted(places)
            }
            raw = made_of.stream(row_at, form.values[0].to_bytes(size, "little") if plain else b"\0")
            made = self.transfer(channel, mode=mode, raw=raw)
            base = self.place("dev", span) - low
            for place, row in row_at.items():
                self.memory["dev"].store(base + place, row)
            made.descriptor["source"] = base
            made.bytes_read = made_of.run * len(places)
        else:
            made = self.transfer(channel, length=made_of.length, mode=mode, damage=damage)
            old = made.descriptor["destination"], made.descriptor["capacity"]
            self.memory["dev"].allowed.remove(range(old[0], sum(old)))
            base = self.place("dev", span) - low
            self.memory["dev"].store(base + low - GUARD, bytes([0xA5]) * (span + 2 * GUARD))
            made.descriptor["destination"] = base
            made.run = made_of.run
            made.rows = made_of.scattered(made.written or b"")
            made.written = b"".join(made.rows.values())
            self.memory["dev"].allowed += self._row_ranges(made)
        made.descriptor |= {"shaped": 1, "extension": made_of.fields()}
        return made

    def _row_ranges(self, made: Transfer) -> list[range]:
        base = made.descriptor["destination"]
        return [range(base + place, base + place + made.run) for place in made.rows or ()]

    def _check_rows(self, made: Transfer, what: str) -> None:
        """Compares the rows of a shape that was written, and what lies around them and between them."""
        assert made.rows is not None
        base, memory = made.descriptor["destination"], self.memory["dev"]
        low, high = min(made.rows) - GUARD, max(made.rows) + made.run + GUARD
        want = bytearray([0xA5]) * (high - low)
        there = memory.load(base + low, high - low)
        # Units behind the one that found an error may have written their stripes.
        free = made.status != "ok" and len(self.names["dev"]) > 1
        for place, row in made.rows.items():
            at, count = place - low, made.run if free else len(row)
            want[at : at + count] = row + there[at + len(row) : at + count]
        if made.written is not None:
            assert there == bytes(want), f"{what}: wrong bytes in rows, or between them"
        for each in self._row_ranges(made):
            memory.allowed.remove(each)

    def _damaged(self, stream: bytes, form: Form) -> bytes:
        """A stream with up to three bits changed, cut off, or with stream words after it."""
        rng, result = self.rng, bytearray(stream)
        for _ in range(rng.randint(0, 3)):
            at = rng.choice((rng.randrange(form.header_bytes), rng.randrange(len(result)), len(result) - 1))
            result[at] ^= 1 << rng.randrange(8)
        what = rng.randrange(3)
        if what == 0:
            result = result[: form.unit * rng.randint(1, len(result) // form.unit)]
        elif what == 1:
            result += rng.randbytes(form.unit * rng.randint(1, 40))
        return bytes(result)

    def _clear(self, port: str, descriptor: dict[str, int]) -> None:
        """Allows the destination, and makes it and its guards known bytes."""
        start, room = descriptor["destination"], descriptor["capacity"]
        self.memory[port].allowed.append(range(start, start + room))
        self._clear_guards(port, descriptor)

    def _clear_guards(self, port: str, descriptor: dict[str, int]) -> None:
        start, room = (
            descriptor["destination"],
            descriptor["capacity"] if descriptor["capacity"] < 1 << 20 else 0,
        )
        self.memory[port].store(max(0, start - GUARD), bytes([0xA5]) * (room + 2 * GUARD))

    def check(self, channel: str, made: Transfer, got: dict[str, int]) -> None:
        """Compares a completion, and the destination with its guards."""
        name = self.document.status.get(got["status"], str(got["status"]))
        what = f"{channel} {made.descriptor}: {name}, {got}"
        assert got["tag"] == made.descriptor["tag"], what
        assert name == made.status, f"{what}; it should be {made.status}"
        port = "host" if channel == "offload" else "dev"
        start, whole = made.descriptor["destination"], made.descriptor["capacity"]
        memory, room = self.memory[port], whole if whole < 1 << 20 else 0
        there = memory.load(start - GUARD, room + 2 * GUARD)
        data = there[GUARD : GUARD + room]
        if made.rows is None:
            assert there[:GUARD] == there[GUARD + room :] == bytes([0xA5]) * GUARD, f"{what}: guards"
        if made.written is not None:
            count = len(made.written)
            want = {
                "bytes_written": count,
                "literals": made.literals,
                "bytes_read": made.bytes_read,
                "address": made.address,
                "crc": made.crc,
            }
            assert {name: got[name] for name in want} == want, f"{what}; it should have {want}"
        if made.rows is not None:
            self._check_rows(made, what)
        elif made.written is not None:
            count = len(made.written)
            # Units behind the one that found an error may have written their stripes.
            free = count
            if channel == "prefetch" and made.status != "ok" and len(self.names["dev"]) > 1:
                free = max(count, made.descriptor["length"])
            assert data[free:] == bytes([0xA5]) * (room - free), f"{what}: more is written"
            assert data[:count] == made.written, f"{what}: wrong bytes"
        if made.rows is None:
            memory.allowed.remove(range(start, start + whole))
        self.transfers += 1
        self.words += -(-made.descriptor["length"] * 8 // self.format["word_bits"])
        self.checks += 5

    def forget(self, channel: str, made: Transfer) -> None:
        """Lets nothing more be written for a transfer, whose completion is lost or forgotten."""
        made.written = None
        start, room = made.descriptor["destination"], made.descriptor["capacity"]
        self.memory["host" if channel == "offload" else "dev"].allowed.remove(range(start, start + room))

    def check_silent(self, channel: str) -> None:
        """Objects to data and completions of a channel that are in flight: to writes, and to reads of data."""
        read, write = ("dev", "host") if channel == "offload" else ("host", "dev")
        ring = self.rules["host"][0].writes.get(1 + CHANNELS.index(channel), 0)
        reads = sum(len(rules.reads.get(0) or ()) for rules in self.rules[read])
        writes = sum(rules.writes.get(0, 0) for rules in self.rules[write])
        found = {"reads": reads, "writes": writes, "completions": ring}
        assert not any(found.values()), f"{channel}: {found} in flight"

    def snapshot(self, channel: str, made: list[Transfer]) -> list[bytes]:
        """What lies at the destinations of transfers, and in the ring of completions."""
        end, memory = self.channels[channel], self.memory["host" if channel == "offload" else "dev"]
        places = [(each.descriptor["destination"], each.descriptor["capacity"]) for each in made]
        ring = self.memory["host"].load(end.completions, RECORD * end.entries)
        return [ring, *(memory.load(*place) for place in places)]

    def refused(self, channel: str, status: str, changes: dict[str, int], **options: Any) -> Transfer:
        """A transfer that must be refused because of ``changes`` in its descriptor."""
        made = self.transfer(channel, **{"count": 20, "mode": "raw", **options})
        port = "host" if channel == "offload" else "dev"
        old = made.descriptor["destination"], made.descriptor["capacity"]
        self.memory[port].allowed.remove(range(old[0], sum(old)))
        made.descriptor |= changes
        new = made.descriptor["destination"], made.descriptor["capacity"]
        self.memory[port].allowed.append(range(new[0], sum(new)))
        made.status = status
        made.written, made.literals, made.bytes_read, made.address, made.crc = b"", 0, 0, 0, 0
        self._clear_guards(port, made.descriptor)
        return made

    def objections(self, channel: str) -> list[Objection]:
        """Every reason to refuse a transfer, in the order in which the document says that they are found."""
        rng, size = self.rng, self.format["word_bits"] // 8
        ports = {"source": "dev", "destination": "host"}
        if channel == "prefetch":
            ports = {"source": "host", "destination": "dev"}
        found = [
            *(
                Objection("reserved", {name: 1 << rng.randrange(bits)})
                for name, (_, bits) in self.document.records["descriptor"].fields.items()
                if name.startswith("reserved")
                or (name in ("check_crc", "crc") and not self.with_crc)
                or (name in ("owned", "owner") and not self.ports["host"]["guarded"])
            ),
            Objection("reserved", {"mode": rng.randint(3, 255)}),
            Objection("zero_length", {"length": 0}),
        ]
        if channel == "prefetch":
            found.append(Objection("zero_length", {"compressed_length": 0}, options={"mode": "zvc"}))
        found.append(Objection("length", {"length": (1 << 32) + size}))
        found.append(Objection("length", {"compressed_length": size}))
        if size > 1 and not self.any_length:
            found.append(Objection("length", {"length": 19 * size + 1}))
        found.append(Objection("capacity", {"capacity": 20 * size - rng.randint(1, 20 * size)}))
        for end, port in ports.items():
            if self.ports[port]["align_log2"]:
                found.append(Objection("alignment", {end: self.place(port, 4096) + 1}, end))
        for end, port in ports.items():
            bits = self.ports[port]["address_bits"]
            if bits < 64:
                found.append(Objection("window", {end: 1 << rng.randrange(bits, 64)}, end))
        return found

    def refusals(self, channel: str) -> list[Transfer]:
        """One transfer for each reason to refuse one, and one for every two reasons."""
        pairs = (
            (first, second)
            for first, second in itertools.combinations(self.objections(channel), 2)
            if not first.changes.keys() & second.changes.keys()
        )
        made = [self._refused_for(channel, reason) for reason in self.objections(channel)]
        return made + [self._refused_for(channel, *pair) for pair in pairs]

    def _refused_for(self, channel: str, first: Objection, second: Objection | None = None) -> Transfer:
        """A transfer that must be refused for the ``first`` reason, although there may be a ``second`` one."""
        others = second or Objection("", {})
        made = self.refused(
            channel, first.status, {**others.changes, **first.changes}, **{**others.options, **first.options}
        )
        if first.end:
            made.address = made.descriptor[first.end]
        elif first.status == "capacity":
            made.address = made.descriptor["destination"] + made.descriptor["capacity"]
        return made

    async def run(self, channel: str, transfers: list[Transfer]) -> None:
        """Runs transfers through the rings, as many at once as the rings take, and checks each."""
        end = self.channels[channel]
        waiting, in_flight = list(transfers), []
        while waiting or in_flight:
            room = end.entries - sum(made.entries for made in in_flight)
            fitting = sum(
                entries <= room for entries in itertools.accumulate(made.entries for made in waiting)
            )
            count = min(fitting, self.rng.randint(1, end.entries))
            if count:
                await end.submit([made.descriptor for made in waiting[:count]])
                in_flight += waiting[:count]
                del waiting[:count]
            for _ in range(self.rng.randint(1, len(in_flight))):
                self.check(channel, in_flight.pop(0), await end.take())
            self.finish()

    async def both(self, job: Callable[[str], Awaitable[None]]) -> None:
        """Runs a job on both channels at once."""
        for task in [cocotb.start_soon(self.blame(job(channel))) for channel in CHANNELS]:
            await task

    async def blame(self, job: Awaitable[None]) -> None:
        """Keeps what a job fails with; the test itself only sees that it is cancelled."""
        try:
            await job
        except Exception as error:
            self.error = self.error or error
            raise


def _rules_on(dut: Any, prefix: str) -> PortRules:
    handles = {}

    def pin(name: str) -> int:
        if name not in handles:
            handles[name] = getattr(dut, f"{prefix}_{name}")
        return int(handles[name].value)

    return PortRules(prefix, len(getattr(dut, f"{prefix}_wdata")) // 8, pin)


def outside_test(body: Callable[[Bench, int], Awaitable[None]]) -> Any:
    """Makes a cocotb test of ``body``, which gets the bench and its budget of transfers, and leaves the result."""

    async def run(dut: Any) -> None:
        bench = Bench(dut, body.__name__)
        failure = None
        try:
            await bench.start()
            await body(bench, bench.budget)
            await bench.after(100)
            bench.finish()
            assert all(rules.idle for each in bench.rules.values() for rules in each), (
                "something is in flight at the end"
            )
        except BaseException as error:
            cause = bench.error or error
            where = traceback.extract_tb(cause.__traceback__)[-1] if cause.__traceback__ else ""
            failure = f"cycle {bench.cycles}: {cause!r} {where}"
            raise
        finally:
            record = {
                "test": body.__name__,
                "failure": failure,
                "packets": bench.transfers,
                "words": bench.words,
                "checks": bench.checks,
                "cycles": bench.cycles,
            }
            with Path(bench.settings["result"]).open("a") as file:
                file.write(json.dumps(record) + "\n")

    run.__name__ = run.__qualname__ = body.__name__
    run.__module__ = body.__module__
    return cocotb.test()(run)
