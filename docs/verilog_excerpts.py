"""The module in ``docs/verilog.md``, as ``cdma generate engine`` prints it.

python -m docs.verilog_excerpts
"""

from __future__ import annotations

import re
from pathlib import Path

from cdma.hdl.spec.engine import EngineConfig
from cdma.verif.engine.design import EngineDesign

PAGE = Path(__file__).parent / "verilog.md"

#: A module with the comment above it.
_MODULE = re.compile(r"(?:^//[^\n]*\n)*^module (\w+) \(\n.*?^endmodule\n", re.MULTILINE | re.DOTALL)


def page() -> str:
    """The page as it is to be: its module as it is printed now."""
    modules = {found[1]: found[0] for found in _MODULE.finditer(EngineDesign(EngineConfig()).verilog())}
    text = PAGE.read_text(encoding="utf-8")
    return re.sub(
        rf"^```verilog\n{_MODULE.pattern}```$",
        lambda shown: f"```verilog\n{modules[shown[1]]}```",
        text,
        flags=re.MULTILINE | re.DOTALL,
    )


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
