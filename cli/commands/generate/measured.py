"""What was measured of a block, for its datasheet: area and clock, as ``cdma area --json`` printed them, and the latency of
its intake."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cdma.base.errors import ParameterError
from cdma.commands.intake.line import NOT_SHOWN, Line
from cdma.files import FileError
from cdma.hdl.deliver.document import Paragraph, Part

__all__ = ["measured", "simulated"]

#: The lines of an intake that a datasheet has.
_LINES = ("latency", "waveform")


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
    _check_same(path, "area", found, config, block, settings)
    rows = {
        "cell library": f"{library}, sized for {target:g} ns",
        "area": f"{kge:.1f} kGE, without memories",
        "flip-flops": f"{flip_flops:,.0f}",
        "memories": f"{memory_bits:,.0f} bits",
    }
    if period is not None:
        rows["clock period, register to register, before placement"] = f"{period:.2f} ns"
    return rows


def simulated(path: Path, block: str, settings: Mapping[str, Any]) -> Sequence[Part]:
    """The latency and the waveform that ``NAME_intake.json`` has; refuses one of another block or configuration, and one in
    which nothing was measured."""
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        found, config = told["block"], told["config"]
        every = [Line.of_record(line) for section in told["sections"] for line in section["lines"]]
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise FileError(f"cannot read {path}: it is not what cdma intake writes") from None
    _check_same(path, "intake", found, config, block, settings)
    lines = [line for line in every if line.key in _LINES and line.status != NOT_SHOWN]
    if not lines:
        raise ParameterError(f"intake has no latency in {path}; cdma intake {block} --run speed measures it")
    parts: list[Part] = []
    for line in lines:
        parts += [Paragraph(f"{line.answer} ({line.date}, revision {line.revision})"), *line.parts]
    return parts


def _check_same(
    path: Path, name: str, found: str, config: Any, block: str, settings: Mapping[str, Any]
) -> None:
    """Refuses a file that is of another block or of other parameters."""
    wanted = json.loads(json.dumps(dict(settings)))
    if (found, config) != (block, wanted):
        other = found if found != block else "other parameters"
        raise ParameterError(
            f"{name} is of {other} in {path}; it must be of the very {block} that is generated"
        )
