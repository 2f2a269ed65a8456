"""Recorded tensors as one file."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray


def archive(samples: Mapping[str, NDArray[Any]]) -> bytes:
    """A compressed ``.npz`` archive, the same bytes for the same samples."""
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as file:
        for name, tensor in samples.items():
            array = BytesIO()
            np.lib.format.write_array(array, tensor, allow_pickle=False)
            file.writestr(zipfile.ZipInfo(f"{name}.npy"), array.getvalue(), zipfile.ZIP_DEFLATED, 9)
    return buffer.getvalue()
