"""The testbench of an engine: transfers with random data, and all that each of them must leave.

It has what an engine with registers (:mod:`.ring`) and one without (:mod:`.stream`) have in common.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any, Protocol

import numpy as np

from cdma.hdl.spec.options import PAGE_BYTES
from cdma.hdl.spec.records import COMPLETION, DESCRIPTOR, RECORD_BYTES, SHAPE_RECORD, Mode, Status
from cdma.hdl.spec.shape import Shape
from cdma.hdl.spec.stage import NUMBERS
from cdma.sim.engine.memory import EVERYBODY, AddressSpace, OwnerRule, unpack
from cdma.sim.engine.transfer import DIRECTIONS, Outcome, TransferRules

from .design import EngineDesign, resets_of
from .memory import AROUND, GUARD
from .owners import Owners
from .ports_bench import PortsBench
from .shaped import raw_of, shaped, some_shape
from .transfer import (
    Pages,
    Transfer,
    base_like,
    difference,
    random_numbers,
    random_step,
    random_words,
    transfer,
)


class ChannelEnd(Protocol):
    """Drives one channel, through rings and registers (:class:`.Ring`) or through streams (:class:`.DescriptorStream`)."""

    #: The most descriptors that may be handed over and not completed.
    size: int

    def forget(self) -> None: ...
    async def enable(self, *, halt_on_error: int = 0) -> None: ...
    async def disable(self) -> None: ...
    async def submit(self, records: Sequence[bytes]) -> None: ...
    def completion(self) -> bytes | None: ...
    def arrived(self) -> int: ...
    async def next(self, limit: int = 20000) -> bytes: ...
    async def abort(self) -> None: ...
    async def resume(self) -> None: ...
    async def flag(self, name: str) -> int: ...
    async def set_table(self, values: Sequence[int]) -> None: ...
    async def clear_error(self) -> None: ...
    async def check_error(self, status: Status, address: int, tag: int) -> None: ...


#: The engine's channels.
CHANNELS = DIRECTIONS

#: With this factor, and 1 added, all numbers of 32 bits come before one comes again.
_TAG_FACTOR = 1664525


class EngineBench(PortsBench):
    """The testbench.

    ``channels``: Drives each channel.
    ``transfers``, ``words``, ``checks``: Count what the test has done.
    """

    channels: Mapping[str, ChannelEnd]

    def __init__(self, dut: Any, design: EngineDesign, rng: random.Random) -> None:
        super().__init__(dut, design, rng)
        self.np = np.random.default_rng(rng.randrange(1 << 32))
        self.tables = {name: tuple([0] * self.config.codec.table_size) for name in CHANNELS}
        self.rules = {name: TransferRules(self.config, name) for name in CHANNELS}
        #: What the engine may touch on each port.
        self.spaces = {
            "dev": AddressSpace(self.config.dev_address_bits),
            "host": AddressSpace(self.config.host_address_bits),
        }
        self.owners: Owners | None = None
        if self.config.records.owner_bits:
            self.owners = Owners(dut, self.config)
            self.ends.append(self.owners)
        self.checks = self.transfers = self.words = 0
        self.notes: dict[str, Any] = {}
        self.tag = 0
        self._submitted: dict[int, Mapping[str, Any]] = {}
        self._told: list[dict[str, Any]] = []
        #: The transfer of each channel that has completed last.
        self._before: dict[str, dict[str, Any]] = {}

    def new_tag(self) -> int:
        """A tag that no other descriptor has. Each of its bits is often 1 and often 0."""
        self.tag = (self.tag * _TAG_FACTOR + 1) % (1 << 32)
        return self.tag

    async def reset(self, cycles: int) -> None:
        """Resets the engine and its neighbours, whatever is in flight."""
        await self.after(1)
        for reset in resets_of(self.dut, self.config):
            reset.value = 0
        await self.after(cycles * self.pace)
        for end in self.channels.values():
            end.forget()
        await self.end_resets()
        await self.after(2)

    async def set_watchdog(self, cycles: int) -> None:
        """Sets how many cycles a port may be silent; 0 is for ever."""
        raise NotImplementedError

    async def set_window(self, port: str, base: int, limit: int) -> None:
        """Opens whole pages of a port for the engine, ``limit`` included."""
        self.spaces[port] = replace(self.spaces[port], base=base, limit=limit)
        await self.write_window(port, base, limit)

    async def write_window(self, port: str, base: int, limit: int) -> None:
        raise NotImplementedError

    async def set_owners(self, channel: str = "", rule: OwnerRule = EVERYBODY) -> None:
        """Sets the owners whose descriptors a channel may carry out, or both; any without a rule. Nothing without owners."""
        for name in (channel,) if channel else CHANNELS:
            if self.owners is not None:
                self.owners.rules[name] = rule
                await self.write_owners(name, rule)

    async def write_owners(self, channel: str, rule: OwnerRule) -> None:
        raise NotImplementedError

    async def set_table(self, channel: str, values: Sequence[int]) -> None:
        self.tables[channel] = tuple(values)
        await self.channels[channel].set_table(values)

    def any_transfer(self, channel: str, words: int) -> Transfer:
        """A transfer of random data; where the engine allows, every second one has a shape, every second one pages, every
        second one without a shape a base, and its last word may be partial."""
        config, rng = self.config, self.rng
        shape = None
        if config.dimensions and rng.random() < 0.5:
            most = -(-words * config.format.word_bits // 8)
            shape = some_shape(rng, config, most, reads=channel == "offload")
        cut = rng.randrange(config.format.raw_bytes) if config.tail_bits and shape is None else 0
        based = config.delta and shape is None and rng.random() < 0.5
        made = self.transfer(channel, words, shape=shape, cut=cut, based=based)
        if config.pages and rng.random() < 0.5:
            self.put_in_pages(channel, made)
        return made

    def transfer(
        self,
        channel: str,
        words: int,
        *,
        mode: int | None = None,
        raw: bytes | None = None,
        shape: Shape | None = None,
        cut: int = 0,
        based: bool = False,
        **options: Any,
    ) -> Transfer:
        """A transfer of random or the given data, at a random address: writes its source, and makes its destination
        writable. Every second one is checked by CRC, and every second one with free mode and data has a step, where the
        engine has these.

        With a ``shape`` there are as many bytes as that has. If it is read, ``raw`` is everything from its lowest to
        its highest byte. Without a step, ``cut`` bytes of random data are left off. One that is ``based`` has a base that
        is random, or has many bytes of the data.
        """
        config, rng = self.config, self.rng
        reads_shape = shape is not None and channel == "offload"
        if shape is not None:
            size = shape.span if reads_shape else shape.length
            words = -(-size * 8 // config.format.word_bits)
            cut = words * config.format.word_bits // 8 - size
        if config.crc:
            options.setdefault("crc_off", rng.choice((None, 0)))
        table = self.tables[channel]
        chosen = rng.choice(list(Mode)) if mode is None else mode
        if config.quantisation and mode is None and raw is None and options.keys() <= {"crc_off"}:
            options["step"] = rng.choice((0, random_step(rng, config)))
            if shape is not None and shape.length % (NUMBERS[config.lossy].bits // 8):
                options["step"] = 0
        step = options.get("step", 0)
        if raw is not None:
            data = raw
        elif step:
            count = -(-words * config.format.word_bits // NUMBERS[config.lossy].bits)
            data = random_numbers(self.np, count, config, step)
            data = data if shape is None else data[:size]
        else:
            data = random_words(self.np, words, config, table)
            data = data[: len(data) - cut]
        region = data
        if shape is not None and reads_shape:
            data = raw_of(config, {"mode": chosen, "step": step}, table, shape, region)
        read, write = self.rules[channel].source, self.rules[channel].sink
        bits = {"dev": config.dev_data_bits, "host": config.host_data_bits}
        # Where in their beats source and destination begin.
        offsets = {port: rng.randrange(0, bits[port] // 8, config.align(port)) for port in bits}
        if based:
            options["base"] = base_like(self.np, data)
        made = transfer(
            config,
            channel,
            mode=chosen,
            raw=data,
            table=table,
            source=offsets[read],
            destination=offsets[write],
            tag=self.new_tag(),
            **options,
        )
        if shape is not None:
            made = shaped(made, shape, region if reads_shape else made.source, reads=reads_shape)
        if self.owners is not None:
            made.descriptor |= self.owners.some(rng)
        sizes = {"source": len(made.source), "destination": made.room}
        places = {
            field: self.memory[port].place(
                offsets[port] + sizes[field], max(bits[port] // 8, config.align(port))
            )
            for field, port in (("source", read), ("destination", write))
        }
        made.places += places.values()
        made.move(*(places[field].first - made.lowest[field] for field in ("source", "destination")))
        if based:
            self._place_base(made)
        source, destination = made.descriptor["source"], made.descriptor["destination"]
        self.memory[read].write(source + made.lowest["source"], made.source)
        for offset, count in made.writable():
            self.memory[write].allow(destination + offset, count)
        return made

    def _place_base(self, made: Transfer) -> None:
        """Writes the base of a transfer somewhere in device memory, in several units as the tensor lies in them."""
        config, dev = self.config, self.memory["dev"]
        beat, span = config.dev_data_bits // 8, config.base_align
        offset = self.rng.randrange(0, beat, config.align("dev"))
        place = dev.place(offset + span + len(made.base), beat)
        first = place.first + offset
        first += (made.descriptor[made.device_field] - first) % span
        made.places.append(place)
        made.descriptor[made.base_field] = first
        dev.write(first, made.base)

    def put_in_pages(self, channel: str, made: Transfer) -> None:
        """Moves the host memory of a transfer into pages, anywhere in memory."""
        host, rng = self.memory["host"], self.rng
        field = "destination" if channel == "offload" else "source"
        before = made.descriptor[field]
        count = made.room if channel == "offload" else len(made.source)
        beat = self.config.host_data_bits // 8
        # Often near the end of the first page, so that there are more, or so that the last one is full, or has a beat at
        # most; in the lane where it was, so that as much fits.
        lane = before % beat
        full = -(count + lane) // beat * beat
        starts = (0, rng.randrange(0, PAGE_BYTES, beat), -beat * rng.randint(1, 4), full, full + beat)
        first = rng.choice(starts) % PAGE_BYTES + lane
        sizes = [min(count, PAGE_BYTES - first)]
        sizes += [min(count - done, PAGE_BYTES) for done in range(sizes[0], count, PAGE_BYTES)]
        places = [host.place(PAGE_BYTES, PAGE_BYTES) for _ in range(len(sizes) + 1)]
        made.places += places
        rng.shuffle(places)
        list_at, first_page, *further = (place.first for place in places)
        runs = list(zip((first_page + first, *further), sizes, strict=True))
        made.pages = Pages(field, runs, list_at, host)
        made.descriptor |= {field: first_page + first, "pages_low": list_at & 0xFFFFFFFF}
        made.descriptor["pages_high"] = list_at >> 32
        done = 0
        if channel == "offload":
            host.allow(before, count, False)
        for address, size in made.pages.runs:
            if channel == "offload":
                host.allow(address, size)
            else:
                host.write(address, made.source[done : done + size])
            done += size
        if made.expected.status == Status.CAPACITY and channel == "offload":
            address = made.pages.place(len(made.expected.written))
            made.expected = replace(made.expected, address=address)

    def check(self, channel: str, made: Transfer, completion: bytes) -> None:
        """Checks the completion, every byte of the destination, and the guard bytes around it."""
        self.checks += made.check(completion)
        self.check_memory(channel, made)
        self.transfers += 1
        self.words += self.rules[channel].words(made.descriptor)

    def check_memory(self, channel: str, made: Transfer, exact: bool = True) -> None:
        """Checks what lies at the destination, then clears it and frees its memory. Without ``exact`` only the guards
        count."""
        made.places.clear()
        memory = self.memory["host" if channel == "offload" else "dev"]
        if made.pages is not None and channel == "offload":
            self._check_pages(made, made.pages, exact)
            return
        start, room = memory.place_of(made.descriptor["destination"] + made.lowest["destination"]), made.room
        got, want = memory.read(start - AROUND, room + 2 * AROUND), made.image()
        if not exact:
            want = want[:AROUND] + got[AROUND:-AROUND] + want[-AROUND:]
        elif channel == "prefetch" and self.config.units > 1 and made.expected.status != Status.OK:
            # Units after the one with an error may have written their stripes.
            for offset, count in made.left():
                at = AROUND + offset
                want = want[:at] + got[at : at + count] + want[at + count :]
        if found := difference(got, want):
            raise AssertionError(f"{made.descriptor}: {found}")
        self.checks += 1
        memory.write(start, bytes([GUARD]) * room)
        memory.allow(start, room, False)

    def _check_pages(self, made: Transfer, pages: Pages, exact: bool) -> None:
        """Checks the whole of each page that a transfer may write, then clears it."""
        memory, left = self.memory["host"], made.expected.written
        for address, count in pages.runs:
            start, inside = memory.place_of(address) // PAGE_BYTES * PAGE_BYTES, address % PAGE_BYTES
            got = memory.read(start, PAGE_BYTES)
            data = left[:count].ljust(count, bytes([GUARD])) if exact else got[inside : inside + count]
            left = left[count:]
            want = data.rjust(inside + count, bytes([GUARD])).ljust(PAGE_BYTES, bytes([GUARD]))
            assert got == want, f"{made.descriptor}: the page at {address:#x} is not as it must be"
            memory.write(start, bytes([GUARD]) * PAGE_BYTES)
            memory.allow(start, PAGE_BYTES, False)
        self.checks += 1

    async def run(self, channel: str, transfers: Sequence[Transfer]) -> None:
        """Submits transfers, as many at once as the channel takes, and checks each when it is complete."""
        end = self.channels[channel]
        waiting = list(transfers)
        in_flight: list[Transfer] = []
        while waiting or in_flight:
            credit = end.size - sum(made.entries for made in in_flight)
            fitting = accumulate(made.entries for made in waiting)
            count = min(sum(entries <= credit for entries in fitting), self.rng.randint(1, end.size))
            if count:
                in_flight += waiting[:count]
                await end.submit([made.record() for made in waiting[:count]])
                del waiting[:count]
            for _ in range(self.rng.randint(1, len(in_flight))):
                self.check(channel, in_flight[0], await end.next())
                in_flight.pop(0)

    def refusal(self, channel: str, made: Transfer) -> Outcome | None:
        """The specification's objection to a descriptor."""
        rules = self.rules[channel]
        source, sink = self.spaces[rules.source], self.spaces[rules.sink]
        record = made.record()
        extension = unpack(SHAPE_RECORD, record[RECORD_BYTES:]) if made.entries > 1 else None
        owners = EVERYBODY if self.owners is None else self.owners.rules[channel]
        return rules.refusal(unpack(DESCRIPTOR, record[:RECORD_BYTES]), source, sink, extension, owners)

    async def settle(self, channel: str) -> None:
        """Waits for the end of an abort."""
        for _ in range(4000 * self.config.dev_reads):
            if not await self.channels[channel].flag("aborting"):
                return
        raise AssertionError(f"{channel}: the abort did not end")

    def tell(self, **sample: Any) -> None:
        """Notes an event for functional coverage."""
        self._told.append(sample)

    def tell_submitted(self, channel: str, records: Sequence[bytes]) -> None:
        """Notes descriptors, by which completions are identified later."""
        for record in records:
            if self.owners is not None:
                self.owners.expect(channel, record, self.memory["host"])
            descriptor: dict[str, Any] = dict(unpack(DESCRIPTOR, record[:RECORD_BYTES]))
            if len(record) > RECORD_BYTES:
                descriptor["extension"] = unpack(SHAPE_RECORD, record[RECORD_BYTES:])
            self._submitted[descriptor["tag"]] = descriptor

    def tell_completed(self, channel: str, way: str, completion: bytes) -> None:
        """Notes a completion from a ring or a stream; that of a failed fetch has no descriptor."""
        got = unpack(COMPLETION, completion)
        descriptor = dict(self._submitted.get(got["tag"], {}))
        mode = descriptor.pop("mode", None)
        found = dict(
            channel=channel,
            way=way,
            status=Status(got["status"]).name if got["status"] in list(Status) else None,
            mode=Mode(mode).name if mode in list(Mode) else None,
            address=got["address"],
            bytes_written=got["bytes_written"],
            **descriptor,
        )
        self.tell(what="transfer", before=self._before.get(channel), **found)
        self._before[channel] = found

    def samples(self) -> list[dict[str, Any]]:
        """What the bench noted, and what was seen at the ports."""
        handshakes = [
            {"what": "handshake", "port": port, "channel": channel, "waited": waited}
            for port, channel, waited in self.rules_of_axi.handshakes()
        ]
        bursts = [
            {
                "what": "burst",
                "port": port,
                "way": burst.kind,
                "id": burst.id,
                "beats": burst.beats,
                "ends page": burst.ends_page,
            }
            for port, burst in self.bursts()
        ]
        return [*self._told, *handshakes, *bursts]

    def tally(self) -> dict[str, Any]:
        """What the test has done, so that nothing can pass by doing nothing."""
        return {
            "packets": self.transfers,
            "words": self.words,
            "checks": self.checks,
            "cycles": self.cycles,
            "notes": self.notes,
        }
