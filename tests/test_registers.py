"""The register map and everything made from it: RTL against a model, and the texts against each other."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import pytest
from amaranth.hdl import Module, Value
from amaranth.sim import Simulator
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cdma.hdl.engine.register_description import Access, Block, Field, Placed, Register, RegisterMap
from cdma.hdl.engine.register_file import RegisterFile
from cdma.hdl.errors import ParameterError

# ---------------------------------------------------------------------------------------------- the description


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
        (lambda: register(count=0), "register item has count 0"),
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


# ---------------------------------------------------------------------------------------- the RTL against a model

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
            ),
            (("first", 0x20), ("second", 0x00)),
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

    def _locked(self, placed: Placed) -> bool:
        if not placed.register.locked_by:
            return False
        name, _, bit = placed.register.locked_by.partition(".")
        lock = placed.block.register(name)
        address = placed.address - placed.register.offset - 4 * placed.index + lock.offset
        return bool(lock.field(bit).get(self.stored[address]))

    def write(self, operation: Operation) -> tuple[bool, dict[tuple[str, str], int]]:
        """Whether the write answers OKAY, and the pulses it causes by register and field."""
        placed = self.at.get(operation.address & ~3)
        if placed is None:
            return False, {}
        if self._locked(placed):
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
    return port[placed.index] if placed.register.count > 1 else port


OUTPUTS = ("awready", "wready", "bvalid", "bresp", "arready", "rvalid", "rdata", "rresp")


def play(
    registers: RegisterMap, writes: list[Operation], reads: list[Operation], seed: int, pause: float
) -> int:
    """Runs the accesses with random idle and back-pressure, checks every cycle, and returns the cycles taken."""
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

    def driven_value(placed: Placed) -> int:
        return away[placed.instance, placed.address]

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
            (placed.name, "count"): driven_value(placed)
            for placed in registers.placed()
            if placed.block.external
        }
        offered = {"aw": False, "w": False, "ar": False}
        limit = 40 + int(40 * (len(writes) + len(reads)) / (1 - pause) ** 2)
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
                if f.access is Access.RO:
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
            await ctx.tick()

            # An access was carried out at this edge if its response is now there.
            while executed_reads < taken_r + ctx.get(bus.rvalid):
                expected_r.append(model.read(reads[executed_reads].address, driven))
                executed_reads += 1
            expected_pulses = {}
            while executed_writes < taken_b + ctx.get(bus.bvalid):
                okay, expected_pulses = model.write(writes[executed_writes])
                expected_b.append(okay)
                executed_writes += 1
            model.happen(events)

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


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(write_operations, max_size=40),
    st.lists(read_operations, max_size=40),
    st.integers(0, 2**32 - 1),
    st.sampled_from((0.0, 0.3, 0.8)),
)
def test_any_accesses_behave_as_the_model_says(writes, reads, seed, pause):
    play(EXAMPLE, writes, reads, seed, pause)


def test_one_access_per_cycle_and_direction():
    writes = [Operation(placed.address, 0) for placed in EXAMPLE.placed() if not placed.block.external] * 4
    reads = [Operation(operation.address) for operation in writes]
    assert play(EXAMPLE, writes, reads, seed=1, pause=0.0) <= len(writes) + 3
