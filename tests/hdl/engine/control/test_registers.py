"""The register block: what software writes reaches the engine, and what the engine reports reaches software."""

from __future__ import annotations

import pytest
from amaranth.hdl import Cat, Module

from cdma.hdl.engine.control.registers import RegisterBlock
from cdma.hdl.engine.control.windows import StoredWindows
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.options import PAIR_SPAN_LOG2, USUAL_PROT
from tests.support.register_model import each_config
from tests.support.simulate import simulate


class Bus:
    """One access at a time, for tests of what registers do."""

    def __init__(self, ctx, block: RegisterBlock) -> None:
        self.ctx = ctx
        self.bus = block.bus
        self.registers = block.registers

    async def write(
        self,
        name: str,
        data: int,
        *,
        answered: bool = True,
        prot: int = USUAL_PROT,
        response: int = 0,
        pair: int = 0,
    ) -> None:
        ctx, bus = self.ctx, self.bus
        ctx.set(bus.awprot, prot)
        ctx.set(bus.awaddr, self.registers[name].address + (pair << PAIR_SPAN_LOG2))
        ctx.set(bus.wdata, data)
        ctx.set(bus.wstrb, 0xF)
        for signal in (bus.awvalid, bus.wvalid, bus.bready):
            ctx.set(signal, 1)
        await ctx.tick().until(bus.awready)
        ctx.set(bus.awvalid, 0)
        ctx.set(bus.wvalid, 0)
        if answered:
            (given,) = await ctx.tick().sample(bus.bresp).until(bus.bvalid)
            assert given.value == response

    async def pulses(self, name: str, data: int, signal) -> int:
        """How many cycles ``signal`` is high for after a write."""
        await self.write(name, data, answered=False)
        seen = 0
        for _ in range(6):
            seen += self.ctx.get(signal)
            await self.ctx.tick()
        return seen

    async def read(
        self, name: str, *, prot: int = USUAL_PROT, pair: int = 0, response: int | None = None
    ) -> int:
        ctx, bus = self.ctx, self.bus
        ctx.set(bus.arprot, prot)
        ctx.set(bus.araddr, self.registers[name].address + (pair << PAIR_SPAN_LOG2))
        ctx.set(bus.arvalid, 1)
        ctx.set(bus.rready, 1)
        await ctx.tick().until(bus.arready)
        ctx.set(bus.arvalid, 0)
        value, given = await ctx.tick().sample(bus.rdata, bus.rresp).until(bus.rvalid)
        assert response is None or given.value == response
        return value


def run(config: EngineConfig, bench, windows: StoredWindows | None = None, watch=None) -> None:
    """Simulates the register block; ``bench(ctx, block, bus)`` plays the software and the engine, but for
    ``windows``, which follow the registers. ``watch(ctx, block)`` is called in each cycle."""
    m = Module()
    m.submodules.block = block = RegisterBlock(config)
    if windows is not None:
        m.submodules.windows = windows
        m.d.comb += windows.changes.eq(block.changes)

    async def testbench(ctx):
        await bench(ctx, block, Bus(ctx, block))

    async def background(ctx):
        async for _ in ctx.tick():
            watch(ctx, block)

    simulate(m, testbench, background=watch and background)


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
            closed = everything & ~0xFFF, 0xFFF
            assert await window(ctx, port) == ((0, everything) if config.open_windows else closed)
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


