"""The recorded activation tensors that come with the package."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .paths import DATA

__all__ = ["load_samples"]


def load_samples(path: Path = DATA / "samples.npz") -> dict[str, NDArray[np.float32]]:
    """Tensors (images, channels, height, width) or (images, features), by ``network.layer``."""
    with np.load(path, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}
