"""What an engine with registers has besides its channels: registers, interrupt, soft reset, the rights to registers, and
AxCACHE, AxPROT, AxQOS and AxUSER as software sets them for each channel."""

from __future__ import annotations

import itertools

import cocotb
from cocotb.utils import get_sim_time
from cocotbext.axi import AxiResp

from cdma.hdl.spec.options import SIDEBAND_TARGETS
from cdma.hdl.spec.options import rights as rights_of
from cdma.hdl.spec.records import Mode, Status
from cdma.verif.engine.bench import CHANNELS
from cdma.verif.engine.context import (
    Pair,
    address_offered,
    both,
    changed,
    engine_test,
    pairs_of,
    works_again,
)
from cdma.verif.engine.design import REGISTERS
from cdma.verif.engine.edges import PERIOD_NS
from cdma.verif.engine.ring import RingBench
from cdma.verif.simulator.plan import planned

#: More cycles than the check of a descriptor takes, and the way of what is counted to its counter.
_CHECK = 40
#: Cycles that a memory takes for the first beat of a read.
_LATENCY = 30


def _beats(bench: RingBench, port: str, address: int, count: int) -> int:
    size = bench.config.data_bits(port) // 8
    return (address + count - 1) // size - address // size + 1


@planned(
    "soft resets at random moments",
    "the ports fall silent legally, and everything works again after",
    needs=lambda design: design.config.registers,
    weight=2,
)
@engine_test
async def soft_resets(bench: RingBench, budget: int) -> None:
    for _ in range(max(5, budget // 30)):
        bench.pauses()
        made = {}
        for channel in CHANNELS:
            await bench.rings[channel].enable()
            made[channel] = [bench.transfer(channel, bench.rng.randint(1, 800)) for _ in range(5)]
            await bench.rings[channel].submit([each.record() for each in made[channel]])
        await bench.after(bench.rng.randint(1, 900))
        await bench.poke("engine.command", soft_reset=1)
        await _reset_done(bench)
        for channel in CHANNELS:
            assert await bench.peek(f"{channel}.control") == 0
            assert await bench.peek(f"{channel}.completion_head") == 0
            for each in made[channel]:
                bench.check_memory(channel, each, exact=False)
            await works_again(bench, channel)


async def _reset_done(bench: RingBench) -> None:
    """Waits until a soft reset is over; nothing may be open then."""
    await bench.until("engine.status", "resetting", 0)
    bench.rules_of_axi.finish(but=REGISTERS)


@planned(
    "a soft reset while an abort waits for a host that is silent, or for software to take completions from registers",
    "the reset waits for the host, too, and everything works again after it",
    needs=lambda design: design.config.registers,
)
@engine_test
async def reset_in_abort(bench: RingBench, budget: int) -> None:
    """A soft reset while an abort waits until completions of dropped descriptors leave: the host is silent, or nobody
    reads them from the registers."""
    for channel, silent in itertools.product(CHANNELS, (True, False)):
        ring = bench.rings[channel]
        await ring.enable()
        if not silent:
            await bench.poke(f"{channel}.control", enable=1, ring_enable=1)
        made = [changed(bench.transfer(channel, 4), length=0) for _ in range(ring.size)]
        await ring.submit([each.record() for each in made])
        if silent:
            await address_offered(bench, "aw", 1 + CHANNELS.index(channel))
        bench.memory["host"].frozen = silent
        await bench.after(10 * _CHECK)
        await ring.abort()
        await bench.after(_CHECK)
        assert await ring.flag("aborting")
        await bench.poke("engine.command", soft_reset=1)
        await bench.after(_CHECK)
        assert not silent or await bench.peek("engine.status", "resetting")
        bench.memory["host"].frozen = False
        await _reset_done(bench)
        for each in made:
            bench.check_memory(channel, each, exact=False)
        await works_again(bench, channel)
        bench.checks += 2


@planned(
    "descriptors and completions through registers, without rings",
    "completions, interrupts with coalescing, counters",
    needs=lambda design: design.config.registers,
)
@engine_test
async def registers(bench: RingBench, budget: int) -> None:
    for channel in CHANNELS:
        await bench.poke(f"{channel}.control", enable=1)
        await bench.poke(f"{channel}.irq_enable", completion=1)
        await bench.poke(f"{channel}.coalesce_count", value=2)
        await bench.poke("engine.command", clear_counters=1)
        await bench.after(40)
        raw_words = literals = read = written = 0
        read_beats = write_beats = took = 0
        began = get_sim_time("ns")
        memory = bench.memory[bench.rules[channel].source]
        before, memory.latency = memory.latency, _LATENCY
        for number in range(4):
            made = bench.transfer(channel, 100 + number, mode=Mode.ZVC, interrupt=1)
            await bench.push(channel, made.record())
            await bench.until(f"{channel}.status", "completion_waiting")
            assert await bench.peek(f"{channel}.completion_tag") == made.descriptor["tag"]
            assert await bench.peek(f"{channel}.completion_result", "status") == Status.OK
            assert await bench.peek(f"{channel}.completion_literals") == made.expected.literals
            assert await bench.peek(f"{channel}.completion_bytes_written_low") == made.expected.bytes_written
            assert int(bench.dut.irq.value) == number % 2, f"interrupt after {number + 1} of two completions"
            took += await bench.peek(f"{channel}.completion_cycles_low")
            await bench.poke(f"{channel}.command", pop_completion=1)
            if number % 2:
                await bench.poke(f"{channel}.irq_status", completion=1)
                await bench.after(3)
                assert not int(bench.dut.irq.value)
            bench.check_memory(channel, made)
            bench.tell(
                what="transfer",
                channel=channel,
                way="registers",
                status="OK",
                **{**made.descriptor, "mode": "ZVC"},
            )
            bench.transfers += 1
            bench.checks += 6
            rules = bench.rules[channel]
            raw_words += rules.words(made.descriptor)
            literals += made.expected.literals
            read += made.expected.bytes_read
            written += made.expected.bytes_written
            read_beats += _beats(bench, rules.source, made.descriptor["source"], made.expected.bytes_read)
            write_beats += _beats(
                bench, rules.sink, made.descriptor["destination"], made.expected.bytes_written
            )
        memory.latency = before
        want = {"raw_words": raw_words, "literals": literals, "bytes_read": read, "bytes_written": written}
        want |= {"descriptors": 4, "errors": 0, "read_beats": read_beats, "write_beats": write_beats}
        for name, value in want.items():
            got = await bench.peek(f"{channel}_counters.{name}_low")
            assert got == value, f"counter {name} is {got}, not {value}"
            bench.checks += 1
        # A descriptor is in flight from the end of its check until its completion is popped.
        in_flight = await bench.peek(f"{channel}_counters.cycles_low")
        elapsed = (get_sim_time("ns") - began) / PERIOD_NS
        assert took - 4 * _CHECK <= in_flight <= elapsed, (
            f"{in_flight} cycles with a descriptor, {took} of {elapsed}"
        )
        source, codec, sink = [
            await bench.peek(f"{channel}_counters.stall_{name}_low") for name in ("source", "codec", "sink")
        ]
        # The codec waits for the first beat of each descriptor at least as long as the memory takes.
        assert 4 * _LATENCY <= source <= in_flight, f"counter stall_source is {source} of {in_flight}"
        # Several units may wait for different things at the same time.
        most = source + codec + sink if bench.config.units == 1 else max(codec, sink)
        assert most <= in_flight, f"stalls are {source}, {codec} and {sink} of {in_flight} cycles"
        bench.checks += 4
        # Held, they stand still while the next descriptor is counted.
        await bench.poke(f"{channel}.counter_hold", hold=1)
        await bench.until(f"{channel}.counter_hold", "held")
        assert await bench.peek(f"{channel}_counters.descriptors_low") == 4
        # One completion that nobody follows: the time brings the interrupt.
        await bench.poke(f"{channel}.coalesce_cycles", value=300)
        await bench.rings[channel].enable()
        await bench.run(channel, [bench.transfer(channel, 20, interrupt=1)])
        assert await bench.peek(f"{channel}_counters.descriptors_low") == 4, "the counters are held"
        await bench.poke(f"{channel}.counter_hold", hold=0)
        await bench.until(f"{channel}.counter_hold", "held", 0)
        await bench.after(32)
        assert await bench.peek(f"{channel}_counters.descriptors_low") == 5
        bench.checks += 3
        for _ in range(200 + 4 * bench.config.channels):
            if int(bench.dut.irq.value):
                break
            await bench.after(4)
        else:
            raise AssertionError("no interrupt after the coalescing time")
        await bench.poke(f"{channel}.irq_status", completion=1)
        await bench.poke(f"{channel}.irq_enable")


@planned(
    "each address read and written; then both at once, with strobes, under back-pressure",
    "every value read, SLVERR exactly where no register is",
    needs=lambda design: design.config.registers,
)
@engine_test
async def register_bus(bench: RingBench, budget: int) -> None:
    rng = bench.rng
    placed = {each.address: each for each in bench.registers.placed()}
    last = max(placed)
    stored: dict[int, int] = {}
    # Plain storage, which nothing else touches here.
    plain = [
        bench.registers[f"{channel}.{name}"].address for channel in CHANNELS for name in ("coalesce_cycles",)
    ]
    plain += [bench.registers["push.tag"].address, bench.registers["push.source_low"].address]
    masks = {address: sum(field.mask for field in placed[address].register.fields) for address in plain}
    for address in plain:
        await bench.bus.write(address, bytes(4))
        stored[address] = 0
    # Every address, for reads and for writes, which decode it each on its own. A register gets back what it holds.
    for address in range(0, last + 256, 4):
        wanted = AxiResp.OKAY if address in placed else AxiResp.SLVERR
        held = await bench.bus.read(address)
        assert held.resp == wanted, f"a read of {address:#x} is answered {held.resp!r}"
        taken = await bench.bus.write(address, held.data)
        assert taken.resp == wanted, f"a write to {address:#x} is answered {taken.resp!r}"
        bench.checks += 2

    async def write(count: int) -> None:
        for _ in range(count):
            if rng.random() < 0.3:
                address = rng.randrange(0, last + 256)
                if address & ~3 not in placed:
                    response = await bench.bus.write(address & ~3, b"\xff" * 4)
                    assert response.resp == AxiResp.SLVERR, hex(address)
                continue
            address, first = rng.choice(plain), rng.randrange(4)
            data = rng.randbytes(rng.randint(1, 4 - first))
            response = await bench.bus.write(address + first, data)
            assert response.resp == AxiResp.OKAY, hex(address)
            strobed = ((1 << 8 * len(data)) - 1) << 8 * first & masks[address]
            placed_bits = int.from_bytes(data, "little") << 8 * first & strobed
            stored[address] = stored[address] & ~strobed | placed_bits
            response = await bench.bus.read(address)
            got = int.from_bytes(response.data, "little")
            assert got == stored[address], f"{address:#x} reads {got:#x}, not {stored[address]:#x}"
            bench.checks += 1

    async def read(count: int) -> None:
        for _ in range(count):
            address = rng.randrange(0, last + 256) & ~3
            response = await bench.bus.read(address)
            assert (response.resp == AxiResp.OKAY) == (address in placed), hex(address)
            bench.checks += 1

    for share in (0.0, None, None, 0.8):
        bench.pauses(share)
        jobs = [write(30), read(60)]
        for channel in CHANNELS:
            await bench.rings[channel].enable()
            jobs.append(bench.run(channel, [bench.transfer(channel, 200) for _ in range(2)]))
        tasks = [cocotb.start_soon(bench.blame(job)) for job in jobs]
        for task in tasks:
            await task
        for channel in CHANNELS:
            await bench.rings[channel].disable()


#: What a hostile write asks for: anything that would stop a transfer or let it reach elsewhere.
_TARGETS = (
    "engine.command", "offload.control", "prefetch.command", "host_window.limit_low", "push.submit",
    "offload.ring_tail",
)  # fmt: skip


@planned(
    "accesses to registers with every AxPROT, between transfers on both channels",
    "those without the right are answered SLVERR, change nothing, are counted, and the first is kept",
    needs=lambda design: design.config.register_protection != "none",
)
@engine_test
async def rights(bench: RingBench, budget: int) -> None:
    mask, value = rights_of(bench.config.register_protection)
    wrong = [prot for prot in range(8) if prot & mask != value]
    denied = 0
    first = None

    async def intrude(count: int) -> None:
        nonlocal denied, first
        for _ in range(count):
            name, prot = bench.rng.choice(_TARGETS), bench.rng.choice(wrong)
            address, write = bench.registers[name].address, bench.rng.random() < 0.5
            first = first or (address, prot, int(write))
            if write:
                response = await bench.bus.write(address, b"\xff" * 4, prot)
            else:
                response = await bench.bus.read(address, prot)
                assert response.data == bytes(4), (
                    f"a read of {name} with AxPROT {prot} gives {response.data.hex()}"
                )
            assert response.resp == AxiResp.SLVERR, f"{name} with AxPROT {prot} is answered {response.resp!r}"
            denied += 1
            bench.checks += 1

    for _ in range(max(2, budget // 50)):
        bench.pauses()
        denied, first = 0, None
        await bench.poke("engine.command", clear_denied=1)
        jobs = [intrude(20)]
        for channel in CHANNELS:
            await bench.rings[channel].enable()
            jobs.append(
                bench.run(channel, [bench.transfer(channel, bench.rng.randint(1, 200)) for _ in range(4)])
            )
        for task in [cocotb.start_soon(bench.blame(job)) for job in jobs]:
            await task
        for channel in CHANNELS:
            await bench.rings[channel].disable()
        shown = bench.registers["engine.denied"].register
        found = await bench.peek("engine.denied")
        assert shown.field("count").get(found) == denied
        assert tuple(shown.field(name).get(found) for name in ("address", "prot", "write")) == first
    await bench.poke("engine.command", clear_denied=1)
    assert not await bench.peek("engine.denied", "count")
    # All others have the right.
    for prot in set(range(8)) - set(wrong):
        assert (await bench.bus.read(0, prot)).resp == AxiResp.OKAY


@planned(
    "AxCACHE, AxPROT, AxQOS and AxUSER of each channel and target written at rest and during transfers",
    "every address has its channel's, and none changes before the channel rests",
    needs=lambda design: design.config.sideband_registers,
)
@engine_test
async def sideband(bench: RingBench, budget: int) -> None:
    """One pair after the other, if there are several: the others have other values."""
    pairs = await pairs_of(bench) if bench.config.channels > 1 else [bench]
    during = sum([await _of_pair(pair, budget) for pair in pairs])
    assert during, "no register was written during a transfer"
    bench.notes["written during a transfer"] = during


async def _of_pair(bench: RingBench, budget: int) -> int:
    """Gives how many registers were written during a transfer."""
    during = 0

    def some(target: str) -> dict[str, int]:
        values = bench.config.sideband.values(target)
        return {name: bench.rng.randrange(1 << bits) for name, (bits, _) in values.items()}

    async def write(channel: str) -> dict[str, dict[str, int]]:
        made = {target: some(target) for target in SIDEBAND_TARGETS}
        for target, values in made.items():
            await bench.poke(f"{channel}.{target}_sideband", **values)
        return made

    async def idle(channel: str) -> None:
        await bench.until(f"{channel}.status", "busy", 0)

    async def job(channel: str) -> None:
        nonlocal during
        for _ in range(max(3, budget // 40)):
            bench.pauses()

            def say(values: dict[str, dict[str, int]]) -> None:
                for target, members in values.items():
                    bench.say(channel, target, members)

            # What is written now holds from the next transfer on, ...
            say(await write(channel))
            await bench.rings[channel].enable()
            long = bench.transfer(channel, bench.rng.randint(200, 600))
            await bench.rings[channel].submit([long.record()])
            # ... and what is written during one, from its end on.
            later = await write(channel)
            during += await bench.peek(f"{channel}.status", "busy")
            bench.check(channel, long, await bench.rings[channel].next())
            await idle(channel)
            say(later)
            await bench.run(channel, [bench.transfer(channel, bench.rng.randint(1, 60)) for _ in range(3)])
            await bench.rings[channel].disable()
            await idle(channel)

    await both(bench, job)
    if isinstance(bench, Pair):
        bench.account()
    return during
