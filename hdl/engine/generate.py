"""What ``cdma generate engine`` writes: the Verilog, and the texts that go with it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.texts.fusesoc import fusesoc_core
from cdma.hdl.texts.registers import register_texts
from cdma.hdl.verilog.emit import Verilog, emit, module_prefix
from cdma.hdl.verilog.instance import instance_template
from cdma.hdl.verilog.waivers import verilator_waivers

from .engine import engine_ports, engine_shell

__all__ = ["engine_design", "engine_files", "engine_verilog"]


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
) -> Verilog:
    """The Verilog of the engine as a module called ``name``, and its memories."""
    module_prefix(name, prefix)
    return emit(
        engine_shell(config),
        name,
        prefix=prefix,
        init=init,
        memories=memories,
        title="compressing DMA engine with AXI4 ports",
        parameters=config.describe(),
    )


def engine_files(
    config: EngineConfig,
    *,
    name: str = "cdma_engine",
    prefix: str | None = None,
    init: bool = True,
    headers: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, str]:
    """All texts by file name: the Verilog first, then an instance to copy from, a FuseSoC core file, the register
    texts of an engine with registers, ``headers`` and the waivers for Verilator.

    ``headers`` are C headers of the engine's driver, by file name.
    """
    others = {
        **(register_texts(config) if config.registers else {}),
        **headers,
        "cdma.vlt": verilator_waivers(),
    }
    return {
        f"{name}.v": engine_verilog(config, name=name, prefix=prefix, init=init),
        f"{name}_inst.v": instance_template(name, engine_ports(config)),
        f"{name}.core": fusesoc_core(name, "Compressing DMA engine with AXI4 ports", others),
        **others,
    }
