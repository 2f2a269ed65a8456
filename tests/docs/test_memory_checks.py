"""Every memory with checks is counted once, with what is around it."""

from __future__ import annotations

import pytest

from cdma.hdl.verilog.printer.design import PlacedMemory
from cdma.hdl.verilog.printer.memories import Shape
from cdma.synth.asic.measure import Block
from docs.results.memory_checks import KINDS, checks_by_kind


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("engine.offload.path.reader.store.memory", "read buffers"),
        ("engine.prefetch.path.writer.opened.memory", "bursts in flight"),
        ("engine.rings.writer.records", "rings"),
        ("registers.register_file.memory", "registers"),
    ],
)
def test_a_memory_is_of_one_kind_and_has_the_gates_of_its_checks(path: str, kind: str) -> None:
    shape = Shape(4, 26, (True,), 1, 13, None, "")
    names = (path, f"{path}.check_0_0", f"{path}.check_0_1", f"{path}_2", path.rpartition(".")[0])
    blocks = [Block(name, None, 0.5, 0.0, 0) for name in names]
    rows = checks_by_kind([PlacedMemory(f"{path}.coded_7", "", shape, checks=10)], blocks)
    assert [row["what"] for row in rows] == list(KINDS)
    assert [row for row in rows if row["memories"]] == [
        {"what": kind, "memories": 1, "memory_bits": 104, "check_bits": 40, "kge": 1.5}
    ]
