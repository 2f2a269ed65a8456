"""The folder of a block: every file is what its readers take it for."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml
from ipyxact.ipyxact import Component

from cdma.commands.generate.block import make, missing_file, software_files
from cdma.hdl.deliver.block import VHDL, Block, block_ports
from cdma.hdl.deliver.datasheet import package_files
from cdma.hdl.deliver.flows import bender_manifest, listed_files, sdc
from cdma.hdl.deliver.wrappers import buses_of
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.stage import StageConfig
from cdma.hdl.verilog.names import legal_name
from cdma.synth.asic.timing import find_opensta
from tests.support.engines import DELIVERED
from tests.support.paths import TINY
from tests.support.verilog_designs import asked_for

_TINY = CodecConfig(Format(8, 8, 2), lanes=2, runtime_values=True)
pytestmark = pytest.mark.usefixtures("generated_once")

_CONFIGS = {
    "compressor": _TINY,
    "decompressor": _TINY,
    "quantiser": StageConfig(lanes=2),
    "engine": DELIVERED,
}

_IPXACT = "{http://www.accellera.org/XMLSchema/IPXACT/1685-2014}"

#: The order in which the schema has what stands in an element.
_ORDER = {
    "component": "vendor library name version busInterfaces addressSpaces memoryMaps model fileSets description",
    "busInterface": "name busType abstractionTypes master slave parameters",
    "addressSpace": "name range width",
    "memoryMap": "name addressBlock addressUnitBits",
    "addressBlock": "name description baseAddress range width usage register",
    "register": "name description dim addressOffset size field",
    "field": "name description bitOffset resets bitWidth access enumeratedValues modifiedWriteValue",
    "model": "views instantiations ports",
    "componentInstantiation": "name language moduleName fileSetRef",
    "view": "name envIdentifier componentInstantiationRef",
    "wire": "direction vectors",
    "fileSet": "name file",
    "file": "name fileType",
}


@cache
def made(block: str) -> Block:
    """The block with the name ``mine``, and no initial values."""
    asked = asked_for(block, init=False, language=VHDL, period=2.5)
    return make(asked, _CONFIGS[block]).block


@pytest.fixture(scope="module", params=_CONFIGS)
def block(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def folder(block: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp(block)
    for name, text in package_files(made(block)).items():
        (path / name).write_text(text)
    return path


@pytest.mark.slow
def test_every_name_begins_with_that_of_the_block(block: str, folder: Path) -> None:
    names = {path.name for path in folder.iterdir()}
    assert all(re.fullmatch(r"mine(_[a-z]+)?\.[a-z]+", name) for name in names), names
    ends = (".v", ".sdc", ".xdc", ".vlt", ".core", "_component.xml", "_tb.v")
    assert {f"mine{end}" for end in ends} <= names
    assert ("mine_memories.md" in names) == bool(made(block).design.memories)
    assert ("mine_regs.h" in names) == ("mine.h" in names) == (block == "engine")


@pytest.mark.slow
def test_every_port_is_in_one_bus_or_stands_alone(block: str) -> None:
    ports = made(block).ports
    buses, single = buses_of(ports)
    listed = [port.name for bus in buses for port in bus.signals.values()] + [port.name for port in single]
    assert sorted(listed) == sorted(port.name for port in ports)
    alone = {"compressor": {"values"}, "decompressor": {"values"}, "quantiser": {"step"}, "engine": set()}
    assert {port.name for port in single} == alone[block]


def test_ipxact_has_ports_buses_and_files_of_the_block(block: str, folder: Path) -> None:
    component = Component()
    component.load(str(folder / "mine_component.xml"))
    ports = made(block).ports
    listed = {}
    for port in component.model.ports.port:
        vectors = port.wire.vectors.vector if port.wire.vectors else []
        listed[port.name] = (port.wire.direction, int(vectors[0].left) + 1 if vectors else 1)
    assert listed == {port.name: (port.direction.removesuffix("put"), port.width) for port in ports}
    buses, _ = buses_of(ports)
    assert [bus.name for bus in component.busInterfaces.busInterface] == [bus.name for bus in buses]
    xml = ElementTree.parse(folder / "mine_component.xml")
    roles = [entry.find(f"{_IPXACT}master") is not None for entry in xml.iter(f"{_IPXACT}busInterface")]
    assert roles == [bus.drives for bus in buses]
    mapped = [entry.findtext(f"{_IPXACT}name", "") for entry in xml.iter(f"{_IPXACT}physicalPort")]
    assert len(mapped) == len(set(mapped))
    assert set(mapped) | {"values", "step"} >= set(listed)
    for file in (file.name for group in component.fileSets.fileSet for file in group.file):
        assert (folder / file).is_file()


def test_ipxact_has_the_order_of_the_schema(folder: Path) -> None:
    for element in ElementTree.parse(folder / "mine_component.xml").iter():
        order = _ORDER.get(element.tag.removeprefix(_IPXACT))
        if order is not None:
            places = [order.split().index(child.tag.removeprefix(_IPXACT)) for child in element]
            assert places == sorted(places), element.tag


def test_ipxact_has_the_registers() -> None:
    xml = ElementTree.fromstring(package_files(made("engine"))["mine_component.xml"])
    registers = made("engine").registers
    assert registers is not None
    found = {}
    for entry in xml.iter(f"{_IPXACT}addressBlock"):
        base = int(entry.findtext(f"{_IPXACT}baseAddress", "")[2:], 16)
        for register in entry.iter(f"{_IPXACT}register"):
            name = f"{entry.findtext(f'{_IPXACT}name')}.{register.findtext(f'{_IPXACT}name')}"
            fields = sum(1 for _ in register.iter(f"{_IPXACT}field"))
            found[name] = (base + int(register.findtext(f"{_IPXACT}addressOffset", "")[2:], 16), fields)
    assert found == {
        f"{placed.instance}.{placed.register.name}": (placed.address, len(placed.register.fields))
        for placed in registers.placed()
        if placed.index == 0
    }


def test_fusesoc_lists_every_file_once_and_its_targets(block: str, folder: Path) -> None:
    text = (folder / "mine.core").read_text()
    assert text.startswith("CAPI=2:\n")
    core = yaml.safe_load(text)
    assert re.fullmatch(r"cdma:dma:mine:\d+\.\d+\.\d+", core["name"])
    files = [name for group in core["filesets"].values() for entry in group["files"] for name in entry]
    others = {path.name for path in folder.iterdir()} - set(files)
    assert others == {"mine.core", "mine_component.xml"}
    assert len(files) == len(set(files))
    targets = {name: target["filesets"] for name, target in core["targets"].items()}
    assert targets == {
        "default": ["rtl", "vhdl"],
        "lint": ["rtl", "waivers"],
        "sim": ["rtl", "bench"],
        "synth": ["rtl", "vivado"],
        **({"software": ["software"]} if block == "engine" else {}),
    }
    assert all(group in core["filesets"] for groups in targets.values() for group in groups)
    assert core["targets"]["sim"]["toplevel"] == "mine_tb"


@pytest.mark.parametrize("kind", ["sdc", "xdc"])
def test_constraints_say_something_of_every_port(block: str, folder: Path, kind: str) -> None:
    text = (folder / f"mine.{kind}").read_text()
    assert "set period_aclk 2.5\n" in text
    groups = re.findall(r"^(\w+).*\[get_ports (?:\{ )?(.+?)(?: \})?\]$", text, re.MULTILINE)
    named = {name: set(ports.replace("[*]", "").split()) for name, ports in groups}
    ports = made(block).ports
    assert named == {
        "create_clock": {"aclk"},
        "set_input_delay": {port.name for port in ports if port.direction == "input"} - {"aclk"},
        "set_output_delay": {port.name for port in ports if port.direction == "output"},
    }


def test_a_block_is_timed_as_it_works_with_its_clock_gates_closed_for_test() -> None:
    ports = block_ports("compressor", CodecConfig(clock_gates=True))
    text = sdc("mine", ports, 1)
    assert "set_case_analysis 0 [get_ports scan_enable]" in text
    assert text.count("scan_enable") == 1, "it has no delay"
    assert "scan_enable" not in sdc("mine", block_ports("compressor", CodecConfig()), 1)


def test_opensta_reads_the_constraints(block: str, folder: Path, tmp_path: Path) -> None:
    tool = find_opensta()
    if tool is None:
        pytest.skip("OpenSTA is not installed: apt install opensta")
    ports = made(block).ports
    listed = ", ".join(port.name for port in ports)
    declared = "".join(f"  {port.direction} {port.range}{port.name};\n" for port in ports)
    (tmp_path / "ports.v").write_text(f"module mine({listed});\n{declared}endmodule\n")
    script = tmp_path / "script.tcl"
    script.write_text(
        f"read_liberty {TINY}\nread_verilog {tmp_path / 'ports.v'}\nlink_design mine\n"
        f"read_sdc {folder / 'mine.sdc'}\nputs [get_property [get_clocks aclk] period]\ncheck_setup -verbose\n"
    )
    done = subprocess.run(["sta", "-no_splash", "-exit", script], capture_output=True, text=True)
    assert "2.5" in done.stdout
    assert "not found" not in done.stdout + done.stderr
    assert not re.search("Warning.*(port|delay)|Error", done.stdout + done.stderr), done.stdout + done.stderr


class _Tags(HTMLParser):
    """Tags that are open, and tables' cells by row."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        if tag not in ("meta", "path", "rect"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def _rows(markdown: str) -> Iterator[list[int]]:
    """The numbers of cells in the lines of each table."""
    table: list[int] = []
    for line in [*markdown.splitlines(), ""]:
        if line.startswith("|"):
            table.append(len(re.split(r"(?<!\\)\|", line)))
        elif table:
            yield table
            table = []


