"""The recorded figures and descriptions that come with the package, and tensors as one file."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdma.base.toml_table import Table, TableError, read_toml

#: The folder ``extras/study/data`` of the repository.
DATA = Path(__file__).parent / "data"


def table_names(kind: str) -> tuple[str, ...]:
    """Returns the names of the TOML files of a kind that come with the package."""
    return tuple(sorted(path.stem for path in (DATA / f"{kind}s").glob("*.toml")))


def table_named(kind: str, name: str) -> Table:
    """Returns the table of that name that comes with the package, or the one in that TOML file."""
    if name in table_names(kind):
        return read_toml(DATA / f"{kind}s" / f"{name}.toml")
    path = Path(name)
    if path.suffix == ".toml" or path.exists():
        return read_toml(path)
    raise TableError(f"{kind} is {name!r}; it must be a TOML file or one of {', '.join(table_names(kind))}")


def recorded_samples() -> dict[str, NDArray[np.float32]]:
    """Returns the activations in ``samples.npz`` after ReLUs of trained networks, by network and tensor."""
    return {name: each for name, each in _samples().items() if each.dtype == np.float32}


def recorded_tokens() -> dict[str, NDArray[np.uint16]]:
    """Returns those of a decoder, which are bfloat16, by their bits."""
    return {name: each for name, each in _samples().items() if each.dtype == np.uint16}


def _samples() -> dict[str, NDArray[Any]]:
    with np.load(DATA / "samples.npz", allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def record_text(record: Mapping[str, Any]) -> str:
    """Returns JSON with a line for each list of numbers, so that two records can be compared."""
    text = json.dumps(record, indent=1, allow_nan=False)
    return re.sub(r"\[[^][{}]*\]", lambda match: re.sub(r"\s*\n\s*", " ", match.group()), text) + "\n"


def archive(samples: Mapping[str, NDArray[Any]]) -> bytes:
    """A compressed ``.npz`` archive, the same bytes for the same samples."""
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as file:
        for name, tensor in samples.items():
            array = BytesIO()
            np.lib.format.write_array(array, tensor, allow_pickle=False)
            file.writestr(zipfile.ZipInfo(f"{name}.npy"), array.getvalue(), zipfile.ZIP_DEFLATED, 9)
    return buffer.getvalue()
