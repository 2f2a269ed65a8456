"""What ``cdma generate engine`` writes: the Verilog, and the texts that go with it."""

from __future__ import annotations

from ..params import EngineConfig

__all__ = ["engine_verilog"]


def engine_verilog(
    config: EngineConfig, *, name: str = "cdma_engine", prefix: str | None = None, init: bool = True
) -> str:
    """The Verilog of the engine as a module called ``name``."""
    from ..verilog import emit
    from .engine import engine_shell

    form = config.format
    return emit(
        engine_shell(config),
        name,
        prefix=prefix,
        init=init,
        title="compressing DMA engine with AXI4 ports",
        parameters={
            "word bits": form.word_bits,
            "lanes": config.lanes,
            "window": form.window,
            "code bits": form.code_bits,
            "dev port": f"{config.dev_data_bits} bits of data, {config.dev_address_bits} of address",
            "host port": f"{config.host_data_bits} bits of data, {config.host_address_bits} of address",
            "bursts": f"up to {config.burst_beats} beats, {config.outstanding} under way",
            "read buffer": f"{config.read_buffer} beats",
            "write buffer": f"{config.write_buffer} beats",
            "registers": "yes" if config.registers else "no",
        },
    )
