"""The area and the clock of a block, from the report that ``cdma area --json`` printed about it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cdma.base.errors import ParameterError
from cdma.files import FileError

__all__ = ["measured"]


def measured(path: Path, block: str, settings: Mapping[str, Any]) -> dict[str, str]:
    """The rows of a datasheet; refuses a report that is none, or of another block or configuration."""
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
        found, config = report["block"], report["config"]
        kge, flip_flops, memory_bits = (float(report[name]) for name in ("kge", "flip_flops", "memory_bits"))
        period = None if report["period_ns"] is None else float(report["period_ns"])
        library, target = str(report["library"]), float(report["target_ns"])
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise FileError(f"cannot read {path}: it is not what cdma area --json prints") from None
    wanted = json.loads(json.dumps(dict(settings)))
    if (found, config) != (block, wanted):
        other = found if found != block else "other parameters"
        raise ParameterError(
            f"area is of {other} in {path}; it must be of the very {block} that is generated"
        )
    rows = {
        "cell library": f"{library}, sized for {target:g} ns",
        "area": f"{kge:.1f} kGE, without memories",
        "flip-flops": f"{flip_flops:,.0f}",
        "memories": f"{memory_bits:,.0f} bits",
    }
    if period is not None:
        rows["clock period, register to register, before placement"] = f"{period:.2f} ns"
    return rows
