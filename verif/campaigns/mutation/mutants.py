"""Whether a mutant of a codec keeps the rules of streams at its ports, as a proof on its Verilog says. A netlist without
its memories: what each would read becomes inputs of the module, and what goes into it outputs.

Draws mutants of a design, and makes the Verilog that holds all of them, of which a run chooses one.

A mutant is the design with one fault: one bit at one port of one cell of the netlist is inverted, stuck, or inverted while
another bit of the port is 0 or 1. Yosys draws them, evenly over the lines of the Verilog, its cells and wires.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from cdma.base.errors import ParameterError
from cdma.base.yosys import find_yosys, scratch
from cdma.hdl.spec.codec import BLOCKS
from cdma.hdl.verilog.shell import Direction, Port
from cdma.verif.proofs.ports import short_ports_proof
from cdma.verif.proofs.result import FAILED
from cdma.verif.proofs.runner import run_proof
from cdma.verif.simulator.simulate import Design

__all__ = [
    "READ",
    "Mutant",
    "Socket",
    "blocks_of",
    "broken_rules",
    "draw",
    "flatten",
    "memory_modules",
    "mutated_verilog",
    "read_netlist",
    "sockets",
]


def broken_rules(design: Design, mutant: Mutant, seconds: int = 60) -> str:
    """The assertions that some input breaks; none if the rules hold, or that does not come out in the time, or for a design
    without such a proof."""
    if design.block not in BLOCKS:
        return ""
    text = _alone(design, mutant)
    proof = short_ports_proof(design.block, design.config, "a mutant", verilog=lambda: text)
    result = run_proof(proof, timeout=seconds, use_cache=False)
    return result.detail if result.status == FAILED else ""


def _alone(design: Design, mutant: Mutant) -> str:
    """The Verilog of the design with this fault."""
    script = f"{mutant.command}\nopt_clean\nwrite_verilog -noattr mutated.v\n"
    return read_netlist(design.verilog(), design.top, script, "mutated.v")


_MODULE = re.compile(r"^module (\w+_r[ao]m_\w+)", re.MULTILINE)
_LISTED = re.compile(
    r"^(input|output) \[(\d+):0\] (\S+)\.((?:read|write)\d*_(?:enable|address|data))$", re.MULTILINE
)


class Socket:
    """The place of a memory: the ports of its module, of which each is a port of the netlist now.

    ``path``
        Where in the design the memory was.
    ``ports``
        By the names that they have in the memory's module. Directions are those of the netlist.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.ports: dict[str, Port] = {}

    @property
    def inputs(self) -> list[Port]:
        """What the memory would give."""
        return [port for port in self.ports.values() if port.direction == "input"]

    @property
    def outputs(self) -> list[Port]:
        """What it would be given."""
        return [port for port in self.ports.values() if port.direction == "output"]

    def pin(self, port: Port) -> str:
        """The port's name in the netlist, in Verilog. ``port.name`` itself is one that other names can be made of."""
        name = next(name for name, each in self.ports.items() if each is port)
        return f"\\{self.path}.{name} "

    def differences(self, one: str, other: str) -> Iterator[str]:
        """Verilog expressions that are true while two netlists, whose outputs have these prefixes, do not do the same with
        the memory. Addresses and data count while they are enabled."""
        for name, port in self.ports.items():
            if port.direction == "input":
                continue
            start, _, kind = name.rpartition("_")
            enable = self.ports.get(f"{start}_enable")
            if kind == "enable" or enable is None:
                yield f"({one}{port.name} != {other}{port.name})"
            elif kind == "address":
                yield f"(|{one}{enable.name} && {one}{port.name} != {other}{port.name})"
            else:
                lanes, bits = enable.width, port.width // enable.width
                for lane in range(lanes):
                    enabled = f"{one}{enable.name}" + (f"[{lane}]" if lanes > 1 else "")
                    part = f"[{lane * bits} +: {bits}]" if port.width > 1 else ""
                    yield f"({enabled} && {one}{port.name}{part} != {other}{port.name}{part})"


def memory_modules(text: str) -> list[str]:
    """The modules in the text of a design that are memories."""
    return _MODULE.findall(text)


def flatten(modules: Sequence[str]) -> str:
    """Yosys commands that flatten a design, and take the memories that are these modules out of it."""
    if not modules:
        return "flatten\n"
    kinds = " ".join(f"t:{module}" for module in modules)
    return f"blackbox {' '.join(modules)}\nflatten\nexpose -evert {kinds}\n"


def sockets(text: str, top: str, modules: Sequence[str]) -> list[Socket]:
    """Where the memories were that these modules are."""
    if not modules:
        return []
    log = read_netlist(text, top, f"{flatten(modules)}portlist {top}\n")
    found: dict[str, Socket] = {}
    for direction, high, path, name in _LISTED.findall(log):
        socket = found.setdefault(path, Socket(path))
        # It says nothing else.
        kind: Direction = "input" if direction == "input" else "output"
        socket.ports[name] = Port(f"socket_{len(found)}_{name}", kind, int(high) + 1)
    return list(found.values())


#: Reads ``design.v`` as the netlist that is mutated.
READ = "read_verilog design.v\nhierarchy -top {top}\nproc\nmemory -nomap\nopt_clean\n"

