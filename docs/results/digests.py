"""A digest of sources in Python and C: of what they do, and of no comment, docstring, import, blank line or line break.

A digest of a circuit: of its operators, registers and memories and how they are connected, and of no name.

A renamed signal or port, a block that moves into another module, and logic that nothing reads leave it as it is. Each cell
has a label of its kind and parameters. In each round, a label takes in those of the cells that it is connected to. After
some rounds the labels together are the digest. Of equal combinational cells one counts; of registers and memories all do.

What each record is about, as digests: the circuits that its command measures, the sources of its kernels or codecs, and
the recipe, which is the command with the scripts that measure.

A record is stale if one of them is another today, or if it has none.
"""

from __future__ import annotations

import ast
import gc
import hashlib
import re
import shlex
from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from amaranth.hdl import Fragment
from amaranth.hdl._ir import PortDirection, build_netlist
from amaranth.hdl._nir import Netlist

from cdma.app import parser
from cdma.base.cache import Cache, content_key
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.options import MEMORY_CODES
from cdma.hdl.verilog.shell import generator_key
from cdma.options import codec_config_from, config_from, engine_config_from
from cdma.synth.asic.recipe import Options
from cdma.synth.asic.sweep.sweep import parse_axis, points
from cdma.verif.engine.measure import UNITS
from cdma.verif.proofs.proof import shell_of

from .records import ROOT, Record

_C = (".c", ".h", ".cpp")
#: A string or a character, a comment, a number or a name, or another character.
_TOKENS = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|//[^\n]*|/\*.*?\*/|\w+|\n|[^\w\s]', re.DOTALL)


def digest_of_sources(paths: Iterable[Path]) -> str:
    """The digest of files together, in whatever order they are named; where they stand changes nothing."""
    texts = sorted(normalised(path.suffix, path.read_text(encoding="utf-8")) for path in {*paths})
    digest = hashlib.sha256()
    for text in texts:
        digest.update(b"%d:" % len(text.encode()) + text.encode())
    return digest.hexdigest()[:16]


def normalised(suffix: str, text: str) -> str:
    """A text without what does nothing, if it is Python or C; any other as it is."""
    if suffix == ".py":
        return _python(text)
    return _c(text) if suffix in _C else text


def _python(text: str) -> str:
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            node.body = [each for each in node.body if not _does_nothing(each)]
    return ast.dump(tree)


def _does_nothing(statement: ast.stmt) -> bool:
    """Whether it is a docstring, or an import, which changes when something moves; what is imported is used elsewhere."""
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return True
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _c(text: str) -> str:
    """The tokens; a line of the preprocessor ends where its line does."""
    words, directive = [], False
    for token in _TOKENS.findall(text.replace("\\\n", " ")):
        if token == "\n":
            words += ["\n"] * directive
            directive = False
        elif not token.startswith(("//", "/*")):
            directive = directive or token == "#"
            words.append(token)
    return " ".join(words)


_ROUNDS = 6
#: What Amaranth writes of a netlist: its cells, runs of the bits of a cell, and what is a name.
_CELL = re.compile(r"^\(cell (\d+) \d+ (.*)\)$", re.MULTILINE)
_BITS = re.compile(r"\b(\d+)\.(\d+)(?::(\d+))?\b")
_NAME = re.compile(r" \(attr .*?\)|(?<=^\(memory) '.*?'")
_STATE = ("(flipflop", "(memory", "(read_port", "(write_port", "(output", "(input")


def digest_of_shell(shell: Any) -> str:
    """The digest of what a shell of the generator is elaborated to."""
    directions = {"input": PortDirection.Input, "output": PortDirection.Output}
    ports = [(port.name, shell.port(port.name), directions[port.direction]) for port in shell.ports()]
    return digest_of_netlist(build_netlist(Fragment.get(shell, None), ports))


def digest_of_netlist(netlist: Netlist) -> str:
    """The digest of the cells that outputs of a netlist depend on."""
    nodes = _nodes(netlist)
    labels = dict.fromkeys(nodes, b"")
    for _ in range(_ROUNDS + 1):
        labels = {
            key: _label(text, *(labels[each] for each in reads)) for key, (text, reads) in nodes.items()
        }
    states = sorted(labels[key] for key, (text, _) in nodes.items() if text.startswith(_STATE))
    others = sorted({labels[key] for key, (text, _) in nodes.items() if not text.startswith(_STATE)})
    return _label("state", *states, b"others", *others).hex()[:16]


