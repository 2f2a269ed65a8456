"""How many groups a program takes and how many warps it has, by card, kernel and bytes of a word."""

from __future__ import annotations

from dataclasses import dataclass

import torch

__all__ = ["Plan", "plan_for"]


@dataclass(frozen=True)
class Plan:
    """``rows`` groups to a program, a multiple of 16, ``warps`` warps, and steps of a loop that stand side by side."""

    rows: int
    warps: int
    unroll: int = 4

    def options(self, group: int) -> dict[str, int]:
        """The arguments of a kernel whose groups have so many windows."""
        return {"ROWS": self.rows, "UNROLL": min(self.unroll, group), "num_warps": self.warps}


#: For every card that is not in the table: by the bytes of a word, so that a tile is 2 KiB of raw data.
_DEFAULT = {1: Plan(64, 4), 2: Plan(32, 4), 4: Plan(16, 4)}

#: By the card's name as PyTorch gives it, the kernel and the bytes of a word. What is here was measured on the card.
_MEASURED: dict[tuple[str, str, int], Plan] = {}


def plan_for(kernel: str, word_bytes: int, device: torch.device) -> Plan:
    """The plan of a kernel on a card."""
    card = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    return _MEASURED.get((card, kernel, word_bytes), _DEFAULT[word_bytes])
