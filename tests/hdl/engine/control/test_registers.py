"""The register map and everything made from it: RTL against a model, and the texts against each other."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from amaranth.hdl import Module, Value
from amaranth.sim import Simulator
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from systemrdl import RDLCompiler
from systemrdl.node import FieldNode, RegfileNode, RegNode

from cdma.hdl.engine.control.register_file import RegisterFile
from cdma.hdl.engine.control.registers import RegisterBlock
from cdma.hdl.engine.control.windows import StoredWindows
from cdma.hdl.spec.counters import COUNTERS
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.errors import ParameterError
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.records import Mode, Status
from cdma.hdl.spec.registers.description import Access, Block, Field, Placed, Register, RegisterMap
from cdma.hdl.spec.registers.map import register_map
from cdma.hdl.texts.c_header import c_header
from cdma.hdl.texts.document import register_document
from cdma.hdl.texts.rdl import register_rdl

# ------------------------------------------------------------------------------------------ the description


def field(**changes: object) -> Field:
    return replace(Field("value", 0, 8, Access.RW, "A value."), **changes)  # type: ignore[arg-type]


def register(**changes: object) -> Register:
    return replace(Register("item", 0, "An item.", (field(),)), **changes)  # type: ignore[arg-type]


def block(**changes: object) -> Block:
    return replace(Block("part", "A part.", (register(),), (("part", 0),)), **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: field(name="Value"), "a field is named 'Value'"),
        (lambda: field(name="a__b"), "single underscores"),
        (lambda: field(lsb=28), "field value has 8 bits from bit 28; it must lie within bits 0 to 31"),
        (lambda: field(reset=256), "field value resets to 256, which 8 bits do not hold"),
        (lambda: field(access=Access.RO, reset=1), "field value is ro and resets to 1"),
        (lambda: field(choices=(("big", 256),)), "field value offers big = 256"),
        (lambda: field().put(256), "value is 256; the field has 8 bits, so 0 to 255"),
        (lambda: register(offset=2), "register item is at 0x2"),
        (lambda: register(count=-1), "register item has count -1"),
        (lambda: register(fields=()), "register item has no fields"),
        (lambda: register(fields=(field(), field(name="other", lsb=7))), "field other overlaps"),
        (lambda: register(fields=(field(name="written"),)), "'written' is the write strobe's"),
        (lambda: register().field("none"), "register item has no field 'none'; it has value"),
        (lambda: block(registers=(register(), register(name="other"))), "register other at 0x0 overlaps"),
        (lambda: block(registers=(register(), register(offset=4))), "item, item; a name may occur once"),
        (lambda: block(registers=(register(locked_by="item.value"),)), "not one bit of access lock"),
        (lambda: block(external=True), "block part is external"),
        (lambda: block(registers=(register(count=3),), instances=(("part", 8),)), "part spans 0x10 bytes"),
        (
            lambda: RegisterMap("map", "", (block(), block(name="more")), 4),
            "part, part; a name may occur once",
        ),
        (
            lambda: RegisterMap("map", "", (block(instances=(("a", 0), ("b", 0))),), 4),
            "b at 0x0 overlaps a, which ends at 0x4",
        ),
        (lambda: RegisterMap("map", "", (block(instances=(("a", 16),)),), 4), "a ends at 0x14, past the 4"),
    ],
)
def test_a_wrong_description_is_refused(make, message):
    with pytest.raises(ParameterError) as caught:
        make()
    assert message in str(caught.value)


# ------------------------------------------------------------------------------------ the RTL against a model

LOCK = Register("lock", 0x14, "Locks.", (Field("locked", 0, 1, Access.LOCK, "No more writes."),))

#: Every kind of access, arrays, several instances, a lock, an external block, holes.
EXAMPLE = RegisterMap(
    "example",
    "A map with one of everything.",
    (
        Block(
            "general",
            "One of everything.",
            (
                Register(
                    "ident",
                    0x00,
                    "Constant.",
                    (Field("magic", 0, 32, Access.CONSTANT, "Fixed.", 0xC0FFEE42),),
                ),
                Register(
                    "mixed",
                    0x04,
                    "Several kinds side by side.",
                    (
                        Field("mode", 0, 3, Access.RW, "Stored.", 5, (("fast", 1), ("slow", 5))),
                        Field("state", 5, 9, Access.RO, "Driven."),
                        Field("go", 14, 4, Access.PULSE, "Acts, across two bytes."),
                        Field("events", 20, 12, Access.W1C, "Sticky.", 0x801),
                    ),
                    strobe=True,
                ),
                Register(
                    "table", 0x08, "An array.", (Field("entry", 4, 20, Access.RW, "Stored.", 3),), count=3
                ),
                LOCK,
                Register(
                    "guarded",
                    0x18,
                    "Lockable.",
                    (Field("limit", 0, 32, Access.RW, "Stored."),),
                    locked_by="lock.locked",
                ),
                Register(
                    "aside",
                    0x1C,
                    "In memory alone, and beside it.",
                    (
                        Field("low", 2, 11, Access.RW, "Stored.", 0x155, in_memory=True),
                        Field("ones", 14, 5, Access.CONSTANT, "Fixed.", 0x1F),
                        Field("high", 20, 12, Access.RW, "Stored, seen.", 0x7),
                    ),
                    locked_by="lock.locked",
                ),
            ),
            (("first", 0x20), ("second", 0x00)),
        ),
        Block(
            "sturdy",
            "Survives a soft reset; guarded by hardware.",
            (
                Register("busy", 0x0, "Hardware's lock.", (Field("now", 3, 1, Access.RO, "Driven."),)),
                Register(
                    "setting",
                    0x4,
                    "Lockable by hardware.",
                    (
                        Field("value", 0, 9, Access.RW, "Stored.", 7),
                        Field("act", 9, 1, Access.PULSE, "Acts."),
                    ),
                    strobe=True,
                    locked_by="busy.now",
                ),
                Register("sticky", 0x8, "Sticky.", (Field("flag", 31, 1, Access.W1C, "Set by hardware."),)),
                Register(
                    "told",
                    0xC,
                    "Written by hardware, in memory.",
                    (
                        Field("what", 0, 31, Access.RO, "Reported.", in_memory=True),
                        Field("now", 31, 1, Access.RO, "Driven."),
                    ),
                ),
            ),
            (("sturdy", 0x40),),
            survives_soft_reset=True,
        ),
        Block(
            "away",
            "Kept by others.",
            (
                Register("far", 0x00, "Forwarded.", (Field("count", 0, 32, Access.RO, "Count."),), count=2),
                Register("further", 0x0C, "Forwarded.", (Field("count", 0, 32, Access.RO, "Count."),)),
            ),
            (("away", 0x50),),
            external=True,
        ),
    ),
    7,
)


@dataclass(frozen=True)
class Operation:
    """One access as a manager starts it."""

    address: int
    data: int | None = None
    strobes: int = 0xF


class Model:
    """The stored bits of a map, as its description says they behave."""

    def __init__(self, registers: RegisterMap) -> None:
        self.at = {placed.address: placed for placed in registers.placed()}
        self.stored = {address: self._reset(placed) for address, placed in self.at.items()}

    @staticmethod
    def _reset(placed: Placed) -> int:
        return sum(f.reset << f.lsb for f in placed.register.fields if f.access is not Access.RO)

    def _locked(self, placed: Placed, driven: dict[tuple[str, str], int]) -> bool:
        if not placed.register.locked_by:
            return False
        name, _, bit = placed.register.locked_by.partition(".")
        lock = placed.block.register(name)
        address = placed.address - placed.register.offset - 4 * placed.index + lock.offset
        return bool(lock.field(bit).get(self.read(address, driven)[1]))

    def write(
        self, operation: Operation, driven: dict[tuple[str, str], int]
    ) -> tuple[bool, dict[tuple[str, str], int]]:
        """Whether the write answers OKAY, and the pulses it causes by register and field."""
        placed = self.at.get(operation.address & ~3)
        if placed is None:
            return False, {}
        if self._locked(placed, driven):
            return True, {}
        mask = sum(0xFF << 8 * byte for byte in range(4) if operation.strobes >> byte & 1)
        assert operation.data is not None
        old, ones = self.stored[placed.address], operation.data & mask
        pulses = {(placed.name, "written"): 1} if placed.register.strobe else {}
        new = old
        for f in placed.register.fields:
            if f.access is Access.RW:
                new = new & ~(f.mask & mask) | ones & f.mask
            elif f.access is Access.W1C:
                new &= ~(ones & f.mask)
            elif f.access is Access.LOCK:
                new |= ones & f.mask
            elif f.access is Access.PULSE:
                pulses[placed.name, f.name] = f.get(ones)
        self.stored[placed.address] = new
        return True, pulses

    def happen(self, events: dict[str, int]) -> None:
        """Hardware sets W1C bits."""
        for placed in self.at.values():
            for f in placed.register.fields:
                if f.access is Access.W1C:
                    self.stored[placed.address] |= f.put(events[placed.name, f.name])

    def soft_reset(self) -> None:
        """Stored fields return to their reset values, where neither lock nor block forbids it."""
        for placed in self.at.values():
            if not placed.block.survives_soft_reset:
                locks = sum(f.mask for f in placed.register.fields if f.access is Access.LOCK)
                kept = self.stored[placed.address] & locks
                self.stored[placed.address] = self._reset(placed) & ~locks | kept

    def read(self, address: int, driven: dict[tuple[str, str], int]) -> tuple[bool, int]:
        """Whether the read answers OKAY, and its data."""
        placed = self.at.get(address & ~3)
        if placed is None:
            return False, 0
        value = self.stored[placed.address]
        for f in placed.register.fields:
            if f.access is Access.RO:
                value |= f.put(driven[placed.name, f.name])
        return True, value


def port_of(dut: RegisterFile, placed: Placed, name: str):
    port = getattr(getattr(getattr(dut, placed.instance), placed.register.name), name)
    return port[placed.index] if placed.register.count else port


OUTPUTS = ("awready", "wready", "bvalid", "bresp", "arready", "rvalid", "rdata", "rresp")


def play(
    registers: RegisterMap,
    writes: list[Operation],
    reads: list[Operation],
    seed: int,
    pause: float,
    resets: float = 0.01,
) -> int:
    """Runs the accesses with random idle and back-pressure, and soft resets in a share ``resets`` of the cycles,
    checks every cycle, and returns the cycles taken once the registers have settled."""
    rng = random.Random(seed)
    dut = RegisterFile(registers)
    model = Model(registers)
    m = Module()
    m.submodules.dut = dut
    inner = [placed for placed in registers.placed() if not placed.block.external]
    fields = [(placed, f) for placed in inner for f in placed.register.fields]
    keepers = [
        (block, instance) for block in registers.blocks if block.external for instance, _ in block.instances
    ]
    away = {(placed.instance, placed.address): rng.getrandbits(32) for placed in registers.placed()}
    cycles = 0

    async def bench(ctx):
        nonlocal cycles
        bus = dut.bus
        pending_aw, pending_w, pending_ar = list(writes), list(writes), list(reads)
        taken_b = taken_r = 0
        executed_writes = executed_reads = 0
        expected_b: list[bool] = []
        expected_r: list[tuple[bool, int]] = []
        expected_pulses: dict[tuple[str, str], int] = {}
        events: dict[tuple[str, str], int] = {}
        driven: dict[tuple[str, str], int] = {
            (placed.name, f.name): away[placed.instance, placed.address]
            for placed in registers.placed()
            if placed.block.external
            for f in placed.register.fields
        }
        offered = {"aw": False, "w": False, "ar": False}
        words = len(registers.kept)
        report = dut.report
        reported = [placed for placed in registers.kept if any(f.reported for f in placed.register.fields)]
        stored: tuple[int, int] | None = None
        limit = 100 + 4 * words + int((40 + words) * (len(writes) + len(reads)) / (1 - pause) ** 2)
        copies = [0] * words

        def follow() -> None:
            """What hardware with copies of its own makes of a cycle."""
            change = ctx.get(dut.changes)
            mask = sum(0xFF << 8 * byte for byte in range(4) if change.enable >> byte & 1)
            copies[change.index] = copies[change.index] & ~mask | change.data & mask

        while not ctx.get(dut.settled):
            assert not ctx.get(bus.awready)
            assert not ctx.get(bus.arready)
            follow()
            await ctx.tick()
        while taken_b < len(writes) or taken_r < len(reads):
            assert cycles < limit, "the subordinate hangs"
            cycles += 1
            before = {name: ctx.get(Value.cast(getattr(bus, name))) for name in OUTPUTS}
            for name, queue in (("aw", pending_aw), ("w", pending_w), ("ar", pending_ar)):
                # Once offered, an access stays offered: the rule for a manager.
                offered[name] = bool(queue) and (offered[name] or rng.random() >= pause)
                ctx.set(getattr(bus, f"{name}valid"), offered[name])
            junk = rng.getrandbits(32)
            ctx.set(bus.awaddr, pending_aw[0].address if offered["aw"] else junk)
            ctx.set(bus.wdata, pending_w[0].data if offered["w"] else junk)
            ctx.set(bus.wstrb, pending_w[0].strobes if offered["w"] else junk & 0xF)
            ctx.set(bus.araddr, pending_ar[0].address if offered["ar"] else junk)
            bready, rready = rng.random() >= pause, rng.random() >= pause
            ctx.set(bus.bready, bready)
            ctx.set(bus.rready, rready)
            for placed, f in fields:
                if f.in_memory:
                    if f.reported:
                        driven.setdefault((placed.name, f.name), 0)
                elif f.access is Access.RO:
                    driven[placed.name, f.name] = value = rng.getrandbits(f.bits)
                    ctx.set(port_of(dut, placed, f.name), value)
                elif f.access is Access.W1C:
                    events[placed.name, f.name] = value = rng.getrandbits(f.bits) & rng.getrandbits(f.bits)
                    ctx.set(port_of(dut, placed, f.name).set, value)
                elif f.access in (Access.RW, Access.LOCK):
                    assert ctx.get(port_of(dut, placed, f.name)) == f.get(model.stored[placed.address])
                elif f.access is Access.PULSE:
                    expected = expected_pulses.get((placed.name, f.name), 0)
                    assert ctx.get(port_of(dut, placed, f.name)) == expected
            for placed in inner:
                if placed.register.strobe:
                    assert ctx.get(port_of(dut, placed, "written")) == expected_pulses.get(
                        (placed.name, "written"), 0
                    )
            for away_block, instance in keepers:
                keeper = getattr(dut, instance)
                done = bool(ctx.get(keeper.request)) and rng.random() >= pause
                base = dict(away_block.instances)[instance]
                ctx.set(keeper.done, done)
                address = base + 4 * ctx.get(keeper.word)
                ctx.set(keeper.data, away.get((instance, address), 0) if done else junk)
            after = {name: ctx.get(Value.cast(getattr(bus, name))) for name in OUTPUTS}
            assert before == after, "a path from input to output"

            if before["bvalid"] and bready:
                okay = expected_b.pop(0)
                assert before["bresp"] == (0 if okay else 2)
                taken_b += 1
            if before["rvalid"] and rready:
                okay, value = expected_r.pop(0)
                assert (before["rresp"], before["rdata"]) == (0 if okay else 2, value)
                taken_r += 1
            if offered["aw"] and before["awready"]:
                pending_aw.pop(0)
                offered["aw"] = False
            if offered["w"] and before["wready"]:
                pending_w.pop(0)
                offered["w"] = False
            if offered["ar"] and before["arready"]:
                pending_ar.pop(0)
                offered["ar"] = False
            soft_reset = rng.random() < resets
            ctx.set(dut.soft_reset, soft_reset)
            # Hardware looks at a register, and writes one of its own, at any time.
            if stored is not None and ctx.get(dut.settled):
                assert ctx.get(dut.stored.data) == stored[1], registers.kept[stored[0]].name
            look = rng.randrange(words)
            at = registers.kept[look]
            ctx.set(dut.stored.index, look)
            telling = bool(reported) and rng.random() < 0.3
            ctx.set(report.valid, telling)
            if telling:
                target = rng.choice(reported)
                ctx.set(report.payload.index, registers.words[target.address])
                value = rng.getrandbits(32) & sum(f.mask for f in target.register.fields if f.reported)
                ctx.set(report.payload.data, value)
            told = telling and bool(ctx.get(report.ready))
            settled = bool(ctx.get(dut.settled))
            held = copies[look]
            follow()
            await ctx.tick()
            mine = sum(f.put(driven[at.name, f.name]) for f in at.register.fields if f.reported)
            stored = (look, model.stored[at.address] & at.register.stored_mask | mine) if settled else None
            assert stored is None or held == stored[1], "a copy differs"

            # An access was carried out at this edge if its response is now there.
            while executed_reads < taken_r + ctx.get(bus.rvalid):
                expected_r.append(model.read(reads[executed_reads].address, driven))
                executed_reads += 1
            expected_pulses = {}
            while executed_writes < taken_b + ctx.get(bus.bvalid):
                okay, expected_pulses = model.write(writes[executed_writes], driven)
                expected_b.append(okay)
                executed_writes += 1
            model.happen(events)
            if told:
                for f in target.register.fields:
                    if f.reported:
                        driven[target.name, f.name] = f.get(value)
            if soft_reset:
                model.soft_reset()
                for placed in reported:
                    if not placed.block.survives_soft_reset:
                        driven.update(
                            {(placed.name, f.name): 0 for f in placed.register.fields if f.reported}
                        )

    simulator = Simulator(m)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
    return cycles


addresses = st.one_of(
    st.sampled_from([placed.address for placed in EXAMPLE.placed()]),
    st.integers(0, (1 << EXAMPLE.address_bits) - 1),
)
write_operations = st.builds(
    Operation, addresses, st.integers(0, 0xFFFFFFFF), st.one_of(st.just(0xF), st.integers(0, 15))
)
read_operations = st.builds(Operation, addresses)


@pytest.mark.slow
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(write_operations, max_size=40),
    st.lists(read_operations, max_size=40),
    st.integers(0, 2**32 - 1),
    st.sampled_from((0.0, 0.3, 0.8)),
)
def test_any_accesses_behave_as_the_model_says(writes, reads, seed, pause):
    play(EXAMPLE, writes, reads, seed, pause)


@pytest.mark.slow
@pytest.mark.parametrize("pause", [0.0, 0.4, 0.8])
def test_long_traffic_behaves_as_the_model_says(pause):
    """Long enough that every register is written again while it holds something, and while hardware acts."""
    rng = random.Random(f"long {pause}")
    known = [placed.address for placed in EXAMPLE.placed()]

    def operation() -> Operation:
        address = rng.choice(known) if rng.random() < 0.9 else rng.randrange(1 << EXAMPLE.address_bits)
        return Operation(address, rng.getrandbits(32), rng.choice((0xF, rng.getrandbits(4))))

    play(
        EXAMPLE,
        [operation() for _ in range(500)],
        [operation() for _ in range(500)],
        rng.getrandbits(32),
        pause,
    )


def test_an_access_every_second_cycle_and_direction():
    writes = [Operation(placed.address, 0) for placed in EXAMPLE.placed() if not placed.block.external] * 4
    reads = [Operation(operation.address) for operation in writes]
    assert play(EXAMPLE, writes, reads, seed=1, pause=0.0, resets=0.0) <= 2 * len(writes) + 3


# ------------------------------------------------------------------------------ the engine's own registers

CONFIGS = {
    "default": EngineConfig(),
    "small": EngineConfig(
        format=Format(word_bits=8, code_bits=4, values=(0, 1)),
        lanes=16,
        dev_data_bits=128,
        host_data_bits=64,
        dev_address_bits=13,
        host_address_bits=32,
        ring_entries=2,
    ),
    "odd": EngineConfig(
        format=Format(word_bits=16, code_bits=2, values=(7,)),
        dev_address_bits=40,
        host_address_bits=33,
        alignment="word",
    ),
}
each_config = pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)


@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data(), st.integers(0, 2**32 - 1), st.sampled_from((0.0, 0.5)))
def test_the_engines_map_behaves_as_the_model_says(data, seed, pause):
    registers = register_map(CONFIGS[data.draw(st.sampled_from(sorted(CONFIGS)))])
    known = st.sampled_from([placed.address for placed in registers.placed()])
    writes = data.draw(st.lists(st.builds(Operation, known, st.integers(0, 0xFFFFFFFF)), max_size=60))
    reads = data.draw(st.lists(st.builds(Operation, known), max_size=60))
    play(registers, writes, reads, seed, pause)


def test_offsets_and_fields_are_the_same_for_every_engine():
    def shape(config: EngineConfig) -> dict[str, dict[str, tuple[int, Access]]]:
        return {
            placed.name.partition("[")[0]: {f.name: (f.lsb, f.access) for f in placed.register.fields}
            for placed in register_map(config).placed()
            if placed.index == 0 and not placed.name.endswith("_high")
        }

    shapes = [shape(config) for config in CONFIGS.values()]
    assert all(other == shapes[0] for other in shapes)
    addresses = [
        {
            placed.name.partition("[")[0]: placed.address
            for placed in register_map(config).placed()
            if not placed.index
        }
        for config in CONFIGS.values()
    ]
    assert all(other == addresses[0] for other in addresses)


@each_config
def test_capabilities_say_what_the_configuration_is(config):
    registers = register_map(config)

    def capability(register: str) -> dict[str, int]:
        item = registers[f"engine.{register}"].register
        assert all(f.access is Access.CONSTANT for f in item.fields)
        return {f.name: f.get(item.reset) for f in item.fields}

    assert capability("ident")["value"].to_bytes(4, "little") == b"cDMA"
    assert capability("stream_format") == {
        "word_bits": config.format.word_bits,
        "window": config.format.window,
        "code_bits": config.format.code_bits,
        "table_size": 2**config.format.code_bits - 1,
        "lanes": config.lanes,
    }
    for port in ("dev", "host"):
        data_bits = getattr(config, f"{port}_data_bits")
        assert capability(f"{port}_port") == {
            "data_bits": data_bits,
            "address_bits": getattr(config, f"{port}_address_bits"),
            # In "odd" a word of 2 bytes is enough.
            "align_log2": 1
            if config.alignment == "word"
            else {64: 3, 128: 4, 256: 5, 512: 6, 1024: 7}[data_bits],
        }
    assert capability("bursts") == {"beats": config.burst_beats, "outstanding": config.outstanding}
    assert 2 ** capability("limits")["ring_log2"] == config.ring_entries


class Bus:
    """One access at a time, for tests of what registers do."""

    def __init__(self, ctx, block: RegisterBlock) -> None:
        self.ctx = ctx
        self.bus = block.bus
        self.registers = block.registers

    async def write(self, name: str, data: int, *, answered: bool = True) -> None:
        ctx, bus = self.ctx, self.bus
        ctx.set(bus.awaddr, self.registers[name].address)
        ctx.set(bus.wdata, data)
        ctx.set(bus.wstrb, 0xF)
        for signal in (bus.awvalid, bus.wvalid, bus.bready):
            ctx.set(signal, 1)
        await ctx.tick().until(bus.awready)
        ctx.set(bus.awvalid, 0)
        ctx.set(bus.wvalid, 0)
        if answered:
            await ctx.tick().until(bus.bvalid)

    async def pulses(self, name: str, data: int, signal) -> int:
        """How many cycles ``signal`` is high for after a write."""
        await self.write(name, data, answered=False)
        seen = 0
        for _ in range(6):
            seen += self.ctx.get(signal)
            await self.ctx.tick()
        return seen

    async def read(self, name: str) -> int:
        ctx, bus = self.ctx, self.bus
        ctx.set(bus.araddr, self.registers[name].address)
        ctx.set(bus.arvalid, 1)
        ctx.set(bus.rready, 1)
        await ctx.tick().until(bus.arready)
        ctx.set(bus.arvalid, 0)
        (value,) = await ctx.tick().sample(bus.rdata).until(bus.rvalid)
        return value


def run(config: EngineConfig, bench, windows: StoredWindows | None = None) -> None:
    """Simulates the register block; ``bench(ctx, block, bus)`` plays the software and the engine, but for
    ``windows``, which follow the registers."""
    m = Module()
    m.submodules.block = block = RegisterBlock(config)
    if windows is not None:
        m.submodules.windows = windows
        m.d.comb += windows.changes.eq(block.control.changes)
    simulator = Simulator(m)
    simulator.add_clock(1e-9)

    async def testbench(ctx):
        await bench(ctx, block, Bus(ctx, block))

    simulator.add_testbench(testbench)
    simulator.run()


@each_config
def test_windows_reach_the_engine_and_lock(config):
    windows = StoredWindows(config)

    async def window(ctx, port):
        """Base and limit, as the checkers of both channels see them."""
        seen = set()
        for name, reads, writes in (("offload", "dev", "host"), ("prefetch", "host", "dev")):
            view, found = getattr(windows, name), []
            for high in range(2):
                ctx.set(view.at, {"high": high, "write": port == writes})
                await ctx.tick()
                base = ctx.get(view.base)
                ctx.set(view.at, {"high": 1 - high, "write": port == reads})
                await ctx.tick()
                found.append((base, ctx.get(view.limit)))
            seen.add(tuple(low | high << 32 for low, high in zip(*found, strict=True)))
        assert len(seen) == 1, "the channels see different windows"
        return seen.pop()

    async def bench(ctx, block, bus):
        while await bus.read("engine.status") & 1:
            pass
        for port in ("dev", "host"):
            bits = getattr(config, f"{port}_address_bits")
            everything = (1 << bits) - 1
            assert await window(ctx, port) == (0, everything)
            base, limit = 0x1234_5678_9ABC_D000 & everything, 0xFEDC_BA98_7654_3FFF & everything
            for half, value in (("base", base), ("limit", limit)):
                await bus.write(f"{port}_window.{half}_low", value & 0xFFFFFFFF)
                await bus.write(f"{port}_window.{half}_high", value >> 32)
                assert await bus.read(f"{port}_window.{half}_low") == value & 0xFFFFFFFF
                assert await bus.read(f"{port}_window.{half}_high") == value >> 32
            assert await window(ctx, port) == (base, limit)
            await bus.write(f"{port}_window.lock", 1)
            await bus.write(f"{port}_window.lock", 0)
            await bus.write("engine.command", 1)
            while await bus.read("engine.status") & 1:
                pass
            for half in ("base_low", "base_high", "limit_low", "limit_high"):
                await bus.write(f"{port}_window.{half}", 0x7FFFF000)
            assert await window(ctx, port) == (base, limit)

    run(config, bench, windows)


async def stored(ctx, block: RegisterBlock, name: str) -> int:
    """What hardware finds in the register memory."""
    port = block.control.stored
    ctx.set(port.index, block.registers.word(name))
    await ctx.tick()
    return ctx.get(port.data)


async def tell(ctx, block: RegisterBlock, name: str, value: int) -> None:
    """Writes a register from the side of hardware."""
    report = block.control.report
    ctx.set(report.payload.index, block.registers.word(name))
    ctx.set(report.payload.data, value)
    ctx.set(report.valid, 1)
    await ctx.tick().until(report.ready)
    ctx.set(report.valid, 0)


@each_config
def test_a_pushed_descriptor_arrives_whole_and_stays_until_taken(config):
    async def bench(ctx, block, bus):
        words = [0xA0000000 + 0x01010101 * word for word in range(12)]
        words[11] &= 0x1FF
        names = [placed.name for placed in block.registers.placed() if placed.instance == "push"][:12]
        for name, other in (("offload", "prefetch"), ("prefetch", "offload")):
            channel = getattr(block.control, name)
            for part, word in zip(names, words, strict=True):
                await bus.write(part, word)
            submit = block.registers["push.submit"].register
            await bus.write("push.submit", submit.put(**{name: 1}))
            assert await bus.read("push.status") == 1
            for part in names:
                await bus.write(part, 0xFFFFFFFF)
            await bus.write("push.submit", 3)
            assert ctx.get(channel.push)
            assert not ctx.get(getattr(block.control, other).push)
            assert [await stored(ctx, block, part) for part in names] == words
            assert [await bus.read(part) for part in names] == words
            ctx.set(channel.push_taken, 1)
            await ctx.tick()
            ctx.set(channel.push_taken, 0)
            assert not ctx.get(channel.push)
            assert await bus.read("push.status") == 0
            words = [word ^ 0x55 for word in words]

    run(config, bench)


def test_a_descriptor_is_frozen_from_the_cycle_of_its_submission():
    """Write addresses and data back to back: the write behind the submission must not reach the
    descriptor."""

    async def bench(ctx, block, bus):
        for name, value in [("push.tag", 1), ("push.submit", 1), ("push.tag", 2), ("push.tag", 3)]:
            ctx.set(block.bus.awaddr, block.registers[name].address)
            ctx.set(block.bus.wdata, value)
            for signal in (block.bus.awvalid, block.bus.wvalid, block.bus.bready):
                ctx.set(signal, 1)
            ctx.set(block.bus.wstrb, 0xF)
            await ctx.tick().until(block.bus.awready)
        ctx.set(block.bus.awvalid, 0)
        ctx.set(block.bus.wvalid, 0)
        assert await stored(ctx, block, "push.tag") == 1
        assert ctx.get(block.control.offload.push)

    run(EngineConfig(), bench)


@pytest.mark.parametrize("answer", [0, 1, 9])
def test_soft_reset_starts_nothing_and_forgets_all_but_windows(answer):
    async def bench(ctx, block, bus):
        channel = block.control.prefetch
        await bus.write("prefetch.control", 0xF)
        await bus.write("prefetch.ring_base_low", 0xABCDE040)
        await bus.write("prefetch.ring_base_high", 0x12)
        await bus.write("prefetch.ring_tail", 5)
        await bus.write("engine.watchdog", 77)
        await bus.write("host_window.base_low", 0x3000)
        await bus.write("push.tag", 9)
        await bus.write("push.submit", 2)
        assert ctx.get(channel.enable)
        assert ctx.get(channel.ring.enable)
        assert await stored(ctx, block, "prefetch.ring_base_low") == 0xABCDE040
        assert await stored(ctx, block, "prefetch.ring_base_high") == 0x12
        assert ctx.get(channel.push)

        await bus.write("engine.command", 1)
        assert not ctx.get(channel.enable)
        assert ctx.get(channel.ring.enable), "the engine still needs its rings to finish"
        ctx.set(block.control.resetting, answer > 0)
        for _ in range(answer):
            await ctx.tick()
            assert not ctx.get(channel.enable)
            assert await bus.read("engine.status") & 1
        await bus.write("engine.command", 1)
        ctx.set(block.control.resetting, 0)
        for _ in range(4):
            assert not (ctx.get(channel.ring.enable) and ctx.get(channel.enable))
            if answer:
                assert not ctx.get(channel.ring.enable)
            await ctx.tick()
        assert await bus.read("engine.status") == 0, "reads wait until the registers are as after reset"
        assert await stored(ctx, block, "prefetch.ring_base_high") == 0
        assert await bus.read("push.tag") == 0
        assert await bus.read("prefetch.control") == 0
        assert await bus.read("prefetch.ring_tail") == 0
        assert await bus.read("engine.watchdog") == 0
        assert await bus.read("host_window.base_low") == 0x3000
        assert not ctx.get(channel.push)
        assert not ctx.get(channel.ring.enable)

    run(EngineConfig(), bench)


def test_interrupt_is_a_level_until_its_cause_is_cleared():
    async def bench(ctx, block, bus):
        for name, bit in (("offload", 8), ("prefetch", 9)):
            channel = getattr(block.control, name)
            for cause, event in ((1, channel.completion_irq), (2, channel.error_irq)):
                ctx.set(event, 1)
                await ctx.tick()
                ctx.set(event, 0)
                assert await bus.read(f"{name}.irq_status") == cause
                assert not ctx.get(block.irq), "not enabled"
                await bus.write(f"{name}.irq_enable", 3 ^ cause)
                await ctx.tick().repeat(2)
                assert not ctx.get(block.irq), "only the other cause is enabled"
                await bus.write(f"{name}.irq_enable", cause)
                await ctx.tick().repeat(2)
                assert ctx.get(block.irq)
                assert await bus.read("engine.status") == 1 << bit
                await bus.write(f"{name}.irq_status", 3 ^ cause)
                await ctx.tick().repeat(2)
                assert ctx.get(block.irq)
                await bus.write(f"{name}.irq_status", cause)
                await ctx.tick().repeat(2)
                assert not ctx.get(block.irq)
                assert await bus.read("engine.status") == 0

    run(EngineConfig(), bench)


@each_config
def test_channel_registers_reach_the_engine_and_back(config):
    async def bench(ctx, block, bus):
        for number, name in enumerate(("offload", "prefetch")):
            channel = getattr(block.control, name)
            size = config.codec.table_size
            assert [ctx.get(channel.values[k]) for k in range(size)] == [config.format.values[0]] * size
            entries = [(11 * k + 3 + number) % (1 << config.format.word_bits) for k in range(size)]
            for k, entry in enumerate(entries):
                await bus.write(f"{name}.table[{k}]", entry)
            assert [ctx.get(channel.values[k]) for k in range(size)] == entries

            await bus.write(f"{name}.ring_size", 1)
            await bus.write(f"{name}.coalesce_count", 200 + number)
            await bus.write(f"{name}.coalesce_cycles", 0xDEADBEE0 + number)
            await bus.write(f"{name}.completion_base_low", 0x87654FFF)
            await bus.write(f"{name}.completion_tail", 3)
            assert ctx.get(channel.ring_log2) == 1
            assert ctx.get(channel.coalesce_count) == 200 + number
            assert await stored(ctx, block, f"{name}.coalesce_cycles") == 0xDEADBEE0 + number
            line = 0x87654FC0 & (1 << config.host_address_bits) - 1
            assert await stored(ctx, block, f"{name}.completion_base_low") == line
            assert ctx.get(channel.completions.tail) == 3

            for command, signal in (("resume", channel.resume), ("abort_now", channel.abort)):
                value = block.registers[f"{name}.command"].register.put(**{command: 1})
                assert await bus.pulses(f"{name}.command", value, signal) == 1

            ctx.set(channel.ring.head, 1)
            ctx.set(channel.completions.head, 2)
            ctx.set(channel.status.stuck, 1)
            ctx.set(channel.error_valid, 1)
            await tell(ctx, block, f"{name}.error", 18)
            await tell(ctx, block, f"{name}.error_tag", 0xC0FFEE00)
            await tell(ctx, block, f"{name}.error_address_low", 0x76543210)
            await tell(ctx, block, f"{name}.error_address_high", 0xFEDCBA98)
            assert await bus.read(f"{name}.ring_head") == 1
            assert await bus.read(f"{name}.completion_head") == 2
            assert await bus.read(f"{name}.status") == 8
            assert await bus.read(f"{name}.error") == 1 << 31 | 18
            assert await bus.read(f"{name}.error_tag") == 0xC0FFEE00
            assert await bus.read(f"{name}.error_address_low") == 0x76543210
            assert await bus.read(f"{name}.error_address_high") == 0xFEDCBA98

    run(config, bench)


def test_a_completion_without_a_ring_is_read_and_popped():
    async def bench(ctx, block, bus):
        channel = block.control.offload
        registers = [p for p in block.registers.placed() if p.name.startswith("offload.completion_")][4:]
        rng = random.Random(5)
        for _ in range(3):
            words = [rng.getrandbits(32) for _ in range(16)]
            for placed in registers:
                visible = sum(f.mask for f in placed.register.fields)
                await tell(ctx, block, placed.name, words[(placed.address - 0x2C0) // 4] & visible)
            ctx.set(channel.completion_waiting, 1)
            assert await bus.read("offload.status") == 1 << 8
            for placed in registers:
                visible = sum(f.mask for f in placed.register.fields)
                assert await bus.read(placed.name) == words[(placed.address - 0x2C0) // 4] & visible, (
                    placed.name
                )
            assert not ctx.get(channel.pop)
            assert await bus.pulses("offload.command", 8, channel.pop) == 1
            ctx.set(channel.completion_waiting, 0)
            assert await bus.read("offload.status") == 0

    run(EngineConfig(), bench)


def test_counters_are_read_through_their_port():
    async def bench(ctx, block, bus):
        port = block.control.prefetch_counters
        await bus.read("engine.ident")

        for number, (name, _) in enumerate(COUNTERS):
            for half, suffix in enumerate(("low", "high")):
                ctx.set(block.bus.araddr, block.registers[f"prefetch_counters.{name}_{suffix}"].address)
                ctx.set(block.bus.arvalid, 1)
                ctx.set(block.bus.rready, 1)
                for _ in range(number):
                    await ctx.delay(0)
                    assert ctx.get(port.request)
                    assert not ctx.get(block.bus.arready)
                    await ctx.tick()
                assert ctx.get(port.word) == 2 * number + half
                assert not ctx.get(block.control.offload_counters.request)
                ctx.set(port.data, 1000 * number + half)
                ctx.set(port.done, 1)
                await ctx.tick()
                ctx.set(port.done, 0)
                assert ctx.get(block.bus.arready)
                await ctx.tick()
                ctx.set(block.bus.arvalid, 0)
                assert ctx.get(block.bus.rvalid)
                assert ctx.get(block.bus.rdata) == 1000 * number + half
                await ctx.tick()

    run(EngineConfig(), bench)


# -------------------------------------------------------------------------------------------------- the texts


def parse_header(text: str) -> dict[str, int]:
    """The numeric macros of a C header; of ``NAME(k)`` the offset of entry 0."""
    macros = {}
    for name, offset, number in re.findall(
        r"^#define (\w+)(?:\(k\) \((0x\w+)u .*| (0x[0-9a-f]+|\d+)u)$", text, re.MULTILINE
    ):
        macros[name] = int(offset or number, 0)
    return macros


@each_config
def test_systemrdl_and_c_header_agree_with_the_map_and_each_other(config, tmp_path):
    registers = register_map(config)
    source = tmp_path / "cdma_regs.rdl"
    source.write_text(register_rdl(registers))
    compiler = RDLCompiler()
    compiler.compile_file(str(source))
    macros = parse_header(c_header(registers))
    used = set()
    blocks = {instance: block.name for block in registers.blocks for instance, _ in block.instances}
    seen = []
    for node in compiler.elaborate().top.descendants(unroll=True):
        if isinstance(node, RegfileNode):
            instance = node.inst_name
            base = f"CDMA_{instance}_base".upper()
            assert macros[base] == node.absolute_address
            used.add(base)
        elif isinstance(node, RegNode):
            prefix = f"CDMA_{blocks[instance]}_{node.inst_name}".upper()
            index = node.current_idx[0] if node.is_array else 0
            seen.append(node.absolute_address)
            assert macros[base] + macros[prefix] + 4 * index == node.absolute_address
            reset = sum((f.get_property("reset") or 0) << f.lsb for f in node.fields())
            assert macros[f"{prefix}_RESET"] == reset
            placed = next(p for p in registers.placed() if p.address == node.absolute_address)
            assert [f.inst_name for f in node.fields()] == sorted(
                (f.name for f in placed.register.fields), key=lambda name: placed.register.field(name).lsb
            )
            used |= {prefix, f"{prefix}_RESET"} | ({f"{prefix}_COUNT"} if node.is_array else set())
        elif isinstance(node, FieldNode):
            name = f"{prefix}_{node.inst_name}".upper()
            assert macros[f"{name}_SHIFT"] == node.lsb
            assert macros[f"{name}_MASK"] == ((1 << node.width) - 1) << node.lsb
            access = placed.register.field(node.inst_name).access
            assert node.is_sw_writable == access.writable
            assert node.is_sw_readable == (access is not Access.PULSE)
            used |= {f"{name}_SHIFT", f"{name}_MASK"}
            encode = node.get_property("encode")
            if encode is not None:
                choices = {f"{name}_{member.name}".upper(): member.value for member in encode}
                assert {choice: macros[choice] for choice in choices} == choices
                used |= set(choices)
    assert seen == [placed.address for placed in registers.placed()]
    others = {name for name in macros if name not in used}
    assert others == {
        *(f"CDMA_MODE_{mode.name}" for mode in Mode),
        *(f"CDMA_STATUS_{status.name}" for status in Status),
        *(f"CDMA_DESCRIPTOR_{name}_{what}" for name in ("MODE", "INTERRUPT") for what in ("MASK", "SHIFT")),
        *(f"CDMA_COMPLETION_{name}_{what}" for name in ("STATUS", "PHASE") for what in ("MASK", "SHIFT")),
    }


def peakrdl(*arguments: str) -> None:
    subprocess.run(
        [sys.executable, "-m", "peakrdl", *arguments], check=True, capture_output=True, timeout=120
    )


def test_peakrdl_exports_the_systemrdl(tmp_path):
    registers = register_map(EngineConfig())
    source = str(tmp_path / "cdma_regs.rdl")
    Path(source).write_text(register_rdl(registers))

    header = tmp_path / "peakrdl.h"
    peakrdl("c-header", source, "-o", str(header), "-x", "--type-style", "hier", "-b", "ltoh", "--testcase")
    subprocess.run(["cc", "-std=c11", f"{header}.test.c", "-o", "check"], cwd=tmp_path, check=True)
    subprocess.run([tmp_path / "check"], check=True)
    theirs = parse_header(re.sub(r"(0x[0-9a-f]+|\d+)$", r"\1u", header.read_text(), flags=re.MULTILINE))
    ours = parse_header(c_header(registers))
    for block in registers.blocks:
        for item in block.registers:
            for f in item.fields:
                name = f"{block.name}_{item.name}_{f.name}".upper()
                array = "X" if item.count else ""
                their = f"{block.instances[0][0]}__{item.name}{array}__{f.name}".upper()
                assert theirs[f"{their}_bm"] == ours[f"CDMA_{name}_MASK"]
                assert theirs[f"{their}_bp"] == ours[f"CDMA_{name}_SHIFT"]
                if f.access is not Access.RO:
                    reset = ours[f"CDMA_{block.name}_{item.name}_RESET".upper()]
                    assert theirs[f"{their}_reset"] == f.get(reset)

    peakrdl("ip-xact", source, "-o", str(tmp_path / "cdma.xml"))
    tree = ElementTree.parse(tmp_path / "cdma.xml")
    space = re.match(r"\{.*\}", tree.getroot().tag)[0]
    names = [element.text for element in tree.iter(f"{space}name")]
    assert {item.name for block in registers.blocks for item in block.registers} <= set(names)

    peakrdl("html", source, "-o", str(tmp_path / "html"))
    assert (tmp_path / "html" / "index.html").stat().st_size > 0


@pytest.mark.parametrize("dialect", ["c99", "c11", "c++11", "c++17"])
@each_config
def test_c_header_compiles_alone_without_a_warning(config, dialect, tmp_path):
    (tmp_path / "cdma_regs.h").write_text(c_header(register_map(config)))
    (tmp_path / "twice.c").write_text(
        '#include "cdma_regs.h"\n#include "cdma_regs.h"\nint main(void) { return 0; }\n'
    )
    language = "c++" if "+" in dialect else "c"
    command = [
        "cc",
        f"-std={dialect}",
        "-x",
        language,
        "-Wall",
        "-Wextra",
        "-Werror",
        "-pedantic",
        "-fsyntax-only",
    ]
    subprocess.run([*command, "twice.c"], cwd=tmp_path, check=True)


def test_the_document_shows_every_register_and_field():
    registers = register_map(EngineConfig())
    text = register_document(registers)
    for block in registers.blocks:
        for item in block.registers:
            title = item.name if not item.count else f"{item.name}[{item.count}]"
            section = text.partition(f"### {block.name}.{title} at ")[2].partition("\n### ")[0]
            assert section.startswith(f"`{item.offset:#05x}")
            for f in item.fields:
                assert re.search(
                    rf"^\|.* {f.name} .*\|$", section.partition("```text")[2].partition("```")[0], re.M
                )
                bits = str(f.lsb) if f.bits == 1 else f"{f.msb}:{f.lsb}"
                assert f"| {bits} | {f.name} | {f.access.value} | `{f.reset:#x}` |" in section


def test_the_map_and_its_texts_need_no_amaranth():
    code = "import sys, cdma.hdl.texts.registers; assert 'amaranth' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
