"""IP-XACT (IEEE 1685-2014): a module as a component with bus interfaces, for tools that assemble systems."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from cdma.hdl.spec.registers.description import Access, Block, Field, Register, RegisterMap
from cdma.hdl.verilog.ports import Port

from .buses import AXI4, AXI_LITE, CLOCK, INTERRUPT, RESET, STREAM, Bus, buses_of

__all__ = ["VENDOR", "component"]

VENDOR = "cdma"
_NAMESPACE = "http://www.accellera.org/XMLSchema/IPXACT/1685-2014"
_SCHEMA = "http://www.accellera.org/XMLSchema/IPXACT/1685-2014/index.xsd"
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


def _tag(name: str) -> str:
    return f"{{{_NAMESPACE}}}{name}"


def _add(
    parent: ElementTree.Element, tag: str, text: object = None, /, **attributes: str
) -> ElementTree.Element:
    element = ElementTree.SubElement(parent, _tag(tag), attributes)
    if text is not None:
        element.text = str(text)
    return element


def component(
    name: str,
    version: str,
    description: str,
    ports: Sequence[Port],
    files: dict[str, str],
    registers: RegisterMap | None = None,
) -> str:
    """The component of the module ``name``.

    ``files`` are those beside it by name, with IP-XACT's word for the type of each; the Verilog comes first. ``registers``
    are behind the AXI4-Lite port.
    """
    ElementTree.register_namespace("ipxact", _NAMESPACE)
    ElementTree.register_namespace("xsi", _XSI)
    top = ElementTree.Element(_tag("component"), {f"{{{_XSI}}}schemaLocation": f"{_NAMESPACE} {_SCHEMA}"})
    for tag, text in (("vendor", VENDOR), ("library", "dma"), ("name", name), ("version", version)):
        _add(top, tag, text)
    buses, _ = buses_of(ports)
    interfaces = _add(top, "busInterfaces")
    streams = [bus.name for bus in buses if bus.kind in (AXI4, AXI_LITE, STREAM)]
    for bus in buses:
        _bus_interface(interfaces, bus, streams, mapped=registers is not None)
    managers = [bus for bus in buses if bus.kind == AXI4 and bus.drives]
    if managers:
        spaces = _add(top, "addressSpaces")
        for bus in managers:
            space = _add(spaces, "addressSpace")
            _add(space, "name", bus.name)
            _add(space, "range", f"'h{1 << bus.signals['awaddr'].width:x}")
            _add(space, "width", bus.data_bits)
    if registers is not None:
        _memory_maps(top, registers)
    _model(top, name, ports)
    sets = _add(top, "fileSets")
    source = _add(sets, "fileSet")
    _add(source, "name", "source")
    documents = None
    for file, kind in files.items():
        if kind != "verilogSource" and documents is None:
            documents = _add(sets, "fileSet")
            _add(documents, "name", "documents")
        parent = source if kind == "verilogSource" else documents
        assert parent is not None
        entry = _add(parent, "file")
        _add(entry, "name", file)
        _add(entry, "fileType", kind)
    _add(top, "description", description)
    ElementTree.indent(top)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(top, encoding="unicode") + "\n"


def _bus_interface(parent: ElementTree.Element, bus: Bus, associated: list[str], *, mapped: bool) -> None:
    library, kind = _TYPES[bus.kind]
    interface = _add(parent, "busInterface")
    _add(interface, "name", bus.name)
    reference = {"vendor": "xilinx.com", "library": library, "version": "1.0"}
    _add(interface, "busType", **reference, name=kind)
    abstraction = _add(_add(interface, "abstractionTypes"), "abstractionType")
    _add(abstraction, "abstractionRef", **reference, name=f"{kind}_rtl")
    maps = _add(abstraction, "portMaps")
    for signal, port in bus.signals.items():
        entry = _add(maps, "portMap")
        _add(_add(entry, "logicalPort"), "name", _SINGLE.get(bus.kind, signal.upper()))
        _add(_add(entry, "physicalPort"), "name", port.name)
    role = _add(interface, "master" if bus.drives else "slave")
    if bus.kind == AXI4 and bus.drives:
        _add(role, "addressSpaceRef", addressSpaceRef=bus.name)
    if bus.kind == AXI_LITE and not bus.drives and mapped:
        _add(role, "memoryMapRef", memoryMapRef="registers")
    values = {
        CLOCK: {"ASSOCIATED_BUSIF": ":".join(associated), "ASSOCIATED_RESET": "aresetn"},
        RESET: {"POLARITY": "ACTIVE_LOW"},
        INTERRUPT: {"SENSITIVITY": "LEVEL_HIGH"},
        AXI_LITE: {"PROTOCOL": "AXI4LITE"},
        AXI4: {"PROTOCOL": "AXI4"},
    }.get(bus.kind)
    if values:
        parameters = _add(interface, "parameters")
        for name, value in values.items():
            parameter = _add(parameters, "parameter", parameterId=f"{bus.name}_{name}".lower())
            _add(parameter, "name", name)
            _add(parameter, "value", value)


def _memory_maps(top: ElementTree.Element, registers: RegisterMap) -> None:
    memory_map = _add(_add(top, "memoryMaps"), "memoryMap")
    _add(memory_map, "name", "registers")
    for block in registers.blocks:
        for instance, base in block.instances:
            _address_block(memory_map, block, instance, base)
    _add(memory_map, "addressUnitBits", 8)


def _address_block(memory_map: ElementTree.Element, block: Block, instance: str, base: int) -> None:
    entry = _add(memory_map, "addressBlock")
    _add(entry, "name", instance)
    _add(entry, "description", block.doc)
    _add(entry, "baseAddress", f"'h{base:x}")
    last = max(register.offset + 4 * max(1, register.count) for register in block.registers)
    _add(entry, "range", f"'h{last:x}")
    _add(entry, "width", 32)
    _add(entry, "usage", "register")
    for register in block.registers:
        _register(entry, register)


def _register(parent: ElementTree.Element, register: Register) -> None:
    entry = _add(parent, "register")
    _add(entry, "name", register.name)
    _add(entry, "description", register.doc)
    if register.count:
        _add(entry, "dim", register.count)
    _add(entry, "addressOffset", f"'h{register.offset:x}")
    _add(entry, "size", 32)
    for field in register.fields:
        _field(entry, field)


def _field(parent: ElementTree.Element, field: Field) -> None:
    access, modified = _ACCESS[field.access]
    entry = _add(parent, "field")
    _add(entry, "name", field.name)
    _add(entry, "description", field.doc)
    _add(entry, "bitOffset", field.lsb)
    if field.access is not Access.RO:
        reset = _add(_add(entry, "resets"), "reset")
        _add(reset, "value", f"'h{field.reset:x}")
    _add(entry, "bitWidth", field.bits)
    _add(entry, "access", access)
    if field.choices:
        values = _add(entry, "enumeratedValues")
        for name, value in field.choices:
            choice = _add(values, "enumeratedValue")
            _add(choice, "name", name)
            _add(choice, "value", f"'h{value:x}")
    if modified:
        _add(entry, "modifiedWriteValue", modified)


def _model(top: ElementTree.Element, name: str, ports: Sequence[Port]) -> None:
    model = _add(top, "model")
    view = _add(_add(model, "views"), "view")
    _add(view, "name", "rtl")
    _add(view, "envIdentifier", ":*Synthesis:")
    _add(view, "componentInstantiationRef", "rtl")
    instantiation = _add(_add(model, "instantiations"), "componentInstantiation")
    _add(instantiation, "name", "rtl")
    _add(instantiation, "language", "verilog")
    _add(instantiation, "moduleName", name)
    _add(_add(instantiation, "fileSetRef"), "localName", "source")
    listed = _add(model, "ports")
    for port in ports:
        entry = _add(listed, "port")
        _add(entry, "name", port.name)
        wire = _add(entry, "wire")
        _add(wire, "direction", "in" if port.direction == "input" else "out")
        if port.width > 1:
            vector = _add(_add(wire, "vectors"), "vector")
            _add(vector, "left", port.width - 1)
            _add(vector, "right", 0)
