"""How the kernels are launched, by card, kernel and bytes of a word."""

from __future__ import annotations

from dataclasses import dataclass

import torch

__all__ = ["Plan", "plan_for"]


@dataclass(frozen=True)
class Plan:
    """``warps`` of a program; how many bytes each thread has side by side; of a kernel with a loop, how many steps stand
    side by side; and how many ``registers`` a thread may have, which says how many programs run at once."""

    warps: int
    vector: int = 0
    unroll: int = 0
    registers: int = 0

    @property
    def options(self) -> dict[str, int]:
        """The arguments of the kernel."""
        named = {"VECTOR": self.vector, "UNROLL": self.unroll, "maxnreg": self.registers}
        return {"num_warps": self.warps} | {name: value for name, value in named.items() if value}


#: For every card that is not in the table: by the kernel and the bytes of a word.
_DEFAULT = {
    ("count", 1): Plan(8),
    ("count", 2): Plan(4),
    ("count", 4): Plan(4),
    ("pack", 1): Plan(8, 1, registers=112),
    ("pack", 2): Plan(4, 2),
    ("pack", 4): Plan(4, 4, registers=80),
    ("unpack", 1): Plan(2, 4, 1),
    ("unpack", 2): Plan(2, 4, 1),
    ("unpack", 4): Plan(4, 4, 4),
}

#: By the card's name as PyTorch gives it, the kernel and the bytes of a word. What is here was measured on the card.
_MEASURED: dict[tuple[str, str, int], Plan] = {}


def plan_for(kernel: str, word_bytes: int, device: torch.device) -> Plan:
    """The plan of a kernel on a card."""
    card = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    return _MEASURED.get((card, kernel, word_bytes), _DEFAULT[kernel, word_bytes])
