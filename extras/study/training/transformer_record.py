"""The small transformer over its training, recorded as ``density_table`` reads it (needs ``torch``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from cdma.hdl.spec.format import Format
from cdma.sim.codec.fit import fit
from cdma.sim.codec.model import analyse
from cdma.sim.codec.number_types import bfloat16_bits
from cdma.study.recorded import record_text
from cdma.study.system.density_table import TOKEN_KINDS
from cdma.torch.networks.versions import versions

from .observations import short
from .transformer import train_transformer

if TYPE_CHECKING:
    import torch

_LOOKS = (0.0, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0)
#: Words of a tensor that count, from its beginning.
_WORDS = 1 << 17


def transformer_record(
    epochs: int = 12, progress: Callable[[float], None] = lambda part: None, command: str = ""
) -> str:
    """Trains the transformer, and returns the densities and the ratios of codes of fields as JSON.

    A word is a bf16. A code of fields has the table that suits the tensor at that moment, as of ``cdma compress --fit``.
    """
    series: dict[str, dict[str, list[float]]] = {
        kind: {"progress": [], "density": [], "fields": []} for kind in TOKEN_KINDS
    }

    def look(part: float, seen: Mapping[str, torch.Tensor]) -> None:
        for kind, lists in series.items():
            words = bfloat16_bits(seen[kind].numpy(force=True).reshape(-1)[:_WORDS])
            form = fit(words, Format.preset("bf16"), whole=True)
            lists["progress"].append(part)
            lists["density"].append(short(np.count_nonzero(words) / words.size))
            lists["fields"].append(short(words.nbytes / analyse(words, form).compressed_bytes))

    train_transformer(epochs=epochs, progress=progress, look=look, looks=_LOOKS)
    layers = [
        {
            "name": kind,
            "kind": kind,
            "progress": lists["progress"],
            "density": lists["density"],
            "ratio": {"fields": lists["fields"]},
        }
        for kind, lists in series.items()
    ]
    record = {
        "source": command,
        "data": "scikit-learn's digits, 1500 training images of 8 x 8 as sequences of 64 grey values",
        "versions": versions(),
        "networks": {"transformer": {"layers": layers}},
    }
    return record_text(record)
