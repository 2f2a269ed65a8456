"""Draws mutants of a design, makes the Verilog that holds them all, and proves whether one differs from the design.

A mutant is the design with one fault: one bit at one port of one cell of the netlist is inverted, stuck, or inverted
while another bit of the port is 0 or 1. Yosys draws them, evenly over the lines of the Verilog, its cells and wires.

For the proof mutant and design run side by side with the same inputs, which may be anything that keeps the rules of
streams. ABC merges the registers and gates that it can prove to be the same in both, and tries to prove the rest by
property-directed reachability. Registers without an initial value start at 0 in both.

Memories stay outside: each read word is an input of both, which may be anything, and what goes into a memory is
compared. So the proof of an engine is of its logic alone and takes minutes. A difference that it finds may be one that
no memory ever shows, and says nothing then.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from cdma.base.errors import ParameterError, ToolError
from cdma.base.yosys import WRITE_AIGER, decide_miter, find_yosys, scratch
from cdma.hdl.spec.codec import BLOCKS
from cdma.verif.proofs.printed import short_ports_proof
from cdma.verif.proofs.proof import FAILED
from cdma.verif.proofs.runner import run_proof
from cdma.verif.simulator.monitors.rules import channel_valid, observed
from cdma.verif.simulator.simulate import Design, Port


def broken_rules(design: Design, mutant: Mutant, seconds: int = 60) -> str:
    """The assertions that some input breaks; none if the rules hold, time runs out, or the design has no such proof."""
    if design.block not in BLOCKS:
        return ""
    text = _alone(design, mutant)
    proof = short_ports_proof(design.block, design.config, "a mutant", verilog=lambda: text)
    result = run_proof(proof, timeout=seconds, use_cache=False)
    return result.detail if result.status == FAILED else ""


def _alone(design: Design, mutant: Mutant) -> str:
    script = f"{mutant.command}\nopt_clean\nwrite_verilog -noattr mutated.v\n"
    return read_netlist(design.verilog(), design.top, script, "mutated.v")


_MODULE = re.compile(r"^module (\w+_r[ao]m_\w+)", re.MULTILINE)
_LISTED = re.compile(
    r"^(input|output) \[(\d+):0\] (\S+)\.((?:read|write)\d*_(?:enable|address|data))$", re.MULTILINE
)


class Socket:
    """The place of a memory: the ports of its module, each now a port of the netlist.

    ``path``: Where in the design the memory was.
    ``ports``: By the names in the memory's module, with the directions of the netlist.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.ports: dict[str, Port] = {}

    @property
    def inputs(self) -> list[Port]:
        """The outputs of the memory."""
        return [port for port in self.ports.values() if port.direction == "input"]

    @property
    def outputs(self) -> list[Port]:
        """The inputs of the memory."""
        return [port for port in self.ports.values() if port.direction == "output"]

    def pin(self, port: Port) -> str:
        """The port's name in the netlist, in Verilog; ``port.name`` is one that other names can be made of."""
        name = next(name for name, each in self.ports.items() if each is port)
        return f"\\{self.path}.{name} "

    def differences(self, one: str, other: str) -> Iterator[str]:
        """Verilog expressions that are true while two netlists with these prefixes use the memory differently. Addresses
        and data count while they are enabled."""
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
    return _MODULE.findall(text)


def flatten(modules: Sequence[str]) -> str:
    """Yosys commands that flatten a design, and take the memories that are these modules out of it."""
    if not modules:
        return "flatten\n"
    kinds = " ".join(f"t:{module}" for module in modules)
    return f"blackbox {' '.join(modules)}\nflatten\nexpose -evert {kinds}\n"


def sockets(text: str, top: str, modules: Sequence[str]) -> list[Socket]:
    if not modules:
        return []
    log = read_netlist(text, top, f"{flatten(modules)}portlist {top}\n")
    found: dict[str, Socket] = {}
    for direction, high, path, name in _LISTED.findall(log):
        socket = found.setdefault(path, Socket(path))
        pin = f"socket_{len(found)}_{name}"
        socket.ports[name] = Port(pin, "input" if direction == "input" else "output", int(high) + 1)
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

    ``block``, ``module``: The path of its module, the design first (``compressor.core.packer``), and the module's name.
    ``command``: The command that makes it in Yosys.
    ``place``: The lines of the Verilog that the cell comes from.
    ``what``: The fault in words.
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
        log = find_yosys().run(READ.format(top=top) + script, folder)
        return log if made is None else (folder / made).read_text()


