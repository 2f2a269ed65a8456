"""The register-level model of the engine beside its Verilog, under the same driver."""

from __future__ import annotations

from dataclasses import replace

from cdma.hdl.spec.records import Mode
from cdma.sim.codec.headers import to_memory
from cdma.sim.codec.model import encode_packet
from cdma.sim.codec.words import word_dtype
from cdma.sim.engine.driver import Descriptor, Driver, RingMemory
from cdma.sim.engine.memory import Memory
from cdma.sim.engine.model import EngineModel
from cdma.sim.engine.transfer import words_in
from cdma.verif.engine.ring import RingBench
from cdma.verif.engine.transfer import random_numbers, random_step

from .driver_exercise import BACK, CAPACITY, ENTRIES, PACKED, RAW, RINGS, SIZE, WINDOWS, Machine


def _any_descriptor(bench: RingBench, name: str, tag: int) -> tuple[Descriptor, bytes]:
    """Returns a descriptor, which is sometimes wrong in one way, and the data at its source."""
    rng, config = bench.rng, bench.config
    word, stream_word = config.format.raw_bytes, config.format.moved_bits // 8
    count = rng.choice((1, rng.randint(1, 40), rng.randint(1, 400)))
    mode = rng.choice(list(Mode))
    lossy_step = random_step(rng, config) if config.quantisation and rng.random() < 0.4 else 0
    raw = (bench.np.integers(0, 9, count) * bench.np.integers(0, 2, count)).astype(word_dtype(config.format))
    in_memory = to_memory(raw, config.format.word_bits)
    if config.tail_bits and not lossy_step:
        in_memory = in_memory[: len(in_memory) - rng.randrange(word)]
    length = len(in_memory)
    if lossy_step:
        numbers = random_numbers(bench.np, count, config, lossy_step, beyond=0.05)
        length = len(numbers)
    values = (3, 0, 5)[: config.codec.table_size] if mode is Mode.FVC else (0,)
    form = config.format.with_table(values)
    data, compressed = numbers if lossy_step and name == "offload" else in_memory, 0
    if name == "prefetch" and mode is Mode.RAW and lossy_step:
        compressed = len(data)
    elif name == "prefetch" and mode is not Mode.RAW:
        words = raw if lossy_step else words_in(in_memory, form)
        data = to_memory(encode_packet(words, form).words, form.stream_bits)
        damage = rng.random()
        if damage < 0.15 and len(data) > stream_word:
            data = data[: -rng.randint(1, len(data) // stream_word - 1) * stream_word]
        elif damage < 0.3:
            data += bytes(rng.randint(1, 5) * stream_word)
        elif damage < 0.5:
            at = rng.randrange(len(data))
            data = data[:at] + bytes([rng.getrandbits(8)]) + data[at + 1 :]
        compressed = len(data)
    source, destination = (RAW, PACKED) if name == "offload" else (PACKED + CAPACITY, BACK)
    # 64 bytes are a whole beat of every port used here.
    step = config.align("dev") if config.realign else 64
    fields = {
        "source": source + rng.randrange(0, 1024, step),
        "destination": destination + rng.randrange(0, 1024, step),
        "length": length,
        "capacity": rng.choice((CAPACITY // 2, length, rng.randint(1, max(1, length // word)) * word)),
        "mode": mode,
        "compressed_length": compressed,
        "tag": tag,
        "interrupt": bool(rng.getrandbits(1)),
        "step": lossy_step,
    }
    if rng.random() < 0.3:
        wrong: dict[str, list[int]] = {
            "source": [fields["source"] + 1, fields["source"] + word, SIZE - 64, 1 << 47],
            "destination": [fields["destination"] + 1, fields["destination"] + word, SIZE, (1 << 64) - 64],
            "length": [0, length + 1, (1 << 32) + word],
            "capacity": [0, SIZE, (1 << 64) - 1],
            "compressed_length": [0, 1, word, 1 << 33],
            "mode": [3, 255],
        }
        changed = rng.choice(sorted(wrong))
        fields[changed] = rng.choice(wrong[changed])
    return Descriptor(**fields), data


def compare(machine: Machine, driver: Driver, budget: int) -> None:
    """Gives the same descriptors to the hardware and to the model, and compares completions and memories."""
    bench = machine.bench
    dev, host = bench.memory["dev"], bench.memory["host"]
    model_dev, model_host = bytearray(dev.bytes), bytearray(host.bytes)
    model = EngineModel(bench.config, Memory(model_dev), Memory(model_host))
    modelled = Driver(model, windows=WINDOWS, idle=model.step)
    for each, memory in ((driver, host.bytes), (modelled, model_host)):
        each.set_window("dev", 0x20000, 0x7FFFF)
        each.set_window("host", 0, 0x7FFFF)
        for name, base in RINGS.items():
            channel = getattr(each, name)
            channel.start(RingMemory(base, memoryview(memory)[base : base + 2 * ENTRIES * 64]), ENTRIES)
            channel.set_table((3, 0, 5)[: bench.config.codec.table_size])
    for tag in range(budget):
        name = bench.rng.choice(sorted(RINGS))
        descriptor, data = _any_descriptor(bench, name, tag)
        if descriptor.source + len(data) <= SIZE:
            for memory in (dev.bytes, model_dev) if name == "offload" else (host.bytes, model_host):
                memory[descriptor.source : descriptor.source + len(data)] = data
        done = getattr(driver, name).transfer(descriptor)
        expected = getattr(modelled, name).transfer(descriptor)
        story = f"{name}: {descriptor}\n{done}\n{expected}"
        assert replace(done, cycles=0) == replace(expected, cycles=0), story
        assert dev.bytes == model_dev, f"{name}: {descriptor}: the device memory differs"
        # The rings hold the cycles, which the model does not know.
        assert host.bytes[0x10000:] == model_host[0x10000:], f"{name}: {descriptor}: the host memory differs"
        bench.transfers += 1
        bench.checks += 3
    for name in RINGS:
        counters, expected = getattr(driver, name).counters(), getattr(modelled, name).counters()
        for key in ("bytes_read", "bytes_written", "literals", "raw_words", "descriptors", "errors"):
            assert counters[key] == expected[key], f"{name}.{key}: {counters[key]}, not {expected[key]}"
        assert getattr(driver, name).error() == getattr(modelled, name).error()