def _label(text: str, *labels: bytes) -> bytes:
    return hashlib.blake2b(text.encode() + b"\0" + b"".join(labels), digest_size=12).digest()


def _nodes(netlist: Netlist) -> dict[str, tuple[str, list[str]]]:
    """The cells and ports that outputs depend on, by keys that stand in no label: their texts, without names and with places
    for the cells that they read, and the keys of these."""
    cells = dict(_CELL.findall(str(netlist)))
    writes = [(text.split()[1], number) for number, text in cells.items() if text.startswith("(write_port")]
    for number, text in cells.items():
        if "_port " in text[:12]:
            # The number of the memory, and of the ports whose writes a read sees at once, name cells too.
            text = re.sub(r"(?<=_port )\d+|(?<=[( ])\d+(?=[\d ]*\)\)$)", r"\g<0>.0", text)
        ports = [f" {port}.0" for memory, port in writes if memory == number]
        cells[number] = _NAME.sub("", text) + "".join(ports)
    inputs: dict[int, tuple[str, int]] = {}
    for name, (start, width) in netlist.top.ports_i.items():
        cells[f"input {name}"] = f"(input {width})"
        inputs |= {start + bit: (f"input {name}", bit) for bit in range(width)}

    def node(text: str) -> tuple[str, list[str]]:
        reads: list[str] = []

        def place(bits: re.Match[str]) -> str:
            run = range(int(bits[2]), int(bits[3] or int(bits[2]) + 1))
            sources = [inputs[bit] for bit in run] if bits[1] == "0" else [(bits[1], run.start)]
            reads.extend(key for key, _ in sources)
            return f"{[bit for _, bit in sources]}+{len(run)}"

        return _BITS.sub(place, text), reads

    found = {f"output {name}": node(f"(output {value})") for name, value in netlist.top.ports_o.items()}
    waiting = [key for _, reads in found.values() for key in reads]
    while waiting:
        key = waiting.pop()
        if key not in found:
            found[key] = node(cells[key])
            waiting += found[key][1]
    return found


_CODECS = ("compressor", "decompressor")
_Block = tuple[str, Any]
_ASIC = (
    *(f"synth/asic/{name}.py" for name in ("measure", "recipe", "scaling", "timing")),
    "synth/asic/library/*.py",
)
_ENGINE = ("verif/engine/*.py", "verif/engine/*.h", "verif/engine/*.cpp")
_SOFTWARE = ("sim/codec/*.py", "sim/codec/*.c", "sim/codec/*.h")
_TORCH = ("extras/pytorch/torch/**/*.py", "sim/codec/quantise.py", "sim/codec/number_types.py")
#: By how commands begin, the first that fits: the files of the recipe, and those of what is measured if it is no circuit.
_FILES: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    r"cdma area": (_ASIC, ()),
    r"cdma fpga": (("synth/fpga/*.py",), ()),
    r"cdma power": (("synth/asic/power/*.py", *_ASIC), ()),
    r"cdma study bench queue": (("extras/study/compare/queue_rates.py", *_ASIC), ()),
    r"cdma bench codec": (("verif/stream/*.py", "verif/stream/codec/*.py"), ()),
    r"cdma bench (engine|units)": (_ENGINE, ()),
    r"cdma verify": ((*_ENGINE, "verif/engine/tests/**/*.py"), ()),
    r"cdma faults": (("verif/campaigns/faults/*.py", "verif/campaigns/faults/*.cpp"), ()),
    r"cdma mutate": (
        (*_ENGINE, *(f"verif/{tests}/**/*.py" for tests in ("campaigns/mutation", "engine/tests", "stream"))),
        (),
    ),
    r"cdma bench software": (("sim/codec/software_bench.py",), _SOFTWARE),
    r"cdma study bench lossy": (("extras/study/training/lossy.py", "extras/study/training/train.py"), _TORCH),
    r"cdma bench saved": (
        ("extras/pytorch/torch/bench/saved_bench.py",),
        ("extras/pytorch/gpu/*.py", *_TORCH),
    ),
    r"python -m docs\.results\.files": (("docs/results/files.py",), _SOFTWARE),
    r"python -m docs\.results\.memory_checks": (("docs/results/memory_checks.py", *_ASIC), ()),
    r"python -m docs\.results\.dram_peer": (("docs/results/*peer.py", "verif/engine/dram.py"), ()),
    r"python -m docs\.results\.peer": (("docs/results/peer*.py", "synth/fpga/*.py", *_ASIC), ()),
    r"python -m tests\.designer_time": (("tests/designer_time.py",), ()),
}


