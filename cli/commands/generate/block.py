"""A block that is generated: what goes into its package, and what is said of it."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cdma._version import __version__
from cdma.base.document import Part, Table
from cdma.base.errors import install_command
from cdma.files import FileError
from cdma.hdl.deliver.block import (
    SYSTEM_VERILOG,
    Block,
    Config,
    block_design,
    block_ports,
    check_name_in,
    ending,
)
from cdma.hdl.deliver.datasheet import memory_row, memory_table
from cdma.hdl.deliver.flows import bender_manifest, listed_files
from cdma.hdl.deliver.registers import register_texts, uvm_file, uvm_model
from cdma.hdl.deliver.wrappers import sv_package, sv_package_file
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.registers.map import register_map
from cdma.hdl.spec.settings import settings_of
from cdma.hdl.spec.stage import STAGES, StageConfig
from cdma.sim.engine.driver.driver import c_driver
from cdma.synth.asic.recipe import synthesis_files

from .golden import golden_vectors


@dataclass(frozen=True)
class Characteristics:
    """A block in words and numbers.

    ``title``: What it is, in a few words.
    ``bytes_per_cycle``: Its rate of raw data.
    ``parameters``: Its parameters, for a script.
    ``facts``: Throughput, latency and the like.
    """

    title: str
    bytes_per_cycle: float
    parameters: Mapping[str, Any]
    facts: Mapping[str, str]


def characteristics(block: str, config: Config) -> Characteristics:
    """Those of the ``block`` of ``config``."""
    if isinstance(config, EngineConfig):
        return _engine(config)
    if isinstance(config, StageConfig):
        return _stage(block, config)
    return _codec(block, config)


def _codec(block: str, config: CodecConfig) -> Characteristics:
    """A compressor or a decompressor."""
    bytes_per_cycle = config.data_bits / 8
    facts = {"raw data": f"{bytes_per_cycle:g} bytes per cycle", **_timing(block, config)}
    return Characteristics(f"streaming {block}", bytes_per_cycle, _codec_parameters(config), facts)


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
    form, quantises = config.form, block == STAGES[0]
    facts = {
        "rate": f"{config.number_bytes} bytes of numbers per cycle",
        "latency": "2 cycles" if quantises else "1 cycle",
        "packets": "one cycle more for each" if quantises else "back to back",
        "error": "at most half a step, or reported" if quantises else "none",
        "range": f"{-form.limit} to {form.limit}, in steps of 2^{form.least_exponent} to 2^{form.greatest_exponent}",
    }
    return Characteristics(f"error-bounded {block}", config.number_bytes, config.settings(), facts)


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
    title = "compressing DMA engine with AXI4 ports"
    return Characteristics(title, bytes_per_cycle, _engine_parameters(config), facts)


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


def software_files(config: EngineConfig, name: str) -> dict[str, str]:
    """The files of an engine with registers, by name."""
    texts = {**register_texts(config, name), f"{name}.h": c_driver(name)}
    model = uvm_model(texts[f"{name}_regs.rdl"], name)
    return texts if model is None else {**texts, uvm_file(name): model}


_NAME = "Bender.yml"


def manifest(directory: Path, sources: list[str]) -> dict[str, str]:
    """The ``Bender.yml`` of a folder that gets the files ``sources``, by its name; nothing where the user has one."""
    path = directory / _NAME
    try:
        listed = listed_files(path.read_text(encoding="utf-8")) if path.exists() else []
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"cannot read {path}: {error}") from None
    if listed is None:
        return {}
    there = [file for file in listed if (directory / file).exists()]
    return {_NAME: bender_manifest(directory.resolve().name, [*there, *sources])}


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
    )
    return Made(asked, said, block)


#: Modules with more ports than this are described by their interfaces, and the datasheet has the ports.
_MANY_PORTS = 40


def summary_of(made: Made, paths: Sequence[Path]) -> dict[str, Any]:
    """What was made and written, for a script."""
    block, asked, said = made.block, made.arguments, made.characteristics
    return {
        "file": str(paths[0]),
        "files": [str(path) for path in paths],
        "module": block.name,
        "block": asked.block,
        **said.parameters,
        "bytes_per_cycle": said.bytes_per_cycle,
        "initial_values": asked.init,
        "ports": {port.name: port.width for port in block.ports},
        "memory_bits": sum(memory.bits for memory in block.design.memories),
        "memories": [memory_row(memory) for memory in block.design.memories],
    }


def report(made: Made, summary: dict[str, Any]) -> Iterator[Part | str]:
    """The same, to read."""
    block = made.block
    lines, ports = block.design.text.count("\n"), summary["ports"]
    yield f"{summary['file']}: module {block.name}, {lines:,} lines of Verilog, {len(ports)} ports"
    rows = {name: str(value) for name, value in {**block.parameters, **block.facts}.items()}
    if len(ports) <= _MANY_PORTS:
        named = (name if width == 1 else f"{name}[{width}]" for name, width in ports.items())
        rows["ports"] = ", ".join(named)
    rows["beside it"] = ", ".join(Path(file).name for file in summary["files"][1:])
    rows["not written"] = missing_file(block)
    yield Table(("", ""), [row for row in rows.items() if row[1]])
    if memories := block.design.memories:
        yield f"{len(memories)} memories, {sum(memory.bits for memory in memories):,} bits:"
        yield memory_table(memories)


def missing_file(block: Block) -> str:
    """What is not written because something is not installed; empty if nothing is."""
    model = uvm_file(block.name)
    if block.registers is None or model in block.texts:
        return ""
    return f"{model}, the register model for UVM, which PeakRDL makes: {install_command('verif')}"
