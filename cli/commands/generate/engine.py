"""The characteristics of an engine."""

from __future__ import annotations

from typing import Any

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.settings import settings_of

from .characteristics import Characteristics

__all__ = ["engine_characteristics"]


def engine_characteristics(config: EngineConfig) -> Characteristics:
    """Those of the engine of ``config``."""
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
    return Characteristics(title, bytes_per_cycle, _parameters(config), facts, rows)


def _parameters(config: EngineConfig) -> dict[str, Any]:
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
