"""Where something was timed: the card, and what of its software a time depends on."""

from __future__ import annotations

import platform
import subprocess
from importlib import import_module
from typing import Any

import torch

__all__ = ["where"]


def where(card: bool) -> dict[str, Any]:
    """Its name, and the versions of its tools."""
    if not card:
        return {"card": "cpu", "tools": {"python": platform.python_version(), "torch": torch.__version__}}
    query = ("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader", "--id=0")
    try:
        driver = subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        driver = "unknown"
    return {
        "card": torch.cuda.get_device_name(),
        "tools": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "triton": import_module("triton").__version__,
            "driver": driver,
        },
    }
