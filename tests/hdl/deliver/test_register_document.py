"""The register document shows the whole map."""

from __future__ import annotations

import re

from cdma.hdl.deliver.document import as_markdown
from cdma.hdl.deliver.register_document import register_document
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.registers.map import register_map


def test_the_document_shows_every_register_and_field():
    registers = register_map(EngineConfig())
    text = as_markdown(register_document(registers))
    for block in registers.blocks:
        for item in block.registers:
            title = item.name if not item.count else f"{item.name}[{item.count}]"
            section = text.partition(f"### {block.name}.{title} at ")[2].partition("\n### ")[0]
            assert section.startswith(f"`{item.offset:#05x}")
            for f in item.fields:
                assert re.search(
                    rf"^\|.* {f.name} .*\|$", section.partition("```text")[2].partition("```")[0], re.M
                )
                bits = str(f.lsb) if f.bits == 1 else f"{f.msb}:{f.lsb}"
                assert f"| {bits} | {f.name} | {f.access.value} | `{f.reset:#x}` |" in section
