"""Descriptors that must be refused."""

from __future__ import annotations

from cdma.hdl.spec.records import Mode, Status
from cdma.verif.engine.bench import CHANNELS, EngineBench
from cdma.verif.engine.context import changed, engine_test, expect_refusal
from cdma.verif.engine.memory import GUARD
from cdma.verif.engine.transfer import Transfer
from cdma.verif.simulator.plan import planned


@planned(
    "every objection to a descriptor",
    "nothing moves, cause and address are reported, the next descriptor runs",
    weight=3,
)
@engine_test
async def refusals(bench: EngineBench, budget: int) -> None:
    config = bench.config
    word, bits = config.format.raw_bytes, config.format.word_bits
    size = 40 * bits // 8
    bench.pauses(0.2)
    for channel in CHANNELS:
        await bench.channels[channel].enable()

        def change(mode: int = Mode.RAW, channel: str = channel, **fields: int) -> Transfer:
            made = bench.transfer(channel, 40, mode=mode)
            made.descriptor |= fields
            return made

        async def refuse(made: Transfer, status: Status, address: int = 0, channel: str = channel) -> None:
            memory = bench.memory["host" if channel == "offload" else "dev"]
            before = bytes(memory.read(0x10000, 0x10000))
            await expect_refusal(bench, channel, made, status, address)
            assert bytes(memory.read(0x10000, 0x10000)) == before
            good = bench.transfer(channel, 9)
            await bench.run(channel, [good])

        await refuse(change(length=0), Status.ZERO_LENGTH)
        await refuse(change(length=(1 << 32) + word), Status.LENGTH)
        if word > 1 and not config.tail_bits:
            await refuse(change(length=word + 1), Status.LENGTH)
        await refuse(change(compressed_length=word), Status.LENGTH)
        await refuse(change(mode=3), Status.RESERVED)
        await refuse(change(owner=1 << 31, owned=0), Status.RESERVED)
        for bit in (11, config.host_address_bits % 64) if config.pages else (12, 63):
            low, high = (1 << bit) % (1 << 32), (1 << bit) >> 32
            await refuse(change(pages_low=low, pages_high=high), Status.RESERVED)
        await refuse(change(reserved_middle=1), Status.RESERVED)
        await refuse(change(reserved_flags=4), Status.RESERVED)
        if not config.records.owner_bits:
            await refuse(change(owned=1), Status.RESERVED)
        if not config.dimensions:
            await refuse(change(shaped=1), Status.RESERVED)
        if not config.delta:
            await refuse(change(delta=1), Status.RESERVED)
        if not bench.config.crc:
            await refuse(change(check_crc=1), Status.RESERVED)
            await refuse(change(crc=1 << 31), Status.RESERVED)
        if config.quantisation is None:
            await refuse(change(step=1), Status.RESERVED)
        else:
            greatest, number = config.quantisation.greatest_step, config.quantisation.number_type.bits // 8
            await refuse(change(step=greatest + 1), Status.RESERVED)
            await refuse(change(step=255), Status.RESERVED)
            length = size // number * number
            stored = -(-length // number * bits // 8) if channel == "prefetch" else 0
            await refuse(change(step=1, compressed_length=stored, length=length + word), Status.LENGTH)
            if channel == "prefetch":
                await refuse(change(step=1), Status.ZERO_LENGTH)
                for wrong in (stored - word, stored + word, length):
                    await refuse(change(step=1, compressed_length=wrong, length=length), Status.LENGTH)
        await refuse(change(capacity=0), Status.CAPACITY, -1)
        made = change()
        await refuse(changed(made, capacity=size - 1), Status.CAPACITY, -1)
        fields = ("source", "destination") if channel == "offload" else ("destination", "source")
        for field, port in zip(fields, ("dev", "host"), strict=True):
            for step in {1, word} if config.realign else {1, word, config.align(port) // 2}:
                if step % config.align(port):
                    made = change()
                    address = made.descriptor[field] + step
                    await refuse(changed(made, **{field: address}), Status.ALIGNMENT, address)
        if channel == "prefetch":
            await refuse(change(Mode.ZVC, compressed_length=0), Status.ZERO_LENGTH)
            if config.format.stream_bits > 8:
                await refuse(change(Mode.ZVC, compressed_length=word + 1), Status.LENGTH)
        bits = config.dev_address_bits if channel == "offload" else config.host_address_bits
        for bit in range(bits, 64):
            await refuse(change(source=1 << bit), Status.WINDOW, 1 << bit)


@planned(
    "source and destination on both sides of each edge of their windows",
    "those outside are refused, and nothing moves",
    needs=lambda design: design.config.windows,
)
@engine_test
async def windows(bench: EngineBench, budget: int) -> None:
    low, high = 0x20000, 0x40000
    for port in ("dev", "host"):
        # The rings, if any, lie in the first pages: only the device port's window begins later.
        await bench.set_window(port, low if port == "dev" else 0, high - 1)
    for memory in bench.memory.values():
        memory.next = low
    word, word_bits = bench.config.format.raw_bytes, bench.config.format.word_bits
    for channel in CHANNELS:
        end = bench.channels[channel]
        await end.enable()
        await bench.run(channel, [bench.transfer(channel, 30, mode=Mode.RAW)])
        bits = {"dev": bench.config.dev_data_bits, "host": bench.config.host_data_bits}
        steps = {port: bench.config.align(port) for port in bits}
        beats = {port: max(width // 8, steps[port]) for port, width in bits.items()}
        ports = (bench.rules[channel].source, bench.rules[channel].sink)
        for field, port in zip(("source", "destination"), ports, strict=True):
            count = (max(64, beats[port]) // word + 1) * word
            outside = [high - beats[port], high, high + 4096]
            if port == "dev":
                # The last beat before the window, and one that ends in it.
                outside += [low - beats[port], low - 4096, low - steps[port]]
            # The first address from which the last word is outside.
            outside.append((high - count) // steps[port] * steps[port] + steps[port])
            for address in outside:
                made = changed(
                    bench.transfer(channel, count * 8 // word_bits, mode=Mode.RAW), **{field: address}
                )
                await expect_refusal(bench, channel, made, Status.WINDOW, address)
        # Up to the window's very last byte is fine, and so is its first.
        memory, port = bench.memory[ports[1]], ports[1]
        size = max(64 * word, beats[port])
        inside = [(high - size, size), (high - size - steps[port], size + steps[port])]
        if port == "dev":
            inside.append((low, size))
        for at, count in inside:
            made = bench.transfer(channel, count * 8 // word_bits, mode=Mode.RAW)
            memory.allow(at, count)
            memory.write(at - 128, bytes([GUARD]) * (count + 256))
            await bench.run(channel, [changed(made, destination=at)])
        await end.disable()
