"""What is said of a block beside its Verilog."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cdma.hdl.deliver.block import Config
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.settings import settings_of
from cdma.hdl.spec.stage import STAGES, StageConfig

__all__ = ["Characteristics", "characteristics"]


@dataclass(frozen=True)
class Characteristics:
    """A block in words and numbers.

    ``title``
        What it is, in a few words.
    ``bytes_per_cycle``
        Its rate of raw data.
    ``parameters``
        Its parameters, for a script.
    ``facts``
        Throughput, latency and the like, for the datasheet.
    ``rows``
        What is printed about it, by label; empty ones are left out.
    """

    title: str
    bytes_per_cycle: float
    parameters: Mapping[str, Any]
    facts: Mapping[str, str]
    rows: Mapping[str, str]


def characteristics(block: str, config: Config) -> Characteristics:
    """Those of the ``block`` of ``config``."""
    if isinstance(config, EngineConfig):
        return _engine(config)
    if isinstance(config, StageConfig):
        return _stage(block, config)
    return _codec(block, config)


def _codec(block: str, config: CodecConfig) -> Characteristics:
    """A compressor or a decompressor."""
    form, bytes_per_cycle = config.format, config.data_bits / 8
    values = (
        f"{config.table_size} on the port values"
        if config.runtime_values
        else ", ".join(map(hex, form.values))
    )
    rows = {
        "words": f"{form.word_bits} bits, {config.lanes} per beat: {bytes_per_cycle:g} bytes per cycle",
        "window": f"{form.window} words, header of {form.window * form.code_bits} bits",
        "values": values,
        "clock": "pipelined" if config.pipelined else "not pipelined",
    }
    facts = {"raw data": f"{bytes_per_cycle:g} bytes per cycle", **_timing(block, config)}
    return Characteristics(f"streaming {block}", bytes_per_cycle, _codec_parameters(config), facts, rows)


def _codec_parameters(config: CodecConfig) -> dict[str, Any]:
    form = config.format
    rows = {"word_bits": form.word_bits, "lanes": config.lanes, **form.settings()}
    if "values" in rows and config.runtime_values:
        rows["values"] = None
    return {**rows, "table_size": config.table_size, "pipelined": config.pipelined}


def _timing(block: str, config: CodecConfig) -> dict[str, str]:
    from cdma.verif.stream.codec.codec_bench import limits_of

    if not config.work_conserving:
        return {"cycles of a packet": "exactly those of docs/verification.md, for this queue"}
    limits = limits_of(config, block)
    work = f"ceil(sum over its windows of the larger of raw and stream words / {config.lanes})"
    return {
        "cycles of a packet": f"first beat in to last beat out, at most {work} + {limits.constant}; "
        "docs/verification.md has the small print",
        "latency": f"first beat in to first beat out of a dense window, at most {limits.latency} cycles",
    }


def _stage(block: str, config: StageConfig) -> Characteristics:
    """A quantiser or a dequantiser."""
    form, rate = config.form, f"{config.number_bytes} bytes per cycle"
    quantises = block == STAGES[0]
    facts = {
        "numbers": rate,
        "latency": "2 cycles" if quantises else "1 cycle",
        "packets": "one cycle more for each" if quantises else "back to back",
        "error": "at most half a step, or reported" if quantises else "none",
    }
    steps = f"2^{form.least_exponent} to 2^{form.greatest_exponent}"
    rows = {
        "numbers": f"{form.number}, {config.lanes} per beat: {rate}",
        "integers": f"{form.bits} bits, {-form.limit} to {form.limit}, in steps of {steps}",
        "zero": "made of zero alone" if form.keep_nonzero else "",
    }
    return Characteristics(f"error-bounded {block}", config.number_bytes, config.settings(), facts, rows)


def _engine(config: EngineConfig) -> Characteristics:
    bytes_per_cycle = min(config.codec.data_bits, config.dev_data_bits) // 8
    facts = {
        "raw data": f"{bytes_per_cycle} bytes per cycle and unit, {config.units} of them, each way",
        **_numbers(config),
        "host port": f"{config.host_data_bits // 8} bytes per cycle, each way",
        "bursts": f"up to {config.burst_beats} beats, {config.outstanding} of data in flight at each port each way",
        "hidden latency of memory": f"{config.read_buffer} beats",
        "descriptors in flight": f"{config.descriptors} per channel",
    }
    several = f"{config.units} device ports of" if config.units > 1 else "device port"
    rows = {
        "ports": f"{several} {config.dev_data_bits} bits, host port {config.host_data_bits} bits",
        "codec": f"{config.lanes} x {config.format.word_bits} bits: {bytes_per_cycle} bytes per cycle",
        "dev buffer": _buffer(config, config.dev_data_bits // 8),
        "host buffer": _buffer(config, config.host_data_bits // 8),
    }
    title = "compressing DMA engine with AXI4 ports"
    return Characteristics(title, bytes_per_cycle, _engine_parameters(config), facts, rows)


def _engine_parameters(config: EngineConfig) -> dict[str, Any]:
    form = config.format
    unsaid = {setting.name for setting in settings_of(type(form)) if not setting.engine}
    settings = {name: value for name, value in config.settings().items() if name not in unsaid}
    return {
        "word_bits": form.word_bits,
        "lanes": config.lanes,
        **settings,
        # Where 0 stands for a size that follows from others, the size itself.
        "read_buffer_beats": config.read_buffer,
        "write_buffer_beats": config.write_buffer,
        "ring_reads": config.ring_reads,
        "ring_writes": config.ring_writes,
    }


def _numbers(config: EngineConfig) -> dict[str, str]:
    """The rate of transfers with a step: a number is a word of the codec."""
    if config.quantisation is None:
        return {}
    rate = min(config.lanes * config.quantisation.number_type.bits, config.dev_data_bits) // 8
    return {"numbers": f"{rate} bytes per cycle where a descriptor has a step, each way"}


def _buffer(config: EngineConfig, beat: int) -> str:
    beats, latency = config.read_buffer, config.latency
    return (
        f"{beats} beats = {beat * beats:,} bytes; the rule asks for {beat} bytes per cycle x {latency} cycles of "
        f"latency = {beat * latency:,} bytes"
    )
