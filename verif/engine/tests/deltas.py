"""Descriptors with a base: in place, with damaged streams, with bases that cannot be read, and those that are refused."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from cocotbext.axi import AxiResp

from cdma.hdl.spec.records import Mode, Status
from cdma.verif.engine.bench import CHANNELS, EngineBench
from cdma.verif.engine.context import (
    BUS_ERRORS,
    both,
    changed,
    completed,
    engine_test,
    expect_failure,
    expect_refusal,
    some_length,
)
from cdma.verif.engine.shaped import some_shape
from cdma.verif.engine.transfer import Transfer
from cdma.verif.simulator.plan import planned


def _in_place(bench: EngineBench, words: int, mode: Mode) -> Transfer:
    """A prefetch whose base is at its destination."""
    made = bench.transfer("prefetch", words, mode=mode, based=True)
    destination = made.descriptor["destination"]
    bench.memory["dev"].write(bench.memory["dev"].place_of(destination), made.base)
    return changed(made, capacity=destination)


def _damaged(bench: EngineBench, words: int, mode: Mode) -> Transfer:
    """A prefetch whose stream was cut, or has words more, or another bit."""
    rng, word = bench.rng, bench.config.format.moved_bits // 8
    whole = bench.transfer("prefetch", words, mode=mode, based=True)
    stream = bytearray(whole.source)
    kind = rng.randrange(3)
    if kind == 0:
        stream = stream[: word * rng.randint(1, len(stream) // word)]
    elif kind == 1:
        stream += bytes(rng.randrange(256) for _ in range(word * rng.randint(1, 40)))
    else:
        stream[rng.randrange(len(stream))] ^= 1 << rng.randrange(8)
    bench.check_memory("prefetch", whole, exact=False)
    raw = bytes(whole.descriptor["length"])
    return bench.transfer(
        "prefetch", words, mode=mode, raw=raw, stream=bytes(stream), based=True, crc_off=None
    )


@planned(
    "bases that have none, some or all of the data, in place too, lengths around a beat and a burst, damaged streams",
    "the data XOR the base, every byte; what follows a damaged stream runs",
    needs=lambda design: design.config.delta,
    weight=3,
)
@engine_test
async def deltas(bench: EngineBench, budget: int) -> None:
    config, rng = bench.config, bench.rng

    async def job(channel: str) -> None:
        await bench.channels[channel].enable()
        for _ in range(max(8, budget // 16)):
            made = [bench.transfer(channel, some_length(bench), based=rng.random() < 0.7) for _ in range(3)]
            words = max(1, made[0].descriptor["length"] * 8 // config.format.word_bits)
            if channel == "prefetch":
                made.append(_in_place(bench, words, rng.choice(list(Mode))))
                made.append(_damaged(bench, words, rng.choice((Mode.ZVC, Mode.FVC))))
            rng.shuffle(made)
            bench.pauses(rng.choice((0.0, 0.2, 0.5)))
            await bench.run(channel, made)

    await both(bench, job)


def _wrong_bases(bench: EngineBench, made: Transfer) -> Iterator[tuple[Status, int]]:
    """Addresses of a base that must be refused."""
    config, length = bench.config, made.descriptor["length"]
    align, span = config.align("dev"), config.base_align
    base = made.descriptor[made.base_field]
    others = (
        {align} | {config.stripe_bytes * unit for unit in range(1, config.units)}
        if config.units > 1
        else set()
    )
    for step in {1, align // 2, *others} - {0, span}:
        yield Status.ALIGNMENT, base + step
    space, addresses = bench.spaces["dev"], [1 << bit for bit in range(config.dev_address_bits, 64)]
    if space.base:
        addresses.append(space.base - span)
    if space.limit < 1 << config.dev_address_bits:
        addresses += [space.limit + 1, (space.limit + 1 - length) // align * align + align]
    for address in addresses:
        yield Status.WINDOW, address + (base - address) % span


@planned(
    "bases that are not aligned, that begin or end outside of the window, and of a shape",
    "nothing moves, cause and address are reported, the next descriptor runs",
    needs=lambda design: design.config.delta,
)
@engine_test
async def wrong_bases(bench: EngineBench, budget: int) -> None:
    config = bench.config
    words = 128 * 8 // config.format.word_bits
    if config.windows:
        await bench.set_window("dev", 0x20000, 0x7FFFF)
    bench.memory["dev"].next = 0x20000
    for channel in CHANNELS:
        await bench.channels[channel].enable()
        made = bench.transfer(channel, words, mode=Mode.RAW, based=True)
        field, base = made.base_field, made.descriptor[made.base_field]
        for status, address in _wrong_bases(bench, made):
            await expect_refusal(bench, channel, changed(made, **{field: address}), status, address)
        if config.dimensions:
            shape = some_shape(bench.rng, config, 128, reads=channel == "offload")
            both_of_them = changed(bench.transfer(channel, words, mode=Mode.RAW, shape=shape), delta=1)
            await expect_refusal(bench, channel, both_of_them, Status.RESERVED, 0)
        bench.check_memory(channel, changed(made, **{field: base}), exact=False)
        await bench.run(channel, [bench.transfer(channel, words, based=True) for _ in range(2)])


@planned(
    "SLVERR and DECERR on reads of a base, first and last beat, with and without one of the source, behind a short stream",
    "reported once, in order, with the address; the error of the source goes first; the next descriptor runs",
    needs=lambda design: design.config.delta,
)
@engine_test
async def base_errors(bench: EngineBench, budget: int) -> None:
    config, rng = bench.config, bench.rng
    bench.pauses(0.2)
    dev, beat, reads = bench.memory["dev"], config.dev_data_bits // 8, BUS_ERRORS["read"]
    words = config.burst("dev") * beat * 5 // 2 * 8 // config.format.word_bits

    async def one(channel: str, response: AxiResp, mode: Mode, *, both_fail: bool) -> None:
        end, rules = bench.channels[channel], bench.rules[channel]
        before, after = (bench.transfer(channel, 3, mode=Mode.RAW, based=True) for _ in range(2))
        made = bench.transfer(channel, words, mode=mode, based=True)
        base, length = made.descriptor[made.base_field], made.descriptor["length"]
        at = rng.choice((base, base + length - 1, rng.randrange(base, base + length)))
        source, memory = made.descriptor["source"], bench.memory[rules.source]
        dev.spoil({at: response})
        want = (reads[response], at // beat * beat)
        if both_fail:
            other = next(each for each in reads if each != response)
            memory.spoil({source: other})
            width = config.data_bits(rules.source) // 8
            want = (reads[other], source // width * width)
        await end.submit([each.record() for each in (before, made, after)])
        bench.check(channel, before, await end.next())
        await expect_failure(bench, channel, made, *want)
        dev.mend(at)
        if both_fail:
            memory.mend(source)
        bench.check_memory(channel, made, exact=False)
        bench.check(channel, after, await end.next())

    async def behind_the_data() -> None:
        """A stream that ends in its first beat, of a base that no buffer holds and whose last beat cannot be read."""
        short, length = bytes(config.format.moved_bits // 8), 4 * config.read_buffer * beat
        made = bench.transfer(
            "prefetch",
            length * 8 // config.format.word_bits,
            mode=Mode.FVC,
            raw=bytes(length),
            stream=short,
            based=True,
            crc_off=None,
        )
        last = made.descriptor[made.base_field] + made.descriptor["length"] - 1
        dev.spoil({last: AxiResp.SLVERR})
        await bench.channels["prefetch"].submit([made.record()])
        await expect_failure(bench, "prefetch", made, Status.READ_SLVERR, last // beat * beat)
        dev.mend(last)
        bench.check_memory("prefetch", made, exact=False)
        await bench.run("prefetch", [bench.transfer("prefetch", 100, based=True) for _ in range(3)])

    for channel in CHANNELS:
        await bench.channels[channel].enable()
        for response, mode, fails in itertools.product(reads, (Mode.RAW, Mode.ZVC), (False, True)):
            await one(channel, response, mode, both_fail=fails)
    for _ in range(4):
        await behind_the_data()


@planned(
    "a device memory that falls silent before a base is read",
    "WATCHDOG with the address that was waited for; after a resume everything runs",
    needs=lambda design: design.config.delta and design.config.times,
)
@engine_test
async def silent_base(bench: EngineBench, budget: int) -> None:
    await bench.set_watchdog(400)
    config, dev = bench.config, bench.memory["dev"]
    beat = config.dev_data_bits // 8
    # Of several ports one may have answered with the source, and another one not; and of several bursts.
    alone = config.units == 1 and config.burst("dev") >= 8
    for channel in CHANNELS if alone else ("prefetch",):
        end = bench.channels[channel]
        await end.enable()
        for _ in range(2):
            # All of the data fit the buffers, so that the base alone is waited for.
            made = _of_one_burst(bench, channel, 4 * beat)
            dev.frozen = channel == "prefetch"
            await end.submit([made.record()])
            if channel == "offload":
                await _source_has_come(bench)
                dev.frozen = True
            got = await completed(bench, channel)
            # Some beats may have come behind those of the source.
            passed = got["address"] - made.descriptor[made.base_field] // beat * beat
            assert got["status"] == Status.WATCHDOG, (made.descriptor, got)
            assert passed in range(4 * beat if channel == "offload" else 1), (made.descriptor, got)
            dev.frozen = False
            await bench.settle(channel)
            await end.resume()
            bench.check_memory(channel, made, exact=False)
            bench.checks += 1
        await bench.run(channel, [bench.transfer(channel, 100, based=True) for _ in range(3)])


def _of_one_burst(bench: EngineBench, channel: str, size: int) -> Transfer:
    """A transfer of so many bytes, with a base; the source of an offload does not cross the border of a burst."""
    config = bench.config
    block = config.burst("dev") * config.dev_data_bits // 8
    while True:
        made = bench.transfer(channel, size * 8 // config.format.word_bits, mode=Mode.RAW, based=True)
        if channel == "prefetch" or made.descriptor["source"] % block + size <= block:
            return made
        bench.check_memory(channel, made, exact=False)


async def _source_has_come(bench: EngineBench) -> None:
    """Waits for the last beat with the ID of sources on the device port."""
    pins = [getattr(bench.dut, f"m_axi_dev_{name}") for name in ("rvalid", "rready", "rlast", "rid")]
    while [int(pin.value) for pin in pins] != [1, 1, 1, 0]:
        await bench.after(1)
