"""What the times of a codec on a GPU say: medians, rates, and shares of what the GPU's memory allows. How the kernels
are launched, by GPU, kernel and format.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import torch

from cdma.base.cache import cache_folder, ready_cache, replace_text
from cdma.base.errors import ToolError
from cdma.hdl.spec.format import Format

from .layout import GROUPS, code_tables, shape_of

#: The kernels that ``cdma study tune gpu`` finds plans for.
KERNELS = ("pack", "unpack")


@dataclass(frozen=True, order=True)
class Plan:
    """How many groups of a loop stand together, and how many ``registers`` a thread may have, which says how many programs
    run at once: 0 leaves it to the compiler."""

    unroll: int
    registers: int = 0

    @property
    def options(self) -> dict[str, int]:
        """The arguments of the kernel."""
        return {"UNROLL": self.unroll} | ({"maxnreg": self.registers} if self.registers else {})


#: The one whose instructions are counted (``tests/extras/pytorch/counted.py``). The interpreter has nothing to unroll.
DEFAULT, _INTERPRETED = Plan(4), Plan(1)

#: What is tried instead, by kernel.
_tried: dict[str, Plan] = {}


def plan_for(kernel: str, format: Format, device: torch.device) -> Plan:
    """The plan of a kernel on a GPU: that which was found there, or else the default."""
    if kernel in _tried:
        return _tried[kernel]
    if device.type == "cpu":
        return _INTERPRETED
    kept = _kept().get(_name(kernel, format, device)) if device.type == "cuda" and _kept() else None
    return kept or DEFAULT


def arguments(kernel: str, format: Format, device: torch.device) -> Mapping[str, Any]:
    """What a kernel is launched with that does not depend on the tensor: tables, its shape, and its plan."""
    return _arguments(kernel, format, device, _tried.get(kernel))


@lru_cache(maxsize=1024)
def _arguments(kernel: str, format: Format, device: torch.device, trial: Plan | None) -> Mapping[str, Any]:
    values, codes = code_tables(format, device)
    tables = {"values": values} if kernel == "unpack" else {"values": values, "codes": codes}
    plan = (trial or plan_for(kernel, format, device)).options if kernel in KERNELS else {}
    return {**tables, "GROUPS": GROUPS, "SHAPE": shape_of(format), "num_warps": 1, **plan}


@contextmanager
def tried(kernel: str, plan: Plan) -> Iterator[None]:
    """Has a kernel launched by this plan, for a while."""
    _tried[kernel] = plan
    try:
        yield
    finally:
        del _tried[kernel]


def keep_plan(kernel: str, format: Format, device: torch.device, plan: Plan) -> Path:
    """Keeps the plan of a kernel on a GPU for programs that begin from now on; returns the file."""
    ready_cache(cache_folder())
    plans = {name: asdict(one) for name, one in _kept().items()}
    plans[_name(kernel, format, device)] = asdict(plan)
    replace_text(path := _file(), json.dumps(plans, indent=1) + "\n")
    _kept.cache_clear()
    _arguments.cache_clear()
    return path


def _name(kernel: str, format: Format, device: torch.device) -> str:
    codes = "zeros" if format.code_bits == 1 and not format.field_bits else "codes"
    return f"{torch.cuda.get_device_name(device)}, {kernel}, words of {format.word_bits} bits, {codes}"


def _file() -> Path:
    return cache_folder() / "gpu-plans.json"


@cache
def _kept() -> dict[str, Plan]:
    """The plans of the file, if there is one."""
    try:
        found = json.loads(_file().read_text(encoding="utf-8"))
        return {name: Plan(**plan) for name, plan in found.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise ToolError(
            f"{_file()} has no plans of kernels ({error}); remove it, or make it again with cdma study tune gpu"
        ) from None
