"""What synthesis for an FPGA makes of a component."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from amaranth.back import rtlil
from amaranth.lib import wiring

from cdma.base.yosys import find_yosys, scratch


def cells_of(dut: wiring.Component) -> list[dict[str, Any]]:
    """The cells of an ECP5."""
    with scratch() as folder:
        Path(folder, "top.il").write_text(rtlil.convert(dut, name="top", emit_src=False))
        find_yosys().run("read_rtlil top.il\nsynth_ecp5 -noiopad -top top\nwrite_json top.json\n", folder)
        return list(json.loads(Path(folder, "top.json").read_text())["modules"]["top"]["cells"].values())
