"""The largest numbers that a descriptor has: started and then aborted, or refused."""

from __future__ import annotations

import numpy as np
from cocotb.triggers import ClockCycles

from cdma.hdl.spec.records import COMPLETION, LENGTH_BITS, MAX_BYTES, Mode, Status
from cdma.sim.codec.model import encode_packet
from cdma.sim.codec.words import words_from_bytes, words_to_bytes
from cdma.sim.engine.descriptors import unpack
from cdma.sim.engine.transfer import Outcome
from cdma.verif.engine.bench import CHANNELS, EngineBench
from cdma.verif.engine.context import engine_test
from cdma.verif.engine.memory import SIZE, Far
from cdma.verif.engine.steps import changed, expect_refusal
from cdma.verif.engine.transfer import Transfer

__all__: list[str] = []


def _pattern(address: int, length: int) -> bytes:
    """Bytes that follow from their address, none of them 0."""
    words = np.arange(address // 4, (address + length + 3) // 4, dtype=np.uint64)
    mixed = (words * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(20)).astype(np.uint32) | np.uint32(0x01010101)
    return mixed.tobytes()[address % 4 :][:length]


def _ones(address: int, length: int) -> bytes:
    """A compressed stream of literals without a zero bit, from any window on."""
    return b"\xff" * length


@engine_test
async def limits(bench: EngineBench, budget: int) -> None:
    config = bench.config
    word = config.format.word_bits // 8
    most = MAX_BYTES if word > 1 else MAX_BYTES - 1
    address_bits = {"dev": config.dev_address_bits, "host": config.host_address_bits}
    beats = {"dev": config.dev_data_bits // 8, "host": config.host_data_bits // 8}
    few = 2 * max(beats.values()) + word

    def place(port: str) -> int:
        return 2**32 - 2 * beats[port] if address_bits[port] > 33 else SIZE

    async def cut(channel: str, mode: Mode, size: int) -> None:
        """Starts a transfer of ``size`` bytes at both ends, or nearly so, and aborts it on its way."""
        end = bench.channels[channel]
        ports = ("dev", "host") if channel == "offload" else ("host", "dev")
        source, sink = (bench.memory[port] for port in ports)
        form = bench.rules[channel].format(mode, bench.tables[channel])
        # As much as is looked at: a few windows, for the codec.
        look = few + 3 * form.window * word
        start, destination = map(place, ports)
        through = mode != Mode.RAW
        data = _ones if through and channel == "prefetch" else _pattern
        expected = data(start, 2 * look)
        if through and channel == "offload":
            words = words_from_bytes(
                expected[: len(expected) // word // form.window * form.window * word], form
            )
            expected = words_to_bytes(encode_packet(words, form).words)
        source.far, sink.far = Far(start, data), Far(destination, data, expected)
        bench.tag += 1
        descriptor = {
            "source": start,
            "destination": destination,
            "length": size,
            "capacity": size,
            "compressed_length": size if through and channel == "prefetch" else 0,
            "tag": bench.tag,
            "mode": int(mode),
        }
        await end.submit([Transfer(descriptor, b"", Outcome()).record()])
        for _ in range(4000):
            if sink.far.written >= look:
                break
            assert end.completion() is None, f"{descriptor} ended after {sink.far.written} bytes"
            await ClockCycles(bench.dut.aclk, 4)
        else:
            raise AssertionError(f"{descriptor} stands still after {sink.far.written} bytes")
        await end.abort()
        await bench.settle(channel)
        await end.resume()
        got = unpack(COMPLETION, await end.next())
        assert (got["status"], got["tag"]) == (Status.ABORTED, bench.tag), got
        source.far = sink.far = None
        bench.transfers += 1
        bench.checks += sink_beats(ports[1], look)

    def sink_beats(port: str, length: int) -> int:
        return length // beats[port]

    async def refuse(channel: str, **fields: int) -> None:
        made = changed(bench.transfer(channel, 4, mode=Mode.ZVC), **fields)
        await expect_refusal(bench, channel, made, Status.LENGTH, 0)

    for channel in CHANNELS:
        await bench.channels[channel].enable()
        room = min(1 << bits for bits in address_bits.values()) - SIZE
        sizes = {(1 << log2) + few for log2 in range(16, 32)} | {most - word, most}
        for number, size in enumerate(sorted(size for size in sizes if size <= room or room > 2 * MAX_BYTES)):
            modes = (Mode.RAW, Mode.ZVC) if size >= most - word else (Mode(number % 2),)
            for mode in modes:
                await cut(channel, mode, size // word * word)
        # Of each bit beyond, alone and with those few: too long, whatever the capacity.
        await refuse(channel, length=most + word, capacity=(1 << 64) - 1)
        for log2 in range(33, 64):
            await refuse(channel, length=(1 << log2) + 4 * word, capacity=(1 << 64) - 1)
            if channel == "prefetch" and log2 >= LENGTH_BITS:
                await refuse(channel, compressed_length=(1 << log2) + 4 * word)
        # A capacity beyond what can be filled is as good as any, if the addresses are there.
        if min(address_bits.values()) > LENGTH_BITS + 1:
            for log2 in (LENGTH_BITS - 1, LENGTH_BITS, 63):
                made = bench.transfer(channel, 40)
                needed = made.descriptor["capacity"]
                completion = await _one_with(bench, channel, made, capacity=1 << log2)
                made.descriptor["capacity"] = needed
                bench.check(channel, made, completion)
        await bench.channels[channel].disable()


async def _one_with(bench: EngineBench, channel: str, made: Transfer, **fields: int) -> bytes:
    """Runs one transfer with other fields; its completion."""
    end = bench.channels[channel]
    await end.submit([changed(made, **fields).record()])
    return await end.next()
