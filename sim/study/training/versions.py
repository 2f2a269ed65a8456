"""The versions of what recorded numbers depend on."""

from __future__ import annotations

import numpy as np

from cdma.sim.torch.extras import require

__all__ = ["versions"]


def versions() -> dict[str, str]:
    """Returns the versions by package."""
    torch = require("torch", "torch")
    sklearn = require("sklearn", "scikit-learn")
    return {
        "torch": str(torch.__version__),
        "scikit-learn": str(sklearn.__version__),
        "numpy": np.__version__,
    }
