"""What ``cdma generate engine`` writes: the Verilog, and the texts that go with it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.texts.fusesoc import fusesoc_core
from cdma.hdl.texts.registers import register_texts
from cdma.hdl.verilog.emit import Verilog, emit, module_prefix
from cdma.hdl.verilog.instance import instance_template
from cdma.hdl.verilog.memory_list import memory_document
from cdma.hdl.verilog.waivers import verilator_waivers

from .engine import engine_ports, engine_shell
from .memories import PURPOSES

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
        purposes=PURPOSES,
        title="compressing DMA engine with AXI4 ports",
        parameters=config.describe(),
    )


def engine_files(
    config: EngineConfig,
    design: Verilog,
    *,
    name: str = "cdma_engine",
    headers: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, str]:
    """All texts by file name: the Verilog of ``design`` first, then an instance to copy from, a FuseSoC core file, the
    register texts of an engine with registers, ``headers``, the list of memories and the waivers for Verilator.

    ``headers`` are C headers of the engine's driver, by file name.
    """
    others = {
        **(register_texts(config) if config.registers else {}),
        **headers,
        "cdma_memories.md": memory_document(name, design.memories),
        "cdma.vlt": verilator_waivers(),
    }
    return {
        f"{name}.v": design.text,
        f"{name}_inst.v": instance_template(name, engine_ports(config)),
        f"{name}.core": fusesoc_core(name, "Compressing DMA engine with AXI4 ports", others),
        **others,
    }
