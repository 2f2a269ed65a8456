"""The 1797 handwritten digits that come with scikit-learn, so that training downloads nothing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cdma.torch.extras import require

#: The images before this one are for training, the others measure the accuracy.
TRAINING_IMAGES = 1500
CLASSES = 10
#: The grey values of a pixel as the images are stored.
GREY_VALUES = 17
_SIDE = 32


def digits() -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Returns the digits as (images, 1, 32, 32), of mean 0 and deviation 1, and their classes."""
    datasets = require("sklearn.datasets", "scikit-learn")
    data = datasets.load_digits()
    small = data.images.astype(np.float64)
    along = (np.arange(_SIDE) + 0.5) * small.shape[1] / _SIDE - 0.5
    weights = np.maximum(0, 1 - np.abs(np.clip(along, 0, 7)[:, None] - np.arange(8)[None, :]))
    images = weights @ small @ weights.T
    kept = images[:TRAINING_IMAGES]
    scaled = (images - kept.mean()) / kept.std()
    return scaled[:, None].astype(np.float32), data.target.astype(np.int64)


def grey_values() -> NDArray[np.int64]:
    """Returns the digits as they are stored: (images, 64) grey values, row by row."""
    data = require("sklearn.datasets", "scikit-learn").load_digits()
    return data.images.reshape(len(data.images), -1).astype(np.int64)