def test_the_datasheet_names_ports_and_files_that_are_there(block: str, folder: Path) -> None:
    page = _Tags()
    page.feed((folder / "mine_datasheet.html").read_text())
    assert not page.open
    assert {"table", "h1"} <= page.seen
    text = (folder / "mine_datasheet.md").read_text()
    for port in made(block).ports:
        assert f"| `{port.name}` | {port.direction} | {port.width} |" in text
    assert all(len(set(cells)) == 1 for cells in _rows(text))
    for file in re.findall(r"`(mine[\w.]*\.\w+)`", text):
        assert (folder / file).is_file(), file


def test_bender_lists_each_file_once() -> None:
    text = bender_manifest("RTL of mine", ["b.v", "a.v", "b.v"])
    manifest = yaml.safe_load(text)
    assert manifest == {"package": {"name": "rtl_of_mine"}, "sources": ["a.v", "b.v"]}
    assert listed_files(text) == ["a.v", "b.v"]
    assert listed_files("package:\n  name: theirs\n") is None


def test_the_model_for_uvm_is_of_these_registers() -> None:
    import pyslang

    block = made("engine")
    assert block.registers is not None
    text = block.texts["mine_uvm.sv"].replace('`include "uvm_macros.svh"', "")
    tree = pyslang.syntax.SyntaxTree.fromText(text)
    assert not [each for each in tree.diagnostics if each.isError()]
    placed = set(re.findall(r"add_reg\(this\.(\w+)", text))
    assert placed == {legal_name(each.register.name, ()) for each in block.registers.placed()}


def test_without_peakrdl_the_model_is_said_to_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert missing_file(made("engine")) == ""
    monkeypatch.setitem(sys.modules, "peakrdl_uvm", None)
    engine = replace(made("engine"), texts=software_files(DELIVERED, "mine"))
    assert "mine.h" in engine.texts
    assert missing_file(engine).startswith(
        "mine_uvm.sv, the register model for UVM, which PeakRDL makes: pip install"
    )


def test_links_in_the_page_of_the_registers_lead_to_places() -> None:
    page = package_files(made("engine"))["mine_registers.html"]
    links = set(re.findall(r'href="#([^"]+)"', page))
    assert links
    assert links <= set(re.findall(r'id="([^"]+)"', page))
    tags = _Tags()
    tags.feed(page)
    assert tags.open == []
