"""Small circuits, and a library of a few gates to measure them with. A design with faults at its ports: the design
itself inside a module of the same name and ports. Blocks that tests generate: from arguments without the command
line, and each text once for all processes. Block RAM that gives nothing usable for a word that is written in the same
cycle, as an FPGA's does. The Verilog that other tools read, and the documents of memories are about; each text is
made once for all processes.
"""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from cdma.base.cache import content_key, kept_folder
from cdma.commands.generate import block as made
from cdma.hdl.deliver.block import SYSTEM_VERILOG, VERILOG, Config, block_design
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.stage import Quantisation, StageConfig
from cdma.hdl.verilog.emit import Verilog
from cdma.hdl.verilog.shell import Port, generator_key
from cdma.synth.asic.library.liberty import load_libraries
from cdma.synth.asic.library.library import Library
from cdma.synth.asic.paths import Circuit

from .paths import TINY

#: The ports of a circuit with 8 bits in and 8 out.
PORTS = "input clk, input e, input r, input [7:0] d, output reg [7:0] q"


@cache
def tiny_library() -> Library:
    """The library of ``tiny.lib``."""
    return load_libraries([TINY])


#: How a library says which model its wires have: always this one, or this one for circuits of such areas.
WIRES = {
    "default": b'default_wire_load : "tiny_wires";',
    "by area": b'wire_load_selection (areas) { wire_load_from_area (0, 1000, "tiny_wires"); } '
    b'default_wire_load_selection : "areas";',
}


@cache
def wired_library(how: str = "default") -> Library:
    """The library of ``tiny.lib`` with wires: 2 fF for a first load, 4 more for a second one, 2 for each further one."""
    tiny = tiny_library()
    return replace(tiny, texts=(tiny.texts[0].replace(b"  cell (INV)", WIRES[how] + b"  cell (INV)", 1),))


def circuit(body: str, ports: str = PORTS) -> Circuit:
    """A circuit of one module ``top`` with that body."""
    return Circuit("test", {}, "top", f"module top({ports});\n{body}\nendmodule\n")


def wrapped(
    text: str, top: str, ports: Sequence[Port], expressions: Mapping[str, str], state: str = ""
) -> str:
    """The module ``top`` of ``text`` with other ``expressions`` for some of its ports, by their names.

    In these and in the declarations ``state``, ``x_port`` is the port of the design itself.
    """
    assert set(expressions) <= {port.name for port in ports}, expressions
    lines = [f"module {top} ("]
    lines.append(",\n".join(f"  {port.direction} wire {port.range}{port.name}" for port in ports))
    lines.append(");")
    lines += [f"  wire {port.range}x_{port.name};" for port in ports]
    lines.append(state)
    for port in ports:
        outer, inner = port.name, f"x_{port.name}"
        target, source = (outer, inner) if port.direction == "output" else (inner, outer)
        lines.append(f"  assign {target} = {expressions.get(outer, source)};")
    lines.append("  inner sound (" + ", ".join(f".{port.name}(x_{port.name})" for port in ports) + ");")
    lines.append("endmodule")
    renamed = re.sub(rf"^module {top} \(", "module inner (", text, flags=re.MULTILINE)
    return renamed + "\n" + "\n".join(lines) + "\n"


def faulty(
    text: str, top: str, ports: Sequence[Port], faults: Mapping[str, Mapping[str, str]], state: str = ""
) -> str:
    """The module ``top`` of ``text`` with all ``faults``, one of which is chosen when the simulation starts, so that
    one build serves them all.

    Each fault has expressions as :func:`wrapped` takes them. ``+fault=N`` chooses the N-th, from 1; 0 is none.
    """
    expressions: dict[str, str] = {}
    for port in ports:
        choice = f"x_{port.name}" if port.direction == "output" else port.name
        for number, changes in enumerate(faults.values(), 1):
            if port.name in changes:
                choice = f"fault == {number} ? ({changes[port.name]}) : {choice}"
        expressions[port.name] = choice
    assert {name for changes in faults.values() for name in changes} <= set(expressions)
    chosen = '  reg [31:0] fault;\n  initial if (!$value$plusargs("fault=%d", fault)) fault = 0;\n'
    return wrapped(text, top, ports, expressions, chosen + state)


@pytest.fixture(scope="module")
def generated_once() -> Iterator[None]:
    """Commands have the Verilog from earlier ones, where that is not what a test is about."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(made, "block_design", kept_design)
        yield


def asked_for(block: str, **options: object) -> Namespace:
    """The arguments of a block with the name ``mine``, with these options and else the usual ones."""
    usual = {
        "name": "mine",
        "prefix": None,
        "init": True,
        "memories": "wrap",
        "language": VERILOG,
        "period": None,
    }
    return Namespace(block=block, **{**usual, **options})


_MODULE = re.compile(r"module \w+_block \(.*?\nendmodule", re.DOTALL)
_READ = "read_data <= contents[read_address];"
_WIDTH = re.compile(r"reg \[(\d+):0\] contents")


def with_collisions(verilog: str) -> tuple[str, int]:
    """The text in which every module for block RAM reads X from the word that is written, and the number of modules."""

    def changed(match: re.Match[str]) -> str:
        width = _WIDTH.search(match[0])
        assert width is not None
        assert match[0].count(_READ) == 1, match[0]
        hit = "(|write_enable && write_address == read_address)"
        return match[0].replace(
            _READ, f"read_data <= {hit} ? {{{int(width[1]) + 1}{{1'bx}}}} : contents[read_address];"
        )

    return _MODULE.subn(changed, verilog)


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
        )
        (folder / "design").write_bytes(pickle.dumps(made))

    asked = (block, config, name, prefix, init, memories, style)
    key = content_key(generator_key(), repr(asked))
    kept: Verilog = pickle.loads((kept_folder("test-verilog", key, make) / "design").read_bytes())
    return kept


_SLANG = """
import sys
from pyslang.driver import Driver
driver = Driver()
driver.addStandardArgs()
read = driver.parseCommandLine(" ".join(sys.argv)) and driver.processOptions() and driver.parseAllSources()
sys.exit(not (read and driver.runFullCompilation()))
"""


def slang(*arguments: object) -> tuple[int, str]:
    """The status of slang, and what it says; the test is skipped where it is not installed."""
    pytest.importorskip("pyslang")
    command = [sys.executable, "-c", _SLANG, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stderr
