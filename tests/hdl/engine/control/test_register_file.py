"""The register file against a model of its map."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.hdl import Value

from cdma.hdl.engine.control.register_file import RegisterFile
from cdma.hdl.spec.options import PROTECTIONS, USUAL_PROT, rights
from cdma.hdl.spec.registers.description import Access, Block, Field, Placed, Register, RegisterMap
from cdma.hdl.spec.registers.map import register_map
from tests.support.register_model import CONFIGS, Model, Operation
from tests.support.simulate import simulate

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
                    locked_by="busy.now",
                ),
                Register("sticky", 0x8, "Sticky.", (Field("flag", 31, 1, Access.W1C, "Set by hardware."),)),
                Register(
                    "reported",
                    0xC,
                    "Written by hardware, in memory.",
                    (
                        Field("cause", 0, 31, Access.RO, "Reported.", in_memory=True),
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


#: A field of a register, by the names of both.
_Key = tuple[str, str]

_OUTPUTS = ("awready", "wready", "bvalid", "bresp", "arready", "rvalid", "rdata", "rresp")


def _byte_mask(strobes: int) -> int:
    return sum(0xFF << 8 * byte for byte in range(4) if strobes >> byte & 1)


class _Manager:
    """The manager of the bus: offers accesses with random pauses, and checks their answers and that no output depends
    on an input in the same cycle."""

    def __init__(self, bus: Any, writes: list[Operation], reads: list[Operation], pause: float) -> None:
        self.bus, self.pause = bus, pause
        self.pending = {"aw": list(writes), "w": list(writes), "ar": list(reads)}
        self.offered = dict.fromkeys(self.pending, False)
        #: Answers taken, of writes and of reads.
        self.taken = {"b": 0, "r": 0}
        #: Answers that accesses which have been carried out must get: the response, and of a read the data.
        self.expected: dict[str, list[tuple[int, ...]]] = {"b": [], "r": []}
        self.ready = {"b": False, "r": False}

    def outputs(self, ctx: Any) -> dict[str, int]:
        return {name: ctx.get(Value.cast(getattr(self.bus, name))) for name in _OUTPUTS}

    def offer(self, ctx: Any, rng: random.Random) -> None:
        """Drives the inputs of a cycle; an access that has been offered stays offered until it is taken."""
        bus, junk = self.bus, rng.getrandbits(32)
        for name, queue in self.pending.items():
            self.offered[name] = bool(queue) and (self.offered[name] or rng.random() >= self.pause)
            ctx.set(getattr(bus, f"{name}valid"), self.offered[name])
        ctx.set(bus.awaddr, self.pending["aw"][0].address if self.offered["aw"] else junk)
        ctx.set(bus.awprot, self.pending["aw"][0].prot if self.offered["aw"] else junk & 7)
        ctx.set(bus.arprot, self.pending["ar"][0].prot if self.offered["ar"] else junk & 7)
        ctx.set(bus.wdata, self.pending["w"][0].data if self.offered["w"] else junk)
        ctx.set(bus.wstrb, self.pending["w"][0].strobes if self.offered["w"] else junk & 0xF)
        ctx.set(bus.araddr, self.pending["ar"][0].address if self.offered["ar"] else junk)
        for name in self.ready:
            self.ready[name] = rng.random() >= self.pause
            ctx.set(getattr(bus, f"{name}ready"), self.ready[name])

    def take(self, outputs: dict[str, int]) -> None:
        """Takes answers, and drops accesses whose handshake happens in this cycle."""
        for name, fields in (("b", ("bresp",)), ("r", ("rresp", "rdata"))):
            if outputs[f"{name}valid"] and self.ready[name]:
                assert tuple(outputs[field] for field in fields) == self.expected[name].pop(0)
                self.taken[name] += 1
        for name, queue in self.pending.items():
            if self.offered[name] and outputs[f"{name}ready"]:
                queue.pop(0)
                self.offered[name] = False


class _Bench:
    """A register file, its model, and the hardware around it, which acts at random in every cycle."""

    def __init__(
        self,
        registers: RegisterMap,
        seed: int,
        pause: float,
        *,
        pipelined: bool = False,
        protection: str = PROTECTIONS[0],
    ) -> None:
        self.registers = registers
        self.dut = RegisterFile(registers, pipelined=pipelined, protection=protection)
        self.mask, self.right = rights(protection)
        self.model = Model(registers)
        self.rng = random.Random(seed)
        self.pause = pause
        placed = list(registers.placed())
        #: The values of external registers, and the blocks that keep them.
        self.away = {(item.instance, item.address): self.rng.getrandbits(32) for item in placed}
        self.keepers = [
            (instance, base)
            for block in registers.blocks
            if block.external
            for instance, base in block.instances
        ]
        self.fields = [(item, f) for item in placed if not item.block.external for f in item.register.fields]
        self.reporting = [item for item in registers.kept if any(f.reported for f in item.register.fields)]
        #: What hardware drives or has last reported, the events of this cycle, and the pulses of the next.
        self.driven: dict[_Key, int] = {
            (item.name, f.name): self.away[item.instance, item.address] if item.block.external else 0
            for item in placed
            for f in item.register.fields
            if f.access is Access.RO
        }
        self.events: dict[_Key, int] = {}
        self.pulses: dict[_Key, int] = {}
        #: What hardware with copies of its own has.
        self.copies = [0] * len(registers.kept)
        #: The register that hardware looked at one cycle before, and its value.
        self.looked: tuple[Placed, int] | None = None

    def port(self, placed: Placed, name: str) -> Any:
        port = getattr(getattr(getattr(self.dut, placed.instance), placed.register.name), name)
        return port[placed.index] if placed.register.count else port

    async def settle(self, ctx: Any) -> None:
        """Waits until the memory has its reset values; no access is taken until then."""
        while not ctx.get(self.dut.settled):
            assert not ctx.get(self.dut.bus.awready)
            assert not ctx.get(self.dut.bus.arready)
            self.follow(ctx)
            await ctx.tick()

    def follow(self, ctx: Any) -> None:
        """Changes the copies as hardware with copies does."""
        change = ctx.get(self.dut.changes)
        mask = _byte_mask(change.enable)
        self.copies[change.index] = self.copies[change.index] & ~mask | change.data & mask

    def may(self, operation: Operation) -> bool:
        """Whether an access has the right to use registers."""
        return operation.prot & self.mask == self.right

    def drive(self, ctx: Any) -> None:
        """Drives read-only fields and events, and checks the other fields' ports."""
        for placed, f in self.fields:
            if f.in_memory or f.access is Access.CONSTANT:
                continue
            key, port = (placed.name, f.name), self.port(placed, f.name)
            if f.access is Access.RO:
                self.driven[key] = self.rng.getrandbits(f.bits)
                ctx.set(port, self.driven[key])
            elif f.access is Access.W1C:
                self.events[key] = self.rng.getrandbits(f.bits) & self.rng.getrandbits(f.bits)
                ctx.set(port.set, self.events[key])
            elif f.access is Access.PULSE:
                assert ctx.get(port) == self.pulses.get(key, 0)
            else:
                assert ctx.get(port) == f.get(self.model.stored[placed.address])

    def answer(self, ctx: Any) -> None:
        """Answers for the external blocks."""
        for instance, base in self.keepers:
            keeper = getattr(self.dut, instance)
            asked = bool(ctx.get(keeper.request))
            done = asked and self.rng.random() >= self.pause
            ctx.set(keeper.done, done)
            value = self.away.get((instance, base + 4 * ctx.get(keeper.word)), 0)
            ctx.set(keeper.data, value if done else self.rng.getrandbits(32) * asked)

    def look(self, ctx: Any) -> Placed:
        """Checks what hardware has asked for, and asks for another register."""
        if self.looked is not None and ctx.get(self.dut.settled):
            placed, value = self.looked
            assert ctx.get(self.dut.stored.data) == value, placed.name
        index = self.rng.randrange(len(self.registers.kept))
        ctx.set(self.dut.stored.index, index)
        return self.registers.kept[index]

    def report(self, ctx: Any) -> tuple[Placed, int] | None:
        """Offers a value for a register of the hardware's, and returns both if they are taken."""
        report = self.dut.report
        offered = bool(self.reporting) and self.rng.random() < 0.3
        ctx.set(report.valid, offered)
        if not offered:
            return None
        placed = self.rng.choice(self.reporting)
        value = self.rng.getrandbits(32) & sum(f.mask for f in placed.register.fields if f.reported)
        ctx.set(report.payload.index, self.registers.words[placed.address])
        ctx.set(report.payload.data, value)
        return (placed, value) if ctx.get(report.ready) else None

    def kept_value(self, placed: Placed) -> int:
        """What the memory has of a register."""
        mine = sum(f.put(self.driven[placed.name, f.name]) for f in placed.register.fields if f.reported)
        return self.model.stored[placed.address] & placed.register.stored_mask | mine

    def set_reported(self, placed: Placed, value: int) -> None:
        for f in placed.register.fields:
            if f.reported:
                self.driven[placed.name, f.name] = f.get(value)

    def soft_reset(self) -> None:
        self.model.soft_reset()
        for placed in self.reporting:
            if not placed.block.survives_soft_reset:
                self.set_reported(placed, 0)

    async def play(self, ctx: Any, writes: list[Operation], reads: list[Operation], resets: float) -> int:
        """Runs all accesses, and returns the cycles that they take once the registers have settled."""
        bus = self.dut.bus
        manager = _Manager(bus, writes, reads, self.pause)
        words, accesses = len(self.registers.kept), len(writes) + len(reads)
        limit = 100 + 4 * words + int((40 + words) * accesses / (1 - self.pause) ** 2)
        executed = {"b": 0, "r": 0}
        cycles = 0
        waiting = False
        await self.settle(ctx)
        while manager.taken != {"b": len(writes), "r": len(reads)}:
            assert cycles < limit, "the subordinate hangs"
            cycles += 1
            before = manager.outputs(ctx)
            manager.offer(ctx, self.rng)
            self.drive(ctx)
            self.answer(ctx)
            assert manager.outputs(ctx) == before, "a path from input to output"
            manager.take(before)
            asked = self.rng.random() < resets
            ctx.set(self.dut.soft_reset, asked)
            # A reset waits for accesses that have been taken.
            reset = bool(ctx.get(self.dut.forget))
            assert reset <= (asked or waiting)
            waiting = (asked or waiting) and not reset
            looking = self.look(ctx)
            reported = self.report(ctx)
            settled = bool(ctx.get(self.dut.settled))
            reads_now = bool(ctx.get(self.dut.reads))
            word = self.registers.words[looking.address]
            copy = self.copies[word]
            self.follow(ctx)
            if self.dut.pipelined:
                # What was written in the cycle before is told in this one.
                copy = self.copies[word]
            await ctx.tick()
            self.looked = (looking, self.kept_value(looking)) if settled else None
            assert self.looked is None or copy == self.looked[1], "a copy differs"

            if reads_now:
                read = reads[executed["r"]]
                okay, value = self.model.read(read.address, self.driven) if self.may(read) else (False, 0)
                manager.expected["r"].append((0 if okay else 2, value))
                executed["r"] += 1
            assert manager.taken["r"] + ctx.get(bus.rvalid) <= executed["r"]
            self.pulses = {}
            # A write was carried out at this edge if its response is now valid.
            while executed["b"] < manager.taken["b"] + ctx.get(bus.bvalid):
                write = writes[executed["b"]]
                okay, self.pulses = self.model.write(write, self.driven) if self.may(write) else (False, {})
                manager.expected["b"].append((0 if okay else 2,))
                executed["b"] += 1
            self.model.happen(self.events)
            if reported is not None:
                self.set_reported(*reported)
            if reset:
                self.soft_reset()
        return cycles


