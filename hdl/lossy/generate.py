"""The Verilog of a quantiser or a dequantiser."""

from __future__ import annotations

from cdma.hdl.spec.checks import check_choice
from cdma.hdl.spec.stage import STAGES, StageConfig
from cdma.hdl.verilog.emit import Verilog, emit, module_prefix
from cdma.hdl.verilog.style import PLAIN, Style

from .shell import StageShell

__all__ = ["stage_design"]


def stage_design(
    kind: str,
    config: StageConfig,
    *,
    name: str | None = None,
    prefix: str | None = None,
    init: bool = True,
    memories: str = "wrap",
    style: Style = PLAIN,
) -> Verilog:
    """The Verilog of a ``quantiser`` or ``dequantiser``, called ``cdma_KIND`` by default."""
    check_choice("kind", kind, STAGES)
    name = f"cdma_{kind}" if name is None else name
    module_prefix(name, prefix)
    return emit(
        StageShell(kind, config),
        name,
        prefix=prefix,
        init=init,
        memories=memories,
        style=style,
        title=f"error-bounded {kind} with AXI-Stream ports",
        parameters=config.describe(),
    )
