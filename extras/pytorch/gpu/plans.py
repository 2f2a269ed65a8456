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

from .layout import GROUPS, code_tables, constants, windows_of_block

#: The kernels that ``cdma study tune gpu`` finds plans for.
KERNELS = ("pack", "unpack")


@dataclass(frozen=True, order=True)
class Plan:
    """``warps`` of a program; words of a step of its loop, in ``chunks`` of 32; how many steps of a chain stand together;
    and how many ``registers`` a thread may have, which says how many programs run at once: 0 leaves it to the compiler."""

    warps: int
    chunks: int = 0
    unroll: int = 0
    registers: int = 0

    def options(self, format: Format) -> dict[str, int]:
        """The arguments of the kernel."""
        windows = windows_of_block(format)
        rows = min(max(self.chunks * 32 // format.window, 1), windows)
        named = {"ROWS": rows if self.chunks else 0, "UNROLL": self.unroll, "maxnreg": self.registers}
        return {"num_warps": self.warps} | {name: value for name, value in named.items() if value}


#: By the kernel, the bytes of a word, and whether codes say only what is zero. They were chosen on an H100; no record says
#: how well they suit it.
_DEFAULT = {
    ("count", 1, True): Plan(8),
    ("count", 1, False): Plan(8),
    ("count", 2, True): Plan(4),
    ("count", 2, False): Plan(4),
    ("count", 4, True): Plan(4),
    ("count", 4, False): Plan(4),
    ("pack", 1, True): Plan(1, 16),
    ("pack", 1, False): Plan(1, 8),
    ("pack", 2, True): Plan(1, 16),
    ("pack", 2, False): Plan(1, 8),
    ("pack", 4, True): Plan(1, 32),
    ("pack", 4, False): Plan(1, 8),
    ("unpack", 1, True): Plan(1, 16, 1, 64),
    ("unpack", 1, False): Plan(1, 8, 1),
    ("unpack", 2, True): Plan(1, 16, 1, 64),
    ("unpack", 2, False): Plan(1, 8, 1, 64),
    ("unpack", 4, True): Plan(1, 16, 4),
    ("unpack", 4, False): Plan(1, 8, 4),
}

#: The interpreter has large steps: each costs it the same.
_INTERPRETED = Plan(1, 64, 1)

#: What is tried instead, by kernel.
_tried: dict[str, Plan] = {}


def plan_for(kernel: str, format: Format, device: torch.device) -> Plan:
    """The plan of a kernel on a GPU: that which was found there, or else the one of the table."""
    if kernel in _tried:
        return _tried[kernel]
    if device.type == "cpu" and kernel in KERNELS:
        return _INTERPRETED
    kept = _kept().get(_name(kernel, format, device)) if device.type == "cuda" and _kept() else None
    return kept or default_plan(kernel, format)


def default_plan(kernel: str, format: Format) -> Plan:
    """The plan of the table, whatever was found."""
    return _DEFAULT[kernel, format.word_bits // 8, _zeros(format)]


def arguments(kernel: str, format: Format, device: torch.device) -> Mapping[str, Any]:
    """What a kernel is launched with that does not depend on the tensor: tables, constants, and its plan."""
    return _arguments(kernel, format, device, _tried.get(kernel))


@lru_cache(maxsize=1024)
def _arguments(kernel: str, format: Format, device: torch.device, trial: Plan | None) -> Mapping[str, Any]:
    values, codes = code_tables(format, device)
    tables = {"values": values} if kernel == "unpack" else {"values": values, "codes": codes}
    plan = trial or plan_for(kernel, format, device)
    return {**tables, "GROUPS": GROUPS, **plan.options(format), **constants(format)}


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


def _zeros(format: Format) -> bool:
    """Whether codes say only what is zero."""
    return constants(format)["CODE"] == 1 and not format.field_bits


def _name(kernel: str, format: Format, device: torch.device) -> str:
    codes = "zeros" if _zeros(format) else "codes"
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
