"""How many groups a program takes and how many warps it has, by card, kernel and bytes of a word."""

from __future__ import annotations

from dataclasses import dataclass

import torch

__all__ = ["Plan", "plan_for"]


@dataclass(frozen=True)
class Plan:
    """``rows`` groups to a program, of :func:`size_kernel` a multiple of 16; ``warps``; and, of a loop, how many steps stand
    side by side, or 0 for a kernel without a loop."""

    rows: int
    warps: int
    unroll: int = 0

    def options(self, group: int) -> dict[str, int]:
        """The arguments of a kernel whose groups have so many windows."""
        loop = {"UNROLL": min(self.unroll, group)} if self.unroll else {}
        return {"ROWS": self.rows, "num_warps": self.warps} | loop


#: For every card that is not in the table: by the kernel and the bytes of a word.
_DEFAULT = {
    ("size", 1): Plan(64, 4, 4),
    ("size", 2): Plan(32, 4, 4),
    ("size", 4): Plan(16, 4, 4),
    ("pack", 1): Plan(4, 4),
    ("pack", 2): Plan(8, 4),
    ("pack", 4): Plan(16, 4),
    ("unpack", 1): Plan(4, 2, 4),
    ("unpack", 2): Plan(8, 2, 4),
    ("unpack", 4): Plan(16, 2, 4),
}

#: By the card's name as PyTorch gives it, the kernel and the bytes of a word. What is here was measured on the card.
_MEASURED: dict[tuple[str, str, int], Plan] = {}


def plan_for(kernel: str, word_bytes: int, device: torch.device) -> Plan:
    """The plan of a kernel on a card."""
    card = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    return _MEASURED.get((card, kernel, word_bytes), _DEFAULT[kernel, word_bytes])
