"""IP-XACT (IEEE 1685-2014): a block as a component with bus interfaces, for tools that assemble systems."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from xml.etree import ElementTree

from cdma.hdl.spec.registers import description
from cdma.hdl.spec.registers.description import Access, Field, Register, RegisterMap
from cdma.hdl.verilog.shell import Port

from .block import SYSTEM_VERILOG, Block, kind_of
from .wrappers import AXI4, AXI_LITE, CLOCK, INTERRUPT, RESET, STREAM, Bus, buses_of

_NAMESPACE = "http://www.accellera.org/XMLSchema/IPXACT/1685-2014"
_XSI = "http://www.w3.org/2001/XMLSchema-instance"

#: Library and name of the bus definitions that Vivado knows, which other tools map to their own.
_TYPES = {
    AXI4: ("interface", "aximm"),
    AXI_LITE: ("interface", "aximm"),
    STREAM: ("interface", "axis"),
    CLOCK: ("signal", "clock"),
    RESET: ("signal", "reset"),
    INTERRUPT: ("signal", "interrupt"),
}
_SINGLE = {CLOCK: "CLK", RESET: "RST", INTERRUPT: "INTERRUPT"}
_ACCESS = {
    Access.CONSTANT: ("read-only", None),
    Access.RO: ("read-only", None),
    Access.RW: ("read-write", None),
    Access.PULSE: ("write-only", None),
    Access.W1C: ("read-write", "oneToClear"),
    Access.LOCK: ("read-write", "oneToSet"),
}

#: The contents of an element by tag, in the order of the schema: a text or a number, contents of its own, or several of
#: these for as many elements; None for no element. A tag that begins with @ is an attribute.
_Tree = Mapping[str, object]


def ipxact_component(block: Block, files: Iterable[str]) -> str:
    """The component of a block with these ``files``, of which the Verilog is the first."""
    ElementTree.register_namespace("ipxact", _NAMESPACE)
    ElementTree.register_namespace("xsi", _XSI)
    buses, _ = buses_of(block.ports)
    spaces = [
        {"name": bus.name, "range": f"'h{1 << bus.signals['awaddr'].width:x}", "width": bus.data_bits}
        for bus in buses
        if bus.kind == AXI4 and bus.drives
    ]
    maps = [] if block.registers is None else [_memory_map(block.registers)]
    kinds = {file: kind for file in files if (kind := kind_of(file).ipxact)}
    sources = {file: kind for file, kind in kinds.items() if kind_of(file).group in ("rtl", "vhdl")}
    others = {file: kind for file, kind in kinds.items() if file not in sources}
    tree = {
        f"@{{{_XSI}}}schemaLocation": f"{_NAMESPACE} {_NAMESPACE}/index.xsd",
        "vendor": "cdma",
        "library": "dma",
        "name": block.name,
        "version": block.version,
        "busInterfaces": {"busInterface": [_bus_interface(bus, buses, block) for bus in buses]},
        "addressSpaces": _several("addressSpace", spaces),
        "memoryMaps": _several("memoryMap", maps),
        "model": _model(block),
        "fileSets": {"fileSet": [_file_set("source", sources), _file_set("documents", others)]},
        "description": block.title,
    }
    top = ElementTree.Element(f"{{{_NAMESPACE}}}component")
    _fill(top, tree)
    ElementTree.indent(top)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(top, encoding="unicode") + "\n"


def _fill(element: ElementTree.Element, content: object) -> None:
    if not isinstance(content, Mapping):
        element.text = str(content)
        return
    for tag, inside in content.items():
        if tag.startswith("@"):
            element.set(tag[1:], inside)
        elif inside is not None:
            for each in inside if isinstance(inside, list) else [inside]:
                _fill(ElementTree.SubElement(element, f"{{{_NAMESPACE}}}{tag}"), each)


def _several(tag: str, trees: Sequence[_Tree]) -> _Tree | None:
    """The contents of an element around several of one tag; None if there are none."""
    return {tag: trees} if trees else None


def _file_set(name: str, kinds: Mapping[str, str]) -> _Tree:
    return {"name": name, "file": [{"name": file, "fileType": kind} for file, kind in kinds.items()]}


def _bus_interface(bus: Bus, buses: Sequence[Bus], block: Block) -> _Tree:
    library, kind = _TYPES[bus.kind]
    reference = {"@vendor": "xilinx.com", "@library": library, "@version": "1.0"}
    logical = {signal: _SINGLE.get(bus.kind, signal.upper()) for signal in bus.signals}
    maps = [
        {"logicalPort": {"name": logical[signal]}, "physicalPort": {"name": port.name}}
        for signal, port in bus.signals.items()
    ]
    role: dict[str, object] = {}
    if bus.kind == AXI4 and bus.drives:
        role["addressSpaceRef"] = {"@addressSpaceRef": bus.name}
    if bus.kind == AXI_LITE and not bus.drives and block.registers is not None:
        role["memoryMapRef"] = {"@memoryMapRef": "registers"}
    associated = ":".join(
        other.name for other in buses if other.kind in (AXI4, AXI_LITE, STREAM) and other.clock == bus.clock
    )
    values = {
        CLOCK: {"ASSOCIATED_BUSIF": associated, "ASSOCIATED_RESET": bus.clock.replace("aclk", "aresetn")},
        RESET: {"POLARITY": "ACTIVE_LOW"},
        INTERRUPT: {"SENSITIVITY": "LEVEL_HIGH"},
        AXI_LITE: {"PROTOCOL": "AXI4LITE"},
        AXI4: {"PROTOCOL": "AXI4"},
    }.get(bus.kind, {})
    parameters = [
        {"@parameterId": f"{bus.name}_{name}".lower(), "name": name, "value": value}
        for name, value in values.items()
    ]
    abstraction = {"abstractionRef": {**reference, "@name": f"{kind}_rtl"}, "portMaps": {"portMap": maps}}
    return {
        "name": bus.name,
        "busType": {**reference, "@name": kind},
        "abstractionTypes": {"abstractionType": abstraction},
        "master" if bus.drives else "slave": role,
        "parameters": _several("parameter", parameters),
    }


def _memory_map(registers: RegisterMap) -> _Tree:
    blocks = [
        _address_block(block, instance, base)
        for block in registers.blocks
        for instance, base in block.instances
    ]
    return {"name": "registers", "addressBlock": blocks, "addressUnitBits": 8}


def _address_block(block: description.Block, instance: str, base: int) -> _Tree:
    last = block.registers[-1]
    return {
        "name": instance,
        "description": block.doc,
        "baseAddress": f"'h{base:x}",
        "range": f"'h{last.offset + last.bytes:x}",
        "width": 32,
        "usage": "register",
        "register": [_register(register) for register in block.registers],
    }


def _register(register: Register) -> _Tree:
    return {
        "name": register.name,
        "description": register.doc,
        "dim": register.count or None,
        "addressOffset": f"'h{register.offset:x}",
        "size": 32,
        "field": [_field(field) for field in register.fields],
    }


def _field(field: Field) -> _Tree:
    access, modified = _ACCESS[field.access]
    choices = [{"name": name, "value": f"'h{value:x}"} for name, value in field.choices]
    return {
        "name": field.name,
        "description": field.doc,
        "bitOffset": field.lsb,
        "resets": None if field.access is Access.RO else {"reset": {"value": f"'h{field.reset:x}"}},
        "bitWidth": field.bits,
        "access": access,
        "enumeratedValues": _several("enumeratedValue", choices),
        "modifiedWriteValue": modified,
    }


def _model(block: Block) -> _Tree:
    is_sv = block.language == SYSTEM_VERILOG
    instantiation = {
        "name": "rtl",
        "language": "systemVerilog" if is_sv else "verilog",
        "moduleName": block.name,
        "fileSetRef": {"localName": "source"},
    }
    view = {"name": "rtl", "envIdentifier": ":*Synthesis:", "componentInstantiationRef": "rtl"}
    return {
        "views": {"view": view},
        "instantiations": {"componentInstantiation": instantiation},
        "ports": {"port": [_port(port) for port in block.ports]},
    }


def _port(port: Port) -> _Tree:
    vectors = {"vector": {"left": port.width - 1, "right": 0}} if port.width > 1 else None
    return {"name": port.name, "wire": {"direction": port.direction.removesuffix("put"), "vectors": vectors}}
