"""How the kernels are launched, by card, kernel and format."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from cdma.hdl.spec.format import Format

from .layout import constants, windows_of_block

__all__ = ["Plan", "plan_for"]


@dataclass(frozen=True)
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


#: By the kernel, the bytes of a word, and whether codes say only what is zero. Measured on an H100 (``cdma bench gpu``).
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

#: What is better on some card, by its name as PyTorch gives it. The interpreter has large steps: each costs it the same.
_MEASURED = {("cpu", kernel): Plan(1, 64, 1) for kernel in ("pack", "unpack")}


def plan_for(kernel: str, format: Format, device: torch.device) -> Plan:
    """The plan of a kernel on a card."""
    card = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    zeros = constants(format)["CODE"] == 1 and not format.field_bits
    return _MEASURED.get((card, kernel), _DEFAULT[kernel, format.word_bits // 8, zeros])
