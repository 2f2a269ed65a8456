"""The recorded figures and descriptions that come with the package."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["DATA", "record_text", "recorded_samples"]

#: The folder ``sim/study/data`` of the repository.
DATA = Path(__file__).parent / "data"


def recorded_samples() -> dict[str, NDArray[np.float32]]:
    """Returns the activations of ReLU networks in ``samples.npz``, by name."""
    with np.load(DATA / "samples.npz", allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def record_text(record: Mapping[str, Any]) -> str:
    """Returns JSON with a line for each list of numbers, so that two records can be compared."""
    text = json.dumps(record, indent=1, allow_nan=False)
    return re.sub(r"\[[^][{}]*\]", lambda match: re.sub(r"\s*\n\s*", " ", match.group()), text) + "\n"