@pytest.mark.parametrize(("protection", "allowed"), [("privileged", {1, 3, 5, 7}), ("secure", {0, 1, 4, 5})])
@pytest.mark.parametrize("pipelined", [False, True], ids=["", "pipelined"])
def test_accesses_without_the_right_do_nothing_and_are_counted(protection, allowed, pipelined):
    config = EngineConfig(register_protection=protection, pipelined=pipelined)

    async def bench(ctx, block, bus):
        fields = block.registers["engine.denied"].register

        async def denied() -> tuple[int, ...]:
            value = await bus.read("engine.denied")
            return tuple(fields.field(name).get(value) for name in ("count", "address", "prot", "write"))

        while await bus.read("engine.status") & 1:
            pass
        for prot in range(8):
            okay = prot in allowed
            for write in (True, False):
                await bus.write("engine.command", 1 << 2)
                await bus.write("engine.watchdog", 77)
                if write:
                    await bus.write("engine.watchdog", 5, prot=prot, response=0 if okay else 2)
                    await bus.write("offload.control", 1, prot=prot, response=0 if okay else 2)
                    assert ctx.get(block.control_0.offload.enable) == okay
                    assert await bus.read("engine.watchdog") == (5 if okay else 77)
                else:
                    assert await bus.read("engine.watchdog", prot=prot) == (77 if okay else 0)
                    assert await bus.read("offload.control", prot=prot) == 0
                address = block.registers["engine.watchdog"].address
                assert (await denied())[0] == (0 if okay else 2)
                assert okay or await denied() == (2, address, prot, write)
                await bus.write("offload.control", 0)
        # It stays over a soft reset, and at its largest value.
        await bus.write("engine.command", 1)
        while await bus.read("engine.status") & 1:
            pass
        wrong = min(set(range(8)) - allowed)
        assert (await denied())[0] == (0 if 7 in allowed else 2)
        await bus.read("offload.control", prot=wrong)
        assert (await denied())[0] > 0

    run(config, bench)


async def stored(ctx, block: RegisterBlock, name: str) -> int:
    """What hardware finds in the register memory."""
    port = block.stored
    ctx.set(port.index, block.registers.word(name))
    await ctx.tick()
    return ctx.get(port.data)


async def report(ctx, block: RegisterBlock, name: str, value: int) -> None:
    """Writes a register from the side of hardware."""
    port = block.report
    ctx.set(port.payload.index, block.registers.word(name))
    ctx.set(port.payload.data, value)
    ctx.set(port.valid, 1)
    await ctx.tick().until(port.ready)
    ctx.set(port.valid, 0)


@each_config
def test_a_pushed_descriptor_arrives_whole_and_stays_until_taken(config):
    async def bench(ctx, block, bus):
        words = [0xA0000000 + 0x01010101 * word for word in range(12)]
        words[11] &= 0x1FF
        names = [placed.name for placed in block.registers.placed() if placed.instance == "push"][:12]
        for name, other in (("offload", "prefetch"), ("prefetch", "offload")):
            channel = getattr(block.control_0, name)
            for part, word in zip(names, words, strict=True):
                await bus.write(part, word)
            submit = block.registers["push.submit"].register
            await bus.write("push.submit", submit.put(**{name: 1}))
            assert await bus.read("push.status") == 1
            for part in names:
                await bus.write(part, 0xFFFFFFFF)
            await bus.write("push.submit", 3)
            assert ctx.get(channel.push)
            assert not ctx.get(getattr(block.control_0, other).push)
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
    """With writes back to back, the one after the submission must not reach the descriptor."""

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
        assert ctx.get(block.control_0.offload.push)

    run(EngineConfig(), bench)


@pytest.mark.parametrize("answer", [0, 1, 9])
def test_soft_reset_starts_nothing_and_forgets_all_but_windows(answer):
    async def bench(ctx, block, bus):
        channel = block.control_0.prefetch
        await bus.write("prefetch.control", 0xF)
        await bus.write("prefetch.ring_base_low", 0xABCDE040)
        await bus.write("prefetch.ring_base_high", 0x12)
        await bus.write("prefetch.ring_tail", 5)
        await bus.write("engine.watchdog", 77)
        await bus.write("host_window.base_low", 0x3000)
        await bus.write("push.tag", 9)
        await bus.write("push.submit", 2)
        assert ctx.get(channel.enable)
        assert ctx.get(channel.ring_enable)
        assert await stored(ctx, block, "prefetch.ring_base_low") == 0xABCDE040
        assert await stored(ctx, block, "prefetch.ring_base_high") == 0x12
        assert ctx.get(channel.push)

        await bus.write("engine.command", 1)
        assert not ctx.get(channel.enable)
        assert ctx.get(channel.ring_enable), "the engine still needs its rings to finish"
        ctx.set(block.control_0.resetting, answer > 0)
        for _ in range(answer):
            await ctx.tick()
            assert not ctx.get(channel.enable)
            assert await bus.read("engine.status") & 1
        await bus.write("engine.command", 1)
        ctx.set(block.control_0.resetting, 0)
        for _ in range(4):
            assert not (ctx.get(channel.ring_enable) and ctx.get(channel.enable))
            if answer:
                assert not ctx.get(channel.ring_enable)
                assert not ctx.get(channel.push), "the engine begins the pushed descriptor anew"
            await ctx.tick()
        assert await bus.read("engine.status") == 0, "reads wait until the registers are as after reset"
        assert await stored(ctx, block, "prefetch.ring_base_high") == 0
        assert await bus.read("push.tag") == 0
        assert await bus.read("prefetch.control") == 0
        assert await bus.read("prefetch.ring_tail") == 0
        assert await bus.read("engine.watchdog") == 0
        assert await bus.read("host_window.base_low") == 0x3000
        assert not ctx.get(channel.push)
        assert not ctx.get(channel.ring_enable)

    run(EngineConfig(), bench)


