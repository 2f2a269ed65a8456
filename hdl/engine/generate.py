"""The Verilog of an engine."""

from __future__ import annotations

from typing import Any

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.verilog.emit import Verilog, emit, wished

from .core import PURPOSES
from .engine import engine_shell


def engine_verilog(config: EngineConfig, **wishes: Any) -> str:
    """The text of :func:`engine_design`."""
    return engine_design(config, **wishes).text


def engine_design(config: EngineConfig, **wishes: Any) -> Verilog:
    """The Verilog of an engine, called ``cdma_engine`` by default, and its memories; ``wishes`` are those of
    :func:`emit`."""
    named = wished("cdma_engine", wishes)
    return emit(
        engine_shell(config),
        **named,
        smallest_memory=config.smallest_memory,
        purposes=PURPOSES,
        title="compressing DMA engine with AXI4 ports",
        parameters=config.describe(),
    )