#: The options of a mutation that say what it is. Those of its wire and its place in the text are for people.
_TOLD = re.compile(r" -(?:wire|wirebit|src) \S+")
#: A fault in the clock or the reset's net is one of the flow that makes them and not of the design.
_CLOCKS = re.compile(r" -port (?:\w*CLK|aclk|clk) ")
_KINDS = {
    "inv": "inverted",
    "const0": "stuck at 0",
    "const1": "stuck at 1",
    "cnot0": "inverted while bit {ctrlbit} is 0",
    "cnot1": "inverted while bit {ctrlbit} is 1",
}
#: The width of the number that chooses a mutant.
_SELECT_BITS = 16


@dataclass(frozen=True)
class Mutant:
    """One fault.

    ``block``
        The path of the module that it is in, the design first: ``compressor.core.packer``.
    ``module``
        The name of this module.
    ``command``
        What makes it in Yosys.
    ``place``
        The lines of the Verilog that the cell comes from.
    ``what``
        The fault in words.
    """

    block: str
    module: str
    command: str
    place: str
    what: str


def read_netlist(text: str, top: str, script: str, made: str | None = None) -> str:
    """What Yosys says when it reads a design as a netlist and runs a script on it, or the file that the script has made."""
    with scratch() as folder:
        (folder / "design.v").write_text(text)
        said = find_yosys().run(READ.format(top=top) + script, folder)
        return said if made is None else (folder / made).read_text()


@cache
def blocks_of(design: Design) -> dict[str, str]:
    """The path of every module of a design, and the module's name. Of several instances the first one counts."""
    written = read_netlist(design.verilog(), design.top, "write_json design.json\n", "design.json")
    modules = json.loads(written)["modules"]
    blocks: dict[str, str] = {}

    def walk(path: str, module: str) -> None:
        if module in blocks.values():
            return
        blocks[path] = module
        for name, cell in modules[module]["cells"].items():
            if cell["type"] in modules:
                walk(f"{path}.{name}", cell["type"])

    walk(design.block, design.top)
    return blocks


def draw(design: Design, block: str, count: int, seed: int) -> list[Mutant]:
    """At most ``count`` different mutants of a block of the design and of what is in it, the same for each ``seed``."""
    if not 1 <= count < 1 << _SELECT_BITS:
        raise ParameterError(f"count is {count}; it must be 1 to {(1 << _SELECT_BITS) - 1} mutants")
    blocks = blocks_of(design)
    chosen = {
        module: path for path, module in blocks.items() if path == block or path.startswith(f"{block}.")
    }
    if not chosen:
        raise ParameterError(f"block is {block!r}; the blocks of the design are {', '.join(blocks)}")
    # Some are left out below.
    wanted = f"mutate -list {2 * count + 20} -seed {seed} -o mutants {' '.join(chosen)}\n"
    mutants: dict[str, Mutant] = {}
    for line in read_netlist(design.verilog(), design.top, wanted, "mutants").splitlines():
        command = _TOLD.sub("", line)
        if "-module" in line and not _CLOCKS.search(line):
            mutants.setdefault(command, _mutant(line, command, chosen))
    return list(mutants.values())[:count]


def _mutant(line: str, command: str, blocks: dict[str, str]) -> Mutant:
    options = dict(re.findall(r" -(\w+) (\S+)", line))
    fault = _KINDS[options["mode"]].format(**options)
    cell = options["cell"].split("$")[1] if options["cell"].startswith("$") else options["cell"]
    about = f", {options['wire']}[{options['wirebit']}]" if "wire" in options else ""
    return Mutant(
        block=blocks[options["module"]],
        module=options["module"],
        command=command,
        place=" ".join(re.findall(r" -src design\.v:(\S+)", line)),
        what=f"bit {options['portbit']} of {options['port']} of {cell}{about}: {fault}",
    )


def mutated_verilog(design: Design, mutants: Sequence[Mutant]) -> str:
    """The design with all ``mutants``; ``+mutant=N`` chooses the N-th, counted from 1, and without it there is none."""
    if len(mutants) >= 1 << _SELECT_BITS:
        raise ParameterError(
            f"blocks have {len(mutants)} mutants; a simulation has at most {(1 << _SELECT_BITS) - 1}"
        )
    inner = f"{design.top}_mutants"
    script = [
        f"{mutant.command} -ctrl mutant {_SELECT_BITS} {number}"
        for number, mutant in enumerate(mutants, start=1)
    ]
    script += ["opt_clean", f"rename {design.top} {inner}", "write_verilog -noattr mutated.v", ""]
    text = read_netlist(design.verilog(), design.top, "\n".join(script), "mutated.v")
    return "\n".join(
        [
            text,
            f"module {design.top} (",
            ",\n".join(f"  {port.direction} wire {port.range}{port.name}" for port in design.ports),
            ");",
            f"  reg [{_SELECT_BITS - 1}:0] mutant;",
            '  initial if (!$value$plusargs("mutant=%d", mutant)) mutant = 0;',
            f"  {inner} inner (",
            ",\n".join(f"    .{name}({name})" for name in (*design.port_names, "mutant")),
            "  );",
            "endmodule",
            "",
        ]
    )
