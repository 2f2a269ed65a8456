"""A block that is generated: what goes into its package, and what is said of it."""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass

from cdma._version import __version__
from cdma.hdl.deliver.block import (
    SYSTEM_VERILOG,
    Block,
    Config,
    block_design,
    block_ports,
    check_name_in,
    ending,
)
from cdma.hdl.deliver.wrappers import sv_package, sv_package_file
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.registers.map import register_map
from cdma.hdl.spec.stage import StageConfig
from cdma.synth.asic.recipe import synthesis_files

from .characteristics import Characteristics, characteristics
from .golden import golden_vectors
from .measured import measured, simulated
from .software import software_files

__all__ = ["Made", "make"]

#: Clock periods in ns that the constraints say where the user does not: of standard cells, and of FPGAs.
_PERIOD, _PIPELINED_PERIOD = 1.0, 8.0


@dataclass(frozen=True)
class Made:
    """What ``cdma generate`` makes of its arguments."""

    arguments: argparse.Namespace
    characteristics: Characteristics
    block: Block


def make(asked: argparse.Namespace, config: Config) -> Made:
    """The block that the arguments name and ``config`` describes."""
    check_name_in(asked.language, asked.name)
    area = {} if asked.area is None else measured(asked.area, asked.block, config.settings())
    speed = () if asked.intake is None else simulated(asked.intake, asked.block, config.settings())
    said = characteristics(asked.block, config)
    pipelined = not isinstance(config, StageConfig) and config.pipelined
    registers, texts = None, {}
    if isinstance(config, EngineConfig) and config.registers:
        registers, texts = register_map(config), software_files(config, asked.name)
    if asked.language == SYSTEM_VERILOG and (types := sv_package(asked.block, config, asked.name)):
        texts = {sv_package_file(asked.name): types, **texts}
    period = asked.period or (_PIPELINED_PERIOD if pipelined else _PERIOD)
    design = block_design(
        asked.block,
        config,
        name=asked.name,
        prefix=asked.prefix,
        init=asked.init,
        memories=asked.memories,
        language=asked.language,
        source_lines=asked.source_lines,
    )
    modules = dict.fromkeys(memory.module for memory in design.memories if memory.module)
    gates = re.findall(r"^module (\w+_clock_gate) ", design.text, re.MULTILINE)
    source = f"{asked.name}{ending(asked.language)}"
    scripts = synthesis_files(asked.name, source, period, list(modules), gates)
    block = Block(
        name=asked.name,
        title=said.title,
        version=__version__,
        kind=asked.block,
        config=config,
        ports=block_ports(asked.block, config),
        design=design,
        parameters={**config.describe(), "initial values": "yes" if asked.init else "no"},
        facts=said.facts,
        language=asked.language,
        vectors=golden_vectors(asked.block, config),
        period=period,
        registers=registers,
        texts={**texts, **scripts},
        area=area,
        simulated=speed,
    )
    return Made(asked, said, block)