def needs_card(record: Record) -> bool:
    """Whether its command measures on a GPU."""
    return re.match(r"cdma bench (saved|gpu|batch|kernels|stream|swap)\b", record.command) is not None


def changed(record: Record) -> list[str]:
    """What is of another digest today than when it was measured; something, if no digest is known."""
    if not record.digests:
        return ["digest"]
    return [name for name, digest in digests(record.command).items() if record.digests.get(name) != digest]


@cache
def digests(command: str) -> dict[str, str]:
    """The digests of what a command measures, by ``circuit`` or ``sources``, and of its ``recipe``."""
    none: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    fitting = (files for start, files in _FILES.items() if re.match(start, command))
    recipe, sources = next(fitting, none)
    found = {}
    if circuits := [*_circuits(command)]:
        found["circuit"] = _hash(*(_circuit(block, config) for block, config in circuits))
    elif sources:
        found["sources"] = _digest_of_files(sources)
    return found | {"recipe": _hash(command, _digest_of_files(recipe))}


@cache
def _digest_of_files(patterns: tuple[str, ...]) -> str:
    return digest_of_sources(path for pattern in patterns for path in ROOT.glob(pattern))


def _hash(*texts: str) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]


@cache
def _circuit(block: str, config: Any) -> str:
    """The digest of a circuit, kept as long as the generator is the same."""
    key = content_key("netlist digest", Path(__file__).read_bytes(), generator_key())
    return str(Cache().kept(content_key(key, block, repr(config)), lambda: _elaborated(block, config)))


def _elaborated(block: str, config: Any) -> str:
    """The digest of a circuit that is let go at once: elaborated designs are cycles, and an engine's has some 100 MB."""
    digest = digest_of_shell(shell_of(block, config))
    gc.collect()
    return digest


def _circuits(command: str) -> Iterator[_Block]:
    """The blocks that a command measures, with their parameters."""
    program, *words = shlex.split(command)
    if program != "cdma":
        if words[1] == "docs.results.memory_checks":
            yield from (("engine", EngineConfig(memories_protect=code)) for code in MEMORY_CODES[1:])
        return
    if words[:3] == ["study", "bench", "queue"]:
        for bits, queue in ((bits, queue) for bits in (8, 16, 32) for queue in (0, 1, 2)):
            for block in _CODECS:
                yield block, CodecConfig(Format(bits), 256 // bits, queue=queue)
        return
    if words[0] not in ("area", "fpga", "power", "verify", "faults", "mutate", "bench"):
        return
    asked = parser().parse_args(words)
    if words[0] == "mutate":
        for block in dict.fromkeys(name.partition(".")[0] for name in asked.block):
            yield block, config_from(Namespace(block=block, config=asked.config))
    elif words[0] == "faults" or words[:2] == ["bench", "engine"]:
        yield "engine", engine_config_from(asked)
    elif words[:2] == ["bench", "units"]:
        counts = asked.unit_counts or UNITS
        yield from (("engine", replace(engine_config_from(asked), units=units)) for units in counts)
    elif words[:2] == ["bench", "codec"]:
        yield from ((block, codec_config_from(asked)) for block in _CODECS)
    elif words[0] != "bench":
        yield from _of_sweep(asked) if getattr(asked, "sweep", None) else [(asked.block, config_from(asked))]


def _of_sweep(asked: Any) -> Iterator[_Block]:
    axes = dict(parse_axis(text) for text in asked.sweep)
    for point in points(codec_config_from(asked), Options(1.0), axes):
        if not point.reason:
            yield asked.block, point.config