@cache
def blocks_of(design: Design) -> dict[str, str]:
    """The path of every module of a design (the first instance's), and the module's name."""
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


_COPY = """\
design -load start
{mutate}
{flatten}rename {top} {name}
design -stash {name}
"""
_MITER = """\
design -copy-from original original
design -copy-from mutant mutant
read_verilog miter.v
hierarchy -top miter
proc
flatten
memory_map
setundef -init -zero
"""


def is_equivalent(design: Design, mutant: Mutant, seconds: int = 60) -> bool | None:
    """True if no input shows a difference, False if some input does, None if time runs out."""
    text = design.verilog()
    # The memory that has the fault is looked into.
    modules = [module for module in memory_modules(text) if module != mutant.module]
    memories = sockets(text, design.top, modules)
    script = [
        READ.format(top=design.top),
        "design -save start",
        _COPY.format(mutate="", flatten=flatten(modules), top=design.top, name="original"),
        _COPY.format(mutate=mutant.command, flatten=flatten(modules), top=design.top, name="mutant"),
        _MITER,
        WRITE_AIGER,
    ]
    with scratch() as folder:
        (folder / "design.v").write_text(text)
        (folder / "miter.v").write_text(_miter(design, memories))
        try:
            find_yosys().run("\n".join(script), folder)
        except ToolError:
            # It declines a register that is stuck at another value than its initial one.
            return None
        merge = "&get; &scorr; &put" if memories else "scorr"
        try:
            same = decide_miter(folder, merge, seconds, 4 * seconds + 60)
        except ToolError:
            return None
    return None if memories and not same else same


def _miter(design: Design, memories: Sequence[Socket]) -> str:
    """A module with the design and a mutant of it, whose output is 1 while someone may see a difference.

    Nothing counts after a payload or a valid of an input has changed while it waited for ready, as no stream may.
    """
    inputs = [port for port in design.ports if port.direction == "input"]
    outputs = [port for port in design.ports if port.direction == "output"]
    read = [port for socket in memories for port in socket.inputs]
    given_to = [port for socket in memories for port in socket.outputs]
    lines = ["module miter (", *(f"  input wire {port.range}{port.name}," for port in [*inputs, *read])]
    lines += ["  output wire differs", ");"]
    for name in ("original", "mutant"):
        lines += [f"  wire {port.range}{name}_{port.name};" for port in [*outputs, *given_to]]
        pins = [f"    .{port.name}({port.name})" for port in inputs]
        pins += [f"    .{port.name}({name}_{port.name})" for port in outputs]
        for socket in memories:
            pins += [f"    .{socket.pin(port)}({port.name})" for port in socket.inputs]
            pins += [f"    .{socket.pin(port)}({name}_{port.name})" for port in socket.outputs]
        lines += [f"  {name} {name}_0 (", ",\n".join(pins), "  );"]
    differences = [each for socket in memories for each in socket.differences("original_", "mutant_")]
    for output in observed(design.ports):
        difference = f"({output.value('original_')} != {output.value('mutant_')})"
        # The valid itself is compared, so that of one of the two is enough.
        differences.append(
            difference if output.valid is None else f"(original_{output.valid.name} && {difference})"
        )
    broken = []
    for port in inputs:
        valid = port if port.name.endswith("valid") else channel_valid(port, design.ports)
        if valid is not None:
            lines += [
                f"  reg {port.range}was_{port.name} = 0;",
                f"  always @(posedge aclk) was_{port.name} <= {port.name};",
            ]
            broken.append(f"(waits_{valid.name} && {port.name} != was_{port.name})")
        if valid is port:
            ready = f"original_{port.name.removesuffix('valid')}ready"
            lines += [
                f"  reg waits_{port.name} = 0;",
                f"  always @(posedge aclk) waits_{port.name} <= aresetn && {port.name} && !{ready};",
            ]
    lines += [
        "  reg was_broken = 0;",
        f"  wire broken = was_broken || (aresetn && ({' || '.join(broken)}));",
        "  always @(posedge aclk) was_broken <= broken;",
        "  assign differs = !broken && (",
        " ||\n".join(f"    {difference}" for difference in differences) + ");",
        "endmodule",
        "",
    ]
    return "\n".join(lines)
