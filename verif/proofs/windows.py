"""Any address windows, which stay as they are."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Value
from amaranth.lib import wiring

from cdma.hdl.engine.control.windows import DrivenWindows

from .bench import fixed

__all__ = ["any_windows"]


def any_windows(m: Module, port: Any, *, compressing: bool) -> tuple[Value, Value]:
    """Drives the windows of a channel; the one that it reads in, and the one that it writes in."""
    m.submodules.windows = windows = DrivenWindows()
    wiring.connect(m, port, windows.offload if compressing else windows.prefetch)
    for side in ("dev", "host"):
        window = getattr(windows, f"{side}_window")
        for edge in ("base", "limit"):
            m.d.comb += window[edge].eq(fixed(m, f"{side}_{edge}", 64))
    dev, host = windows.dev_window, windows.host_window
    return (dev, host) if compressing else (host, dev)
