"""The register block: rights, a descriptor that is submitted between writes, the time after a reset, and pages of pairs. The
regression of engines has what else software writes and reads.
"""

from __future__ import annotations

import pytest
from amaranth.hdl import Cat, Fragment, Module
from amaranth.sim import Simulator

from cdma.hdl.blocks.memories import MemoryCoding
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
        (given,) = await ctx.tick().sample(bus.bresp).until(bus.bvalid)
        assert given.value == response

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


def test_a_lost_edge_closes_the_window_of_its_pair_alone():
    """Also while another reader stays at the word that is lost."""
    config = EngineConfig(channels=2, memories_protect="secded")
    coding, windows = MemoryCoding("secded", 16), StoredWindows(config)
    module = Module()
    module.submodules.windows = windows
    fragment = Fragment.get(module, coding)
    limits = fragment.find_subfragment("windows").find_subfragment("limits").find_subfragment("coded")._data
    word = windows.registers.word("host_window.limit_low")

    async def bench(ctx):
        for pair in range(2):
            ctx.set(windows.changes, {"index": word, "pair": pair, "data": 0x5000, "enable": 0xF})
            await ctx.tick()
        ctx.set(windows.changes.enable, 0)
        # Host, low half.
        place = 2 + 4
        ctx.set(limits[place], ctx.get(limits[place]) ^ 3)
        ctx.set(windows.prefetch_pair, 1)
        ctx.set(windows.prefetch.at, {"high": 0, "write": 0})
        ctx.set(windows.offload.at, {"high": 0, "write": 1})
        lost = {"offload": 0, "prefetch": 0}
        for _ in range(6):
            await ctx.tick()
            for name in lost:
                lost[name] += ctx.get(getattr(windows, f"{name}_lost"))
        assert lost == {"offload": 0, "prefetch": 1}
        assert ctx.get(windows.offload.limit) == 0x5FFF
        assert ctx.get(windows.prefetch.limit) == 0

    simulator = Simulator(fragment)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
