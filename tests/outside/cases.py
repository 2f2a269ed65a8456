"""What the outsider tries."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import cocotb
from cocotbext.axi import AxiResp

from .bench import CHANNELS, Bench, Transfer, outside_test
from .owners import Owners
from .pages import PAGE, in_pages
from .pairs import Pair, pairs_of
from .shapes import Axis, Shape


@outside_test
async def transfers(bench: Bench, budget: int) -> None:
    """Transfers in all modes, some streams damaged, on both channels at once; the counters count them."""
    totals = {
        channel: dict.fromkeys(("descriptors", "errors", "bytes_read", "bytes_written"), 0)
        for channel in CHANNELS
    }
    left = budget
    while left > 0:
        bench.pauses()
        some = min(left, 60)
        left -= some

        async def job(channel: str, some: int = some) -> None:
            end = bench.channels[channel]
            await bench.set_table(channel)
            await end.start()
            made = [
                bench.transfer(channel, damage=bench.rng.random() < 0.3) for _ in range(max(1, some // 2))
            ]
            await bench.run(channel, made)
            await end.stop()
            total = totals[channel]
            for each in made:
                total["descriptors"] += 1
                total["errors"] += each.status != "ok"
                total["bytes_read"] += each.bytes_read
                total["bytes_written"] += len(each.written or b"")
            for name, count in total.items():
                assert await bench.driver.counter(channel, name) == count, f"{channel}: {name}"

        await bench.both(job)


async def _through_pages(bench: Bench, channel: str) -> None:
    """A transfer of host memory in pages, whose stream may be damaged."""
    end = bench.channels[channel]
    paged = in_pages(bench, channel, bench.transfer(channel, damage=bench.rng.random() < 0.3))
    await end.submit([paged.descriptor])
    got = await end.take()
    if channel == "offload":
        paged.gather(bench)
    bench.check(channel, paged.made, got)


@outside_test
async def pages(bench: Bench, budget: int) -> None:
    """Host memory in pages, of streams that are damaged too; and lists and entries that the document says are none."""
    assert bench.ports["host"]["pages"]

    async def job(channel: str) -> None:
        end = bench.channels[channel]
        await bench.set_table(channel)
        await end.start()
        for _ in range(max(12, budget // 4)):
            await _through_pages(bench, channel)
            bench.finish()
        failed = "write_decerr" if channel == "offload" else "read_decerr"
        beyond = 1 << bench.ports["host"]["address_bits"]
        size = bench.format["word_bits"] // 8
        for wrong in ("entry", "reserved", "beyond", "length"):
            made = bench.transfer(channel, count=3 * PAGE // size, mode="raw")
            paged = in_pages(bench, channel, made)
            status, address = "reserved", 0
            if wrong == "entry":
                # The second page, which is needed whatever room there is.
                bad = paged.runs[1][0] + 8
                bench.memory["host"].store(paged.list_at, bad.to_bytes(8, "little"))
                status, address = failed, bad
            elif wrong == "reserved":
                paged.descriptor["pages_low"] += 8
            elif wrong == "beyond":
                paged.descriptor |= {
                    "pages_low": beyond & 0xFFFFFFFF,
                    "pages_high": beyond >> 32 & 0xFFFFFFFF,
                }
            else:
                status = "length"
                many = {"capacity": (2 << 20) + PAGE}
                paged.descriptor |= many if channel == "offload" else many | {"length": (2 << 20) + PAGE}
            if wrong == "beyond" and beyond >= 1 << 64:
                continue
            await end.submit([paged.descriptor])
            got = await end.take()
            name = bench.document.status[got["status"]]
            assert (name, got["address"]) == (status, address), f"{channel}, {wrong}: {name}, {got}"
            if channel == "offload":
                paged.gather(bench)
            bench.forget(channel, made)
            await bench.run(channel, [bench.transfer(channel, count=20)])
        await end.stop()

    await bench.both(job)


@outside_test
async def deltas(bench: Bench, budget: int) -> None:
    """Transfers with a base, some streams damaged, among others; and a base that is refused."""

    async def job(channel: str) -> None:
        end, rng = bench.channels[channel], bench.rng
        await end.start()
        for _ in range(max(2, budget // 4)):
            many = [
                bench.transfer(channel, damage=rng.random() < 0.3, based=rng.random() < 0.7) for _ in range(4)
            ]
            await end.submit([each.descriptor | each.base for each in many])
            for each in many:
                bench.check(channel, each, await end.take())
        for status, base in (("alignment", 1), ("window", 1 << bench.ports["dev"]["address_bits"])):
            made = bench.transfer(channel, count=20, mode="raw", based=True)
            name = next(name for name in made.base if name != "delta")
            base += made.base[name]
            await end.submit([made.descriptor | made.base | {name: base}])
            made.status, made.written, made.address = status, None, base
            got = await end.take()
            assert got["address"] == base, f"{channel}: {got}"
            bench.check(channel, made, got)
        await end.stop()

    bench.pauses()
    await bench.both(job)


@outside_test
async def shapes(bench: Bench, budget: int) -> None:
    """Shapes in all modes among other transfers, by rings and by registers, some streams damaged; and what the document says
    is none."""
    assert bench.dimensions

    async def job(channel: str) -> None:
        end = bench.channels[channel]
        await bench.set_table(channel)
        await end.start()
        made = [
            bench.shaped(channel, damage=bench.rng.random() < 0.3)
            if bench.rng.random() < 0.7
            else bench.transfer(channel, count=bench.rng.randint(1, 200))
            for _ in range(max(12, budget))
        ]
        await bench.run(channel, made)
        for change in (
            {"run": 0},
            {"order_1": 3},
            {"after_run": 1},
            {"count_1": 60000},
            {"reserved_shape": 1},
        ):
            unit = max(32, bench.dev_align)
            bad = bench.shaped(channel, shape=Shape(unit, 0, 0, (Axis(2, 3 * unit, 0, 0),)))
            bad.descriptor["extension"] = bad.descriptor["extension"] | change
            bad.status = "reserved" if "reserved_shape" in change else "shape"
            bad.literals = bad.bytes_read = bad.crc = 0
            bad.written = b""
            bad.rows = None if bad.rows is None else dict.fromkeys(bad.rows, b"")
            await bench.run(channel, [bad, bench.shaped(channel)])
        await end.stop()

    bench.pauses()
    await bench.both(job)
    for channel in CHANNELS:
        end = bench.channels[channel]
        await end.start()
        for _ in range(4):
            made = bench.shaped(channel)
            await bench.driver.push(channel, made.descriptor)
            bench.check(channel, made, await end.take())
        await end.stop()


@outside_test
async def refusals(bench: Bench, budget: int) -> None:
    """Every reason of the document to refuse a descriptor, alone and with a second one, among good descriptors."""

    async def job(channel: str) -> None:
        await bench.channels[channel].start()
        for _ in range(max(1, budget // 100)):
            made = [bench.transfer(channel, count=bench.rng.randint(1, 40))]
            for kind in bench.refusals(channel):
                made += [kind, bench.transfer(channel, count=bench.rng.randint(1, 40))]
            await bench.run(channel, made)
        await bench.channels[channel].stop()

    bench.pauses()
    await bench.both(job)


@outside_test
async def busy(bench: Bench, budget: int) -> None:
    """While a descriptor has no completion in memory the channel is busy."""

    async def job(channel: str) -> None:
        end, driver = bench.channels[channel], bench.driver
        await end.start()
        for _ in range(max(20, budget // 4)):
            made = [bench.transfer(channel, count=1) for _ in range(bench.rng.randint(1, 2))]
            await end.submit([each.descriptor for each in made])
            while (await driver.read(f"{channel}.status"))["busy"]:
                pass
            for each in made:
                assert end.peek() is not None, f"{channel} is not busy, but a completion is missing"
                bench.check(channel, each, await end.take())
        # Descriptors that are fetched and wait for `resume` also keep the channel busy.
        for number in (1, 2):
            await driver.write(f"{channel}.command", abort_now=1)
            await driver.until(f"{channel}.status", "aborting", 0)
            made = [bench.transfer(channel, count=1) for _ in range(number)]
            await end.submit([each.descriptor for each in made])
            await bench.after(200)
            status = await driver.read(f"{channel}.status")
            assert (status["busy"], status["halted"]) == (1, 1), f"{channel}: {number} wait, but {status}"
            await driver.write(f"{channel}.command", resume=1)
            for each in made:
                bench.check(channel, each, await end.take())
        await end.stop()

    bench.pauses(0.0)
    bench.memory["host"].latency = 10
    await bench.both(job)


@outside_test
async def in_flight(bench: Bench, budget: int) -> None:
    """As many transactions are in flight as the registers say, and no more."""
    bench.pauses(0.0)
    for memory in bench.memory.values():
        memory.latency = 0
    host, dev = bench.memory["host"], bench.memory["dev"]
    count = 64 * bench.bursts["beats"] * max(port["data_bits"] for port in bench.ports.values()) // 8
    count = min(count, 16384) * 8 // bench.format["word_bits"]
    most = bench.rules["host"][0].most

    def most_of_device(kind: str) -> int:
        return max(rules.most[kind] for rules in bench.rules["dev"])

    driver = bench.driver

    # Data first, which is not answered; then descriptors, which are not either.
    made = {channel: [bench.transfer(channel, count=count, mode="raw")] for channel in CHANNELS}
    for channel in CHANNELS:
        await bench.channels[channel].start()
    host.frozen[0].add(0)
    dev.frozen[0].add(0)
    for channel in CHANNELS:
        await bench.channels[channel].submit([made[channel][0].descriptor])
    await bench.after(400)
    host.frozen[0].update((1, 2))
    for channel in CHANNELS:
        more = [bench.transfer(channel, count=8) for _ in range(7)]
        made[channel] += more
        await bench.channels[channel].submit([each.descriptor for each in more])
    await bench.after(400)
    found = (most["reads"], most_of_device("reads"), most["ring_reads"])
    stated = (bench.bursts["outstanding"], bench.bursts["outstanding"], bench.bursts["ring_reads"])
    assert found == stated, f"reads of host data, device data, rings: {found} in flight, {stated} stated"
    for memory in (host, dev):
        memory.frozen[0].clear()
    for channel in CHANNELS:
        for each in made[channel]:
            bench.check(channel, each, await bench.channels[channel].take())

    # Completions first, which are not answered; then data.
    for memory in (host, dev):
        memory.frozen[1].update((0, 1, 2))
    for channel in CHANNELS:
        nothing = [bench.refused(channel, "zero_length", {"length": 0}) for _ in range(6)]
        made[channel] = [*nothing, bench.transfer(channel, count=count, mode="raw")]
        await bench.channels[channel].submit([each.descriptor for each in made[channel]])
    await bench.after(1500)
    found = (most["writes"], most_of_device("writes"), most["ring_writes"])
    stated = (bench.bursts["outstanding"], bench.bursts["outstanding"], bench.bursts["ring_writes"])
    assert found == stated, f"writes of host data, device data, rings: {found} in flight, {stated} stated"
    for memory in (host, dev):
        memory.frozen[1].clear()
    for channel in CHANNELS:
        for each in made[channel]:
            bench.check(channel, each, await bench.channels[channel].take())
        await bench.channels[channel].stop()
    assert (await driver.read("offload.status"))["halted"] == 0


@outside_test
async def bus_errors(bench: Bench, budget: int) -> None:
    """SLVERR and DECERR on data: the status, the address, and the next descriptors."""
    rng, names = bench.rng, {AxiResp.SLVERR: "slverr", AxiResp.DECERR: "decerr"}

    async def job(channel: str) -> None:
        end = bench.channels[channel]
        ports = ("dev", "host") if channel == "offload" else ("host", "dev")
        await end.start()
        for _ in range(max(8, budget // 8)):
            made = [bench.transfer(channel, mode="raw" if place == 1 else None) for place in range(3)]
            bad, response, side = made[1], rng.choice(list(names)), rng.randrange(2)
            memory, start = bench.memory[ports[side]], bad.descriptor[("source", "destination")[side]]
            byte = start + rng.randrange(bad.descriptor["length"])
            memory.errors.append((range(byte, byte + 1), response))
            await end.submit([each.descriptor for each in made])
            bench.check(channel, made[0], await end.take())
            got = await end.take()
            memory.errors.remove((range(byte, byte + 1), response))
            if side:
                rules = bench.rules[ports[1]]
                (burst,) = [each for one in rules for each in one.writes_of_data if byte in each]
                address = max(burst.start, start)
            else:
                address = byte // memory.bytes * memory.bytes
            bad.status, bad.address = f"{('read', 'write')[side]}_{names[response]}", address
            bad.written = None
            bench.check(channel, bad, got)
            error = await bench.driver.error(channel)
            assert error == (bad.status, address, bad.descriptor["tag"]), (channel, error, bad)
            bench.check(channel, made[2], await end.take())
        await end.stop()

    bench.pauses()
    await bench.both(job)


@outside_test
async def ring_errors(bench: Bench, budget: int) -> None:
    """Errors on descriptors and on completions."""
    rng, host, driver = bench.rng, bench.memory["host"], bench.driver

    async def job(channel: str) -> None:
        end = bench.channels[channel]
        await end.start()
        for _ in range(max(6, budget // 10)):
            made = [bench.transfer(channel, count=rng.randint(1, 50)) for _ in range(3)]
            fetching = rng.random() < 0.5
            index = end.tail + 1 if fetching else end.head + 1
            at = (end.descriptors if fetching else end.completions) + index % end.entries * 64
            host.errors.append((range(at, at + 64), AxiResp.DECERR))
            await end.submit([each.descriptor for each in made])
            bench.check(channel, made[0], await end.take())
            if fetching:
                got = await end.take()
                assert (bench.document.status[got["status"]], got["address"], got["tag"]) == (
                    "fetch_decerr",
                    at,
                    0,
                )
                bench.forget(channel, made[1])
                want = ("fetch_decerr", at, 0)
            else:
                # Memory does not show it, but the head counts it.
                await driver.until(f"{channel}.completion_head", "value", (end.head + 2) % end.wrap)
                assert end.peek() is None
                await end.pass_over()
                bench.forget(channel, made[1])
                want = ("completion_decerr", at, made[1].descriptor["tag"])
            bench.check(channel, made[2], await end.take())
            assert await driver.error(channel) == want
            host.errors.remove((range(at, at + 64), AxiResp.DECERR))
        await end.stop()

    bench.pauses()
    await bench.both(job)


@outside_test
async def aborts(bench: Bench, budget: int) -> None:
    """After the end of an abort nothing more is written, and what had not started waits."""
    rng, driver = bench.rng, bench.driver

    async def job(channel: str) -> None:
        end = bench.channels[channel]
        for _ in range(max(6, budget // 10)):
            await end.start()
            made = [bench.transfer(channel) for _ in range(end.entries - 1)]
            await end.submit([each.descriptor for each in made])
            await bench.after(rng.randint(1, 900))
            await driver.write(f"{channel}.command", abort_now=1)
            await driver.until(f"{channel}.status", "aborting", 0)
            bench.check_silent(channel)
            assert (await driver.read(f"{channel}.status"))["halted"]
            before = bench.snapshot(channel, made)
            await bench.after(150)
            assert bench.snapshot(channel, made) == before, f"{channel}: written after the end of an abort"
            await driver.write(f"{channel}.command", resume=1)
            await finish(bench, channel, made)
            await bench.run(channel, [bench.transfer(channel, count=20)])
            await driver.write(f"{channel}.command", clear_error=1)
            await end.stop()

    bench.pauses()
    for memory in bench.memory.values():
        memory.latency = 60
    await bench.both(job)


async def finish(bench: Bench, channel: str, made: list[Transfer]) -> None:
    """Takes the completions of transfers, of which some may be aborted."""
    for each in made:
        got = await bench.channels[channel].take()
        if bench.document.status[got["status"]] == "aborted":
            each.status, each.written, each.address = "aborted", None, 0
        bench.check(channel, each, got)


@outside_test
async def soft_resets(bench: Bench, budget: int) -> None:
    """After a soft reset nothing is in flight, and everything but the windows is as after a reset."""
    rng, driver = bench.rng, bench.driver
    bench.pauses()
    for _ in range(max(4, budget // 20)):
        base = rng.randrange(0, 0x10) << 12
        await driver.write("dev_window.base_low", page=base >> 12)
        made: dict[str, list[Transfer]] = {}
        for channel in CHANNELS:
            end = bench.channels[channel]
            await end.start()
            made[channel] = [bench.transfer(channel) for _ in range(end.entries - 1)]
            await end.submit([each.descriptor for each in made[channel]])
        await bench.after(rng.randint(1, 700))
        await driver.write("engine.command", soft_reset=1)
        await driver.until("engine.status", "resetting", 0)
        before = [bench.snapshot(channel, made[channel]) for channel in CHANNELS]
        for port, rules in bench.rules.items():
            assert all(each.idle for each in rules), f"{port}: something is in flight after a soft reset"
        for channel in CHANNELS:
            for name in ("control", "ring_tail", "ring_head", "completion_head", "irq_status", "irq_enable"):
                assert not any((await driver.read(f"{channel}.{name}")).values()), f"{channel}.{name}"
            assert not any((await driver.read(f"{channel}.status")).values())
            bench.tables[channel] = list(bench.first_tables[channel])
        assert (await driver.read("dev_window.base_low"))["page"] == base >> 12
        await bench.after(150)
        assert before == [bench.snapshot(channel, made[channel]) for channel in CHANNELS]
        for channel in CHANNELS:
            for each in made[channel]:
                bench.forget(channel, each)
            await bench.channels[channel].start()
            await bench.run(channel, [bench.transfer(channel, count=30) for _ in range(2)])
            await bench.channels[channel].stop()


@outside_test
async def watchdog(bench: Bench, budget: int) -> None:
    """A device that does not answer: one completion at once, and the rest when it answers again."""
    driver, dev = bench.driver, bench.memory["dev"]
    bench.pauses(0.0)
    await driver.write("engine.watchdog", value=300)
    for _ in range(max(1, budget // 60)):
        for channel in CHANNELS:
            end = bench.channels[channel]
            await end.start()
            dev.frozen[0].add(0)
            dev.frozen[1].add(0)
            made = [bench.transfer(channel, count=700, mode="raw") for _ in range(3)]
            await end.submit([each.descriptor for each in made])
            got = await end.take()
            assert bench.document.status[got["status"]] == "watchdog", got
            start = made[0].descriptor["source" if channel == "offload" else "destination"]
            # The oldest open transaction is of whole beats, the first of which may begin before that.
            first = start - start % (bench.ports["dev"]["data_bits"] // 8)
            assert first <= got["address"] < start + made[0].descriptor["length"], (hex(start), got)
            status = await driver.read(f"{channel}.status")
            assert (status["stuck"], status["aborting"]) == (1, 1), status
            dev.frozen[0].clear()
            dev.frozen[1].clear()
            await driver.until(f"{channel}.status", "aborting", 0)
            bench.check_silent(channel)
            before = bench.snapshot(channel, made)
            status = await driver.read(f"{channel}.status")
            assert (status["halted"], status["stuck"]) == (1, 0), status
            await bench.after(150)
            assert bench.snapshot(channel, made) == before, (
                f"{channel}: written after the end of the watchdog's abort"
            )
            bench.forget(channel, made[0])
            await driver.write(f"{channel}.command", resume=1)
            await finish(bench, channel, made[1:])
            await bench.run(channel, [bench.transfer(channel, count=20)])
            await end.stop()


@outside_test
async def registers(bench: Bench, budget: int) -> None:
    """Descriptors through ``push``, completions through registers; a ring that is disabled with completions pending."""
    driver, host = bench.driver, bench.memory["host"]
    bench.pauses(0.2)
    for _ in range(max(3, budget // 20)):
        for channel in CHANNELS:
            end = bench.channels[channel]
            await driver.write(f"{channel}.control", enable=1)
            for _ in range(2):
                made = bench.transfer(channel, count=bench.rng.randint(1, 60))
                await driver.push(channel, made.descriptor)
                await driver.until(f"{channel}.status", "completion_waiting", 1)
                assert (await driver.read(f"{channel}.status"))["busy"]
                bench.check(channel, made, await driver.pop(channel))
                assert not (await driver.read(f"{channel}.status"))["busy"]
            await end.start()
            many = [bench.transfer(channel, count=3) for _ in range(6)]
            id_ = 1 + CHANNELS.index(channel)
            host.frozen[1].add(id_)
            await end.submit([each.descriptor for each in many])
            await bench.after(1500)
            await driver.write(f"{channel}.control", enable=1, ring_enable=1)
            host.frozen[1].clear()
            await driver.until(f"{channel}.status", "completion_waiting", 1)
            arrived = 0
            while end.peek(arrived) is not None:
                arrived += 1
            assert 0 < arrived < 6, arrived
            for number, each in enumerate(many):
                if number < arrived:
                    bench.check(channel, each, end.peek(number) or {})
                    continue
                await driver.until(f"{channel}.status", "completion_waiting", 1)
                assert (await driver.read(f"{channel}.status"))["busy"]
                bench.check(channel, each, await driver.pop(channel))
            await end.stop()


@outside_test
async def interrupts(bench: Bench, budget: int) -> None:
    """The interrupt comes after as many completions as asked for, and goes with its cause."""
    driver, irq = bench.driver, bench.dut.irq
    bench.pauses(0.0)
    for channel in CHANNELS:
        end = bench.channels[channel]
        await end.start()
        await driver.write(f"{channel}.coalesce_count", value=3)
        await driver.write(f"{channel}.irq_enable", completion=1, error=1)
        for _ in range(max(2, budget // 30)):
            for number in range(3):
                assert not int(irq.value)
                made = bench.transfer(channel, count=5)
                made.descriptor["interrupt"] = 1
                await bench.run(channel, [bench.transfer(channel, count=5), made])
                await bench.after(30)
                assert int(irq.value) == (number == 2), number
            assert await driver.read(f"{channel}.irq_status") == {"completion": 1, "error": 0}
            await driver.write(f"{channel}.irq_status", completion=1)
            await bench.after(2 + bench.clocks.across)
            assert not int(irq.value)
        await bench.run(channel, [bench.refused(channel, "zero_length", {"length": 0})])
        await driver.until(f"{channel}.irq_status", "error", 1)
        assert int(irq.value)
        await driver.write(f"{channel}.irq_status", completion=1, error=1)
        assert (await driver.error(channel))[0] == "zero_length"
        await driver.write(f"{channel}.irq_enable")
        await end.stop()


@outside_test
async def owners(bench: Bench, budget: int) -> None:
    """Transfers of anybody in channels of everybody and of some, rings of anybody; and what the document says is refused."""
    bench.pauses()
    watch = Owners(bench, await bench.driver.read("engine.guards"))
    everything = (1 << 20) - 1, (1 << 11) - 1

    async def say(channel: str, register: str, word: int) -> None:
        stream, substream = word >> 20 & everything[1], word & everything[0]
        fields = {"stream": stream, "substream": substream, "substream_valid": word >> 31}
        known = bench.document.registers[f"{channel}_owner.{register}"][1].fields
        await bench.driver.write(
            f"{channel}_owner.{register}", **{name: value for name, value in fields.items() if name in known}
        )

    async def job(channel: str) -> None:
        end = bench.channels[channel]
        for _ in range(max(3, budget // 12)):
            value, mask = watch.some(), bench.rng.choice((0, 0xFFFFFFFF, 0x7FF00000))
            await say(channel, "value", value)
            await say(channel, "mask", mask & watch.has)
            watch.rings[channel] = watch.some()
            await say(channel, "ring", watch.rings[channel])
            await end.start()
            made = []
            for _ in range(6):
                owner = value if bench.rng.random() < 0.6 else watch.some()
                if (owner ^ value) & mask & watch.has:
                    each = bench.refused(channel, "owner", {"owned": 1, "owner": owner})
                else:
                    each = bench.transfer(channel)
                    watch.give(channel, each, owner)
                made.append(each)
            await bench.run(channel, made)
            await say(channel, "mask", 0)
            for owned, owner in ((0, 1 << 20), (1, 1), (1, 0x7FFFFFFF & ~watch.has or 1)):
                changes = {"owned": owned, "owner": owner}
                await bench.run(channel, [bench.refused(channel, "reserved", changes)])
            await end.stop()

    await bench.both(job)
    assert watch.seen


@outside_test
async def pairs(bench: Bench, budget: int) -> None:
    """Pairs beside each other: each reaches its own memory alone, and its aborts, resets and shares are its own."""
    pairs = await pairs_of(bench)
    missing = len(pairs) * 0x1000
    assert (await bench.driver.bus.read(missing, 4)).resp == AxiResp.SLVERR
    bench.pauses()
    for pair in pairs:
        await pair.start()

    async def all_of(job: Callable[[Pair, str], Awaitable[None]]) -> None:
        tasks = [cocotb.start_soon(bench.blame(job(pair, channel))) for pair in pairs for channel in CHANNELS]
        for task in tasks:
            await task

    async def honest(pair: Pair, channel: str) -> None:
        own = pair.bench
        await own.set_table(channel)
        await own.run(channel, [own.transfer(channel, damage=own.rng.random() < 0.3) for _ in range(6)])
        # What another pair has is outside of its window.
        other = pairs[(pair.number + 1) % len(pairs)]
        port, end = ("dev", "source") if channel == "offload" else ("host", "source")
        beyond = other.own[port].start + 4096
        refused = own.refused(channel, "window", {end: beyond})
        refused.address = beyond
        await own.run(channel, [refused])
        await pair.driver.error(channel)
        if bench.ports["host"]["pages"]:
            for _ in range(3):
                await _through_pages(own, channel)
            for part in ("page", "list"):
                await reaches(pair, channel, part, other.own["host"].start + 8 * PAGE)

    async def reaches(pair: Pair, channel: str, part: str, beyond: int) -> None:
        """A page, or the list itself, that is another pair's is not reached."""
        own, end = pair.bench, pair.bench.channels[channel]
        made = own.transfer(channel, count=3 * PAGE * 8 // own.format["word_bits"], mode="raw")
        paged = in_pages(own, channel, made)
        if part == "page":
            bench.memory["host"].store(paged.list_at, beyond.to_bytes(8, "little"))
        else:
            paged.descriptor |= {"pages_low": beyond & 0xFFFFFFFF, "pages_high": beyond >> 32}
        await end.submit([paged.descriptor])
        got = await end.take()
        failed = "write_decerr" if channel == "offload" else "read_decerr"
        assert (own.document.status[got["status"]], got["address"]) == (failed, beyond), f"{part}: {got}"
        await pair.driver.error(channel)
        if channel == "offload":
            paged.gather(own)
        own.forget(channel, made)

    await all_of(honest)

    async def aborted(pair: Pair, channel: str) -> None:
        """The first pair aborts what it has begun, and resets itself in the end."""
        own = pair.bench
        if pair.number:
            await own.run(channel, [own.transfer(channel) for _ in range(6)])
            assert not (await pair.driver.read(f"{channel}.status"))["halted"]
            return
        made = [own.transfer(channel) for _ in range(5)]
        await own.channels[channel].submit([each.descriptor for each in made])
        await bench.after(bench.rng.randint(1, 600))
        await pair.driver.write(f"{channel}.command", abort_now=1)
        await pair.driver.until(f"{channel}.status", "aborting", 0)
        assert (await pair.driver.read(f"{channel}.status"))["halted"]
        await pair.driver.write(f"{channel}.command", resume=1)
        await finish(own, channel, made)

    for _ in range(max(1, budget // 15)):
        await all_of(aborted)
    first, last = pairs[0], pairs[-1]
    for channel in CHANNELS:
        await first.driver.write(f"{channel}.irq_enable", completion=1)
    made = first.bench.transfer("offload", count=5)
    made.descriptor["interrupt"] = 1
    await first.bench.run("offload", [made])
    await bench.after(100)
    assert [pair.interrupts for pair in pairs] == [pair is first for pair in pairs]
    await first.driver.write("engine.command", soft_reset=1)
    await first.driver.until("engine.status", "resetting", 0)
    assert not first.interrupts
    for channel in CHANNELS:
        first.bench.tables[channel] = list(bench.first_tables[channel])
        await first.bench.channels[channel].start()
    # With a higher priority the last pair's are done before those of the first that have not begun.
    bench.pauses(0.0)
    await first.driver.write(f"offload_shares.share[{last.number}]", weight=1, priority=3)
    count = 2048 * 8 // bench.format["word_bits"]
    both = {pair: [pair.bench.transfer("offload", count=count) for _ in range(7)] for pair in (first, last)}
    for pair, some in both.items():
        await pair.bench.channels["offload"].submit([each.descriptor for each in some])
    for each in both[last]:
        last.bench.check("offload", each, await last.bench.channels["offload"].take())
    assert first.bench.channels["offload"].peek(6) is None, "a lower priority was done first"
    for each in both[first]:
        first.bench.check("offload", each, await first.bench.channels["offload"].take())
    for pair in pairs:
        for channel in CHANNELS:
            await pair.bench.channels[channel].stop()
        pair.finish()


@outside_test
async def messages(bench: Bench, budget: int) -> None:
    """Each event is a word at its address, when what it tells of is there, and one that fails is told of."""
    rng, driver, host = bench.rng, bench.driver, bench.memory["host"]
    bench.pauses()
    for index, channel in enumerate(CHANNELS):
        end, block = bench.channels[channel], f"{channel}_message"
        cell = bench.top["host"] // 8 * 7 + 64 * index + 4 * rng.randrange(16)
        word = rng.getrandbits(32) | 1
        host.allowed.append(range(cell, cell + 4))

        def told(cell: int = cell) -> int:
            """The word that has come, which is forgotten."""
            found = int.from_bytes(host.load(cell, 4), "little")
            host.store(cell, bytes(4))
            return found

        told()
        await end.start()
        await driver.write64(f"{block}.address", cell)
        await driver.write(f"{block}.data", value=word)
        await driver.write(f"{block}.control", enable=1)
        await driver.write(f"{channel}.irq_enable", completion=1, error=1)
        for _ in range(max(4, budget // 8)):
            made = bench.transfer(channel, count=rng.randint(1, 100))
            made.descriptor["interrupt"] = 1
            await end.submit([made.descriptor])
            for _ in range(5000):
                await bench.after(1)
                if found := told():
                    break
            assert found == word, f"{channel}: {found:#x} is told, not {word:#x}"
            assert end.peek() is not None, f"{channel}: a message before its completion"
            # The bit stays, and the next event is told of all the same.
            bench.check(channel, made, await end.take())
        host.errors.append((range(cell, cell + 4), AxiResp.SLVERR))
        made = bench.transfer(channel, count=5)
        made.descriptor["interrupt"] = 1
        await bench.run(channel, [made])
        await driver.until(f"{block}.status", "failed", 1)
        host.errors.clear()
        await driver.write(f"{block}.status", failed=1)
        assert not any((await driver.read(f"{block}.status")).values()), channel
        await end.stop()
