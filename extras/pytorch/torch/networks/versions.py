"""The versions of what recorded numbers depend on."""

from __future__ import annotations

import numpy as np

from cdma.torch.extras import require


def torch_version() -> str:
    """That of PyTorch; an error says how it comes where it is not."""
    return str(require("torch", "torch").__version__)


def versions() -> dict[str, str]:
    """Returns the versions by package."""
    sklearn = require("sklearn", "scikit-learn")
    return {
        "torch": torch_version(),
        "scikit-learn": str(sklearn.__version__),
        "numpy": np.__version__,
    }