def test_interrupt_is_a_level_until_its_cause_is_cleared():
    async def bench(ctx, block, bus):
        for name, bit in (("offload", 8), ("prefetch", 9)):
            channel = getattr(block.control_0, name)
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


@pytest.mark.slow
@each_config
def test_channel_registers_reach_the_engine_and_back(config):
    several = config.channels > 1
    told: dict[tuple[str, int], int] = {}

    def watch(ctx, block):
        """What the first of several pairs is told of its tables."""
        for name in ("offload", "prefetch") if several else ():
            entry = getattr(block.control_0, f"{name}_shares").entry
            if ctx.get(entry.enable) and ctx.get(entry.pair) == 0:
                told[name, ctx.get(entry.place)] = ctx.get(entry.data)

    async def bench(ctx, block, bus):
        def table() -> list[int]:
            kept = range(config.codec.table_size)
            return [told[name, k] if several else ctx.get(channel.values[k]) for k in kept]

        while await bus.read("engine.status") & 1:
            pass
        for number, name in enumerate(("offload", "prefetch")):
            channel = getattr(block.control_0, name)
            assert table() == [config.format.values[0]] * config.codec.table_size
            entries = [(11 * k + 3 + number) % (1 << config.format.word_bits) for k in range(len(table()))]
            for k, entry in enumerate(entries):
                await bus.write(f"{name}.table[{k}]", entry)
            assert table() == entries

            await bus.write(f"{name}.ring_size", 1)
            await bus.write(f"{name}.coalesce_count", 200 + number)
            await bus.write(f"{name}.coalesce_cycles", 0xDEADBEE0 + number)
            await bus.write(f"{name}.completion_base_low", 0x87654FFF)
            await bus.write(f"{name}.completion_tail", 3)
            assert await stored(ctx, block, f"{name}.ring_size") == 1
            assert await stored(ctx, block, f"{name}.coalesce_count") == 200 + number
            assert await stored(ctx, block, f"{name}.coalesce_cycles") == 0xDEADBEE0 + number
            line = 0x87654FC0 & (1 << config.host_address_bits) - 1
            assert await stored(ctx, block, f"{name}.completion_base_low") == line
            assert await stored(ctx, block, f"{name}.completion_tail") == 3

            for command, signal in (("resume", channel.resume), ("abort_now", channel.abort)):
                value = block.registers[f"{name}.command"].register.put(**{command: 1})
                assert await bus.pulses(f"{name}.command", value, signal) == 1

            await report(ctx, block, f"{name}.ring_head", 1)
            await report(ctx, block, f"{name}.completion_head", 2)
            ctx.set(channel.status.stuck, 1)
            ctx.set(channel.error_valid, 1)
            await report(ctx, block, f"{name}.error", 18)
            await report(ctx, block, f"{name}.error_tag", 0xC0FFEE00)
            await report(ctx, block, f"{name}.error_address_low", 0x76543210)
            await report(ctx, block, f"{name}.error_address_high", 0xFEDCBA98)
            assert await bus.read(f"{name}.ring_head") == 1
            assert await bus.read(f"{name}.completion_head") == 2
            assert await bus.read(f"{name}.status") == 8
            assert await bus.read(f"{name}.error") == 1 << 31 | 18
            assert await bus.read(f"{name}.error_tag") == 0xC0FFEE00
            assert await bus.read(f"{name}.error_address_low") == 0x76543210
            assert await bus.read(f"{name}.error_address_high") == 0xFEDCBA98

    run(config, bench, watch=watch)


