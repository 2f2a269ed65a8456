"""The Verilog of an engine."""

from __future__ import annotations

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.verilog.emit import Verilog, emit, module_prefix
from cdma.hdl.verilog.names import VERILOG_2005, Dialect

from .core import PURPOSES
from .engine import engine_shell


def engine_verilog(
    config: EngineConfig,
    *,
    name: str = "cdma_engine",
    prefix: str | None = None,
    init: bool = True,
    memories: str = "wrap",
) -> str:
    """The text of :func:`engine_design`."""
    return engine_design(config, name=name, prefix=prefix, init=init, memories=memories).text


def engine_design(
    config: EngineConfig,
    *,
    name: str = "cdma_engine",
    prefix: str | None = None,
    init: bool = True,
    memories: str = "wrap",
    dialect: Dialect = VERILOG_2005,
) -> Verilog:
    """The Verilog of the engine as a module called ``name``, and its memories."""
    module_prefix(name, prefix)
    return emit(
        engine_shell(config),
        name,
        prefix=prefix,
        init=init,
        memories=memories,
        smallest_memory=config.smallest_memory,
        dialect=dialect,
        purposes=PURPOSES,
        title="compressing DMA engine with AXI4 ports",
        parameters=config.describe(),
    )