def play(
    registers: RegisterMap,
    writes: list[Operation],
    reads: list[Operation],
    seed: int,
    pause: float,
    resets: float = 0.01,
    *,
    pipelined: bool = False,
    protection: str = PROTECTIONS[0],
) -> int:
    """Runs the accesses with random idle and back-pressure, and soft resets in a share ``resets`` of the cycles,
    checks every cycle, and returns the cycles taken once the registers have settled."""
    bench = _Bench(registers, seed, pause, pipelined=pipelined, protection=protection)
    cycles = []

    async def testbench(ctx: Any) -> None:
        cycles.append(await bench.play(ctx, writes, reads, resets))

    simulate(bench.dut, testbench)
    return cycles[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pause", "pipelined", "protection"),
    [(0.0, True, "none"), (0.4, False, "secure"), (0.7, True, "privileged")],
)
def test_long_traffic_behaves_as_the_model_says(pause, pipelined, protection):
    """Long enough that every register is written again while it holds something, and while hardware acts."""
    rng = random.Random(f"long {pause}")
    known = [placed.address for placed in EXAMPLE.placed()]

    def operation() -> Operation:
        address = rng.choice(known) if rng.random() < 0.9 else rng.randrange(1 << EXAMPLE.address_bits)
        strobes, prot = rng.choice((0xF, rng.getrandbits(4))), rng.choice((USUAL_PROT, rng.getrandbits(3)))
        return Operation(address, rng.getrandbits(32), strobes, prot)

    play(
        EXAMPLE,
        [operation() for _ in range(500)],
        [operation() for _ in range(500)],
        rng.getrandbits(32),
        pause,
        pipelined=pipelined,
        protection=protection,
    )


@pytest.mark.parametrize("pipelined", [False, True], ids=["", "pipelined"])
def test_an_access_every_third_cycle_and_direction(pipelined):
    """And a read every fourth if ``pipelined``."""
    writes = [Operation(placed.address, 0) for placed in EXAMPLE.placed() if not placed.block.external] * 4
    reads = [Operation(operation.address) for operation in writes]
    cycles = play(EXAMPLE, writes, reads, seed=1, pause=0.0, resets=0.0, pipelined=pipelined)
    assert cycles <= (3 + pipelined) * len(writes) + 3


@pytest.mark.parametrize(("name", "pause", "pipelined"), [("default", 0.5, False), ("odd", 0.0, True)])
def test_the_engines_map_behaves_as_the_model_says(name, pause, pipelined):
    registers = register_map(CONFIGS[name])
    rng = random.Random(name)
    known = [placed.address for placed in registers.placed()]
    writes = [Operation(rng.choice(known), rng.getrandbits(32)) for _ in range(40)]
    reads = [Operation(rng.choice(known)) for _ in range(40)]
    play(registers, writes, reads, 1, pause, pipelined=pipelined)