@each_config
def test_an_access_waits_no_longer_after_a_reset_than_documented(config):
    async def bench(ctx, block, bus):
        assert "up to 128 cycles" in block.registers.doc
        ctx.set(bus.bus.araddr, block.registers["engine.ident"].address)
        ctx.set(bus.bus.arvalid, 1)
        ctx.set(bus.bus.rready, 1)
        cycles = 0
        while not ctx.get(bus.bus.rvalid):
            await ctx.tick()
            cycles += 1
        assert len(block.registers.kept) < cycles <= 128 * config.channels

    run(config, bench)


@pytest.mark.parametrize("pipelined", [False, True], ids=["", "pipelined"])
def test_each_pair_has_its_page(pipelined):
    """What software writes there, reads back and resets is the pair's own; windows are of the pair that is asked for."""
    config = EngineConfig(channels=3, pipelined=pipelined)
    windows = StoredWindows(config)
    terms: dict[int, int] = {}

    def watch(ctx, block):
        term = block.control_0.prefetch_shares.term
        if ctx.get(term.enable):
            terms[ctx.get(term.row)] = ctx.get(term.data)

    async def bench(ctx, block, bus):
        async def settle():
            for pair in range(3):
                while await bus.read("engine.status", pair=pair) & 1:
                    pass

        await settle()
        assert await bus.read("engine.ident", pair=3, response=2) == 0
        await bus.write("offload.control", 1, pair=3, response=2)
        await bus.write("offload_shares.limit[0]", 1, pair=1, response=2)
        fields = block.registers["engine.stream_fields"].register
        more = [await bus.read("engine.stream_fields", pair=pair) for pair in range(3)]
        assert [fields.field("more_pairs").get(value) for value in more] == [2, 0, 0]
        for pair in range(3):
            await bus.write("offload.control", 1 << pair, pair=pair)
            await bus.write("push.tag", 0x100 + pair, pair=pair)
            await bus.write("host_window.base_low", (pair + 1) << 12, pair=pair)
            await bus.write(f"offload_shares.share[{pair}]", 7 + pair)
            await bus.write(f"prefetch_shares.limit[{pair}]", 70 + pair)
        await bus.write("host_window.lock", 1, pair=1)
        for pair, control in enumerate(block.controls):
            assert ctx.get(Cat(control.offload.enable, control.offload.halt_on_error)) == (1 << pair) & 3
            assert await bus.read("push.tag", pair=pair) == 0x100 + pair
            assert await bus.read(f"offload_shares.share[{pair}]") == 7 + pair
            # Behind the three weights, and a row that no pair has.
            assert terms[4 + pair] == 70 + pair
            ctx.set(block.stored.pair, pair)
            assert await stored(ctx, block, "push.tag") == 0x100 + pair
            ctx.set(windows.offload_pair, pair)
            ctx.set(windows.offload.at, {"high": 0, "write": 1})
            await ctx.tick()
            assert ctx.get(windows.offload.base) == (pair + 1) << 12
        # A soft reset of one leaves the others as they are.
        await bus.write("engine.command", 1, pair=1)
        await settle()
        for pair in range(3):
            await bus.write("host_window.base_low", 0x9000, pair=pair)
            assert await bus.read("push.tag", pair=pair) == (0 if pair == 1 else 0x100 + pair)
            assert await bus.read("offload.control", pair=pair) == (0 if pair == 1 else 1 << pair)
            assert await bus.read("host_window.base_low", pair=pair) == (0x2000 if pair == 1 else 0x9000)
            assert await bus.read(f"offload_shares.share[{pair}]") == 7 + pair
        # One of the first is of what it alone has of all.
        await bus.write("engine.command", 1)
        await settle()
        for pair in range(3):
            assert await bus.read(f"offload_shares.share[{pair}]") == 1
            assert await bus.read(f"prefetch_shares.limit[{pair}]") == 0
            assert await bus.read("offload.control", pair=pair) == (4 if pair == 2 else 0)
        assert terms == {0: 1, 1: 1, 2: 1, 4: 0, 5: 0, 6: 0}

    run(config, bench, windows, watch)
