"""The Verilog that other tools read, and the documents of memories are about; each text is made once for all processes."""

from __future__ import annotations

import pickle
from functools import cache
from pathlib import Path
from typing import NamedTuple

from cdma.base.cache import content_key, kept_folder
from cdma.hdl.deliver.designs import Config, block_design
from cdma.hdl.deliver.languages import SYSTEM_VERILOG, VERILOG
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.quantisation import Quantisation
from cdma.hdl.spec.stage import StageConfig
from cdma.hdl.verilog.emit import Verilog
from cdma.hdl.verilog.generator_key import generator_key

__all__ = ["DESIGNS", "THOROUGH", "Design", "kept_circuit", "kept_design", "verilog_of"]


class Design(NamedTuple):
    """A block with what is asked of its text."""

    block: str
    config: Config
    memories: str = "wrap"
    init: bool = True
    prefix: str | None = None
    language: str = VERILOG


_CODECS = {
    "default": (CodecConfig(), True),
    "codes": (CodecConfig(Format(8, 32, 4, (0, 1, 255)), lanes=4), False),
    "tiny": (CodecConfig(Format(2, 4, 1), lanes=2), True),
    "pipelined_codes": (
        CodecConfig(Format(8, 64, 4, (0, 1)), lanes=8, runtime_values=True, pipelined=True),
        False,
    ),
    "pipelined_tiny": (CodecConfig(Format(2, 4, 1), lanes=1, pipelined=True), True),
    "narrow": (CodecConfig(lanes=1), True),
    "bytes": (CodecConfig(Format(8, 32, 1), lanes=32), False),
    "runtime": (CodecConfig(Format(16, 64, 2), lanes=16, runtime_values=True), True),
    "wide": (CodecConfig(Format(8, 64, 1), lanes=64), True),
    "pipelined": (CodecConfig(pipelined=True), True),
    "pipelined_narrow": (CodecConfig(Format(8, 32, 1), lanes=1, pipelined=True), True),
}

#: Yosys sorts modules by their names, and an engine has ports inside that nobody reads: prefixes before and after its name.
_ENGINES = {
    "default": Design("engine", EngineConfig(), prefix="a_"),
    "pipelined": Design(
        "engine",
        EngineConfig(
            Format(16, 32, 2, (0,)),
            lanes=4,
            dev_data_bits=64,
            host_data_bits=128,
            alignment="word",
            latency=16,
            descriptors=4,
            pipelined=True,
            crc=True,
            lossy="fp32",
        ),
        prefix="z_",
    ),
    "small": Design(
        "engine",
        EngineConfig(
            Format(16, 32, 2, (0,)),
            lanes=4,
            dev_data_bits=64,
            host_data_bits=64,
            descriptors=2,
            outstanding=1,
            registers=False,
        ),
        memories="infer",
        init=False,
    ),
    "streams": Design(
        "engine",
        EngineConfig(Format(8, 32, 1), lanes=32, registers=False, host_data_bits=128, outstanding=1),
        init=False,
    ),
    "pipelined_wide": Design("engine", EngineConfig(pipelined=True, alignment="word", dev_data_bits=512)),
}

DESIGNS = {
    "quantiser-default": Design("quantiser", StageConfig()),
    "dequantiser-default": Design("dequantiser", StageConfig()),
    "quantiser-small": Design("quantiser", StageConfig(Quantisation("fp16", 4, keep_nonzero=True), lanes=1)),
    **{
        f"{block}-{key}": Design(block, config, init=init)
        for block in ("compressor", "decompressor")
        for key, (config, init) in _CODECS.items()
    },
    "decompressor-infer": Design("decompressor", CodecConfig(pipelined=True), memories="infer"),
    "compressor-sv": Design("compressor", CodecConfig(), init=False, language=SYSTEM_VERILOG),
    "decompressor-sv": Design("decompressor", CodecConfig(pipelined=True), "infer", language=SYSTEM_VERILOG),
    "engine-sv": Design("engine", EngineConfig(), language=SYSTEM_VERILOG),
    "engine-sv_asic": Design(
        "engine", EngineConfig(Format(16), lanes=4), init=False, language=SYSTEM_VERILOG
    ),
    **{f"engine-{key}": design for key, design in _ENGINES.items()},
}
#: Whose constructs others have as well.
THOROUGH = {
    *(
        f"{block}-{key}"
        for block in ("compressor", "decompressor")
        for key in ("narrow", "bytes", "runtime", "wide", "pipelined", "pipelined_narrow")
    ),
    "engine-streams",
    "engine-sv_asic",
    "engine-pipelined_wide",
}


@cache
def verilog_of(name: str) -> Verilog:
    """The Verilog of one of ``DESIGNS``, whose top has its name."""
    block, config, memories, init, prefix, language = DESIGNS[name]
    return kept_design(
        block,
        config,
        name=name.replace("-", "_"),
        prefix=prefix,
        init=init,
        memories=memories,
        language=language,
    )


def kept_circuit(config: EngineConfig) -> Verilog:
    """An engine without initial values, as it is measured."""
    return kept_design("engine", config, name="cdma_engine", init=False)


def kept_design(
    block: str,
    config: Config,
    *,
    name: str,
    prefix: str | None = None,
    init: bool = True,
    memories: str = "wrap",
    language: str = VERILOG,
    source_lines: bool = False,
) -> Verilog:
    """What ``block_design`` makes, kept by what it is made from. Languages that have the text in common have it once."""
    style = SYSTEM_VERILOG if language == SYSTEM_VERILOG else VERILOG

    def make(folder: Path) -> None:
        made = block_design(
            block,
            config,
            name=name,
            prefix=prefix,
            init=init,
            memories=memories,
            language=style,
            source_lines=source_lines,
        )
        (folder / "design").write_bytes(pickle.dumps(made))

    asked = (block, config, name, prefix, init, memories, style, source_lines)
    key = content_key(generator_key(), repr(asked))
    kept: Verilog = pickle.loads((kept_folder("test-verilog", key, make) / "design").read_bytes())
    return kept
