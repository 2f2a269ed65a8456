"""The register document shows the whole map. The C header stands alone in every dialect that it is for. The SystemRDL
agrees with the map and with the C header, and other tools read it.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from systemrdl import RDLCompiler
from systemrdl.node import FieldNode, RegfileNode, RegNode

from cdma.base.document import as_markdown
from cdma.hdl.deliver.registers import c_header, register_document, register_rdl
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.records import Mode, Status
from cdma.hdl.spec.registers.description import Access
from cdma.hdl.spec.registers.map import register_map
from tests.support.native import c_macros
from tests.support.register_model import each_config


def test_the_document_shows_every_register_and_field():
    registers = register_map(EngineConfig())
    text = as_markdown(register_document(registers))
    for block in registers.blocks:
        for item in block.registers:
            title = item.name if not item.count else f"{item.name}[{item.count}]"
            section = text.partition(f"### {block.name}.{title} at ")[2].partition("\n### ")[0]
            assert section.startswith(f"`{item.offset:#05x}")
            for f in item.fields:
                bits = str(f.lsb) if f.bits == 1 else f"{f.msb}:{f.lsb}"
                assert f"| {bits} | {f.name} | {f.access.value} | `{f.reset:#x}` |" in section


@pytest.mark.parametrize("dialect", ["c99", "c11", "c++11", "c++17"])
@each_config
def test_c_header_compiles_alone_without_a_warning(config, dialect, tmp_path):
    (tmp_path / "cdma_regs.h").write_text(c_header(register_map(config)))
    (tmp_path / "twice.c").write_text(
        '#include "cdma_regs.h"\n#include "cdma_regs.h"\nint main(void) { return 0; }\n'
    )
    language = "c++" if "+" in dialect else "c"
    command = [
        "cc",
        f"-std={dialect}",
        "-x",
        language,
        *["-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only"],
    ]
    subprocess.run([*command, "twice.c"], cwd=tmp_path, check=True)


@each_config
def test_systemrdl_and_c_header_agree_with_the_map_and_each_other(config, tmp_path):
    registers = register_map(config)
    source = tmp_path / "cdma_regs.rdl"
    source.write_text(register_rdl(registers))
    compiler = RDLCompiler()
    compiler.compile_file(str(source))
    macros = c_macros(c_header(registers))
    used = set()
    blocks = {instance: block.name for block in registers.blocks for instance, _ in block.instances}
    seen = []
    for node in compiler.elaborate().top.descendants(unroll=True):
        if isinstance(node, RegfileNode):
            instance = node.inst_name
            base = f"CDMA_{instance}_base".upper()
            assert macros[base] == node.absolute_address
            used.add(base)
        elif isinstance(node, RegNode):
            prefix = f"CDMA_{blocks[instance]}_{node.inst_name}".upper()
            index = node.current_idx[0] if node.is_array else 0
            seen.append(node.absolute_address)
            assert macros[base] + macros[prefix] + 4 * index == node.absolute_address
            reset = sum((f.get_property("reset") or 0) << f.lsb for f in node.fields())
            assert macros[f"{prefix}_RESET"] == reset
            placed = next(p for p in registers.placed() if p.address == node.absolute_address)
            assert [f.inst_name for f in node.fields()] == sorted(
                (f.name for f in placed.register.fields), key=lambda name: placed.register.field(name).lsb
            )
            used |= {prefix, f"{prefix}_RESET"} | ({f"{prefix}_COUNT"} if node.is_array else set())
        elif isinstance(node, FieldNode):
            name = f"{prefix}_{node.inst_name}".upper()
            assert macros[f"{name}_SHIFT"] == node.lsb
            assert macros[f"{name}_MASK"] == ((1 << node.width) - 1) << node.lsb
            access = placed.register.field(node.inst_name).access
            assert node.is_sw_writable == access.writable
            assert node.is_sw_readable == (access is not Access.PULSE)
            used |= {f"{name}_SHIFT", f"{name}_MASK"}
            encode = node.get_property("encode")
            if encode is not None:
                choices = {f"{name}_{member.name}".upper(): member.value for member in encode}
                assert {choice: macros[choice] for choice in choices} == choices
                used |= set(choices)
    assert seen == [placed.address for placed in registers.placed()]
    others = {name for name in macros if name not in used}
    assert others == {
        *(f"CDMA_MODE_{mode.name}" for mode in Mode),
        *(f"CDMA_STATUS_{status.name}" for status in Status),
        *(
            f"CDMA_DESCRIPTOR_{name}_{what}"
            for name in ("MODE", "INTERRUPT", "CHECK_CRC", "DELTA", "STEP", "SHAPED", "OWNED")
            for what in ("MASK", "SHIFT")
        ),
        *(f"CDMA_COMPLETION_{name}_{what}" for name in ("STATUS", "PHASE") for what in ("MASK", "SHIFT")),
    }


def peakrdl(*arguments: str) -> None:
    command = [sys.executable, "-m", "peakrdl", *arguments]
    subprocess.run(command, check=True, capture_output=True, timeout=120)


@pytest.mark.slow
def test_peakrdl_exports_the_systemrdl(tmp_path):
    registers = register_map(EngineConfig())
    source = str(tmp_path / "cdma_regs.rdl")
    Path(source).write_text(register_rdl(registers))

    header = tmp_path / "peakrdl.h"
    peakrdl("c-header", source, "-o", str(header), "-x", "--type-style", "hier", "-b", "ltoh", "--testcase")
    subprocess.run(["cc", "-std=c11", f"{header}.test.c", "-o", "check"], cwd=tmp_path, check=True)
    subprocess.run([tmp_path / "check"], check=True)
    theirs = c_macros(re.sub(r"(0x[0-9a-f]+|\d+)$", r"\1u", header.read_text(), flags=re.MULTILINE))
    ours = c_macros(c_header(registers))
    for block in registers.blocks:
        for item in block.registers:
            for f in item.fields:
                name = f"{block.name}_{item.name}_{f.name}".upper()
                array = "X" if item.count else ""
                their = f"{block.instances[0][0]}__{item.name}{array}__{f.name}".upper()
                assert theirs[f"{their}_bm"] == ours[f"CDMA_{name}_MASK"]
                assert theirs[f"{their}_bp"] == ours[f"CDMA_{name}_SHIFT"]
                if f.access is not Access.RO:
                    reset = ours[f"CDMA_{block.name}_{item.name}_RESET".upper()]
                    assert theirs[f"{their}_reset"] == f.get(reset)

    peakrdl("ip-xact", source, "-o", str(tmp_path / "cdma.xml"))
    tree = ElementTree.parse(tmp_path / "cdma.xml")
    space = re.match(r"\{.*\}", tree.getroot().tag)[0]
    names = [element.text for element in tree.iter(f"{space}name")]
    assert {item.name for block in registers.blocks for item in block.registers} <= set(names)

    peakrdl("html", source, "-o", str(tmp_path / "html"))
    assert (tmp_path / "html" / "index.html").stat().st_size > 0
