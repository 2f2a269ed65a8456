"""A small transformer, trained, and samples of all that moves in training (needs the ``torch`` extra).

It learns to continue handwritten digits pixel by pixel: sequences of 64 tokens, each one of 17 grey values. Its blocks are
those of language models: attention to the past, and after it, by turns, a layer with GELU and a gated layer with SiLU.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cdma.base.errors import ParameterError
from cdma.hdl.spec.format import Format
from cdma.sim.codec.fit import fit
from cdma.sim.codec.model import analyse
from cdma.sim.codec.number_types import bfloat16_bits
from cdma.study.recorded import record_text
from cdma.study.system.density_table import TOKEN_KINDS
from cdma.torch.extras import require, versions
from cdma.torch.networks.digits import GREY_VALUES, TRAINING_IMAGES, grey_values

from .observations import short
from .train import reproducible

if TYPE_CHECKING:
    import torch

#: Words of each sample, the first of its tensor.
SAMPLE_WORDS = 1 << 14

#: The samples, in the order in which they are kept.
SAMPLES = (
    "weights.attention",
    "weights.layer",
    "activations.residual",
    "activations.gelu",
    "activations.silu",
    "attention.keys",
    "attention.values",
    "attention.softmax",
    "gradients.weights",
    "gradients.residual",
    "gradients.gelu",
    "optimiser.mean",
    "optimiser.square",
)

_BATCH = 50
_LEARNING_RATE = 1e-3
#: Numbers of the transformer: those of a token, heads of the attention, blocks.
_WIDTH, _HEADS, _BLOCKS = 128, 4, 4


@dataclass(frozen=True)
class TrainedTransformer:
    """What training gave.

    ``loss``: Mean of the last epoch, in bits per pixel.
    ``samples``: bfloat16 bits by the names of :data:`SAMPLES`.
    """

    loss: float
    samples: dict[str, NDArray[np.uint16]]


def train_transformer(
    seed: int = 1,
    epochs: int = 12,
    progress: Callable[[float], None] = lambda part: None,
    look: Callable[[float, Mapping[str, torch.Tensor]], None] | None = None,
    looks: Sequence[float] = (),
) -> TrainedTransformer:
    """Trains the transformer, and takes samples of one more step, before the weights change.

    ``progress`` is called with the part of the training that is done, 0 to 1, and ``look`` with each of ``looks``, which are
    such parts, and what the blocks in the middle compute then.
    """
    if epochs < 1:
        raise ParameterError(f"epochs is {epochs}; it must be a whole number, 1 or more")
    torch = require("torch", "torch")
    from .transformer_model import Transformer

    pixels = torch.from_numpy(grey_values()[:TRAINING_IMAGES])
    steps = epochs * (TRAINING_IMAGES // _BATCH)
    wanted = {min(round(part * steps), steps - 1): part for part in looks}
    with reproducible(seed):
        model = Transformer(GREY_VALUES, pixels.shape[1], _WIDTH, _HEADS, _BLOCKS)
        optimiser = torch.optim.AdamW(model.parameters(), lr=_LEARNING_RATE, betas=(0.9, 0.99))
        losses: list[float] = []
        for step in range(steps):
            if step % (TRAINING_IMAGES // _BATCH) == 0:
                order = torch.randperm(TRAINING_IMAGES)
                losses.clear()
            for group in optimiser.param_groups:
                # Up for a tenth of the training, then down along half a cosine.
                rise = min(1.0, 10 * (step + 1) / steps)
                group["lr"] = _LEARNING_RATE * rise * (0.05 + 0.95 * math.cos(math.pi / 2 * step / steps))
            begin = step % (TRAINING_IMAGES // _BATCH) * _BATCH
            if look is not None and step in wanted:
                look(wanted[step], _looked(model, pixels[:_BATCH]))
                optimiser.zero_grad()
            losses.append(_learn(model, pixels[order[begin : begin + _BATCH]]))
            optimiser.step()
            optimiser.zero_grad()
            progress((step + 1) / steps)
        samples = _samples(model, optimiser, pixels[:_BATCH])
    return TrainedTransformer(float(np.mean(losses)) / math.log(2), samples)


def _learn(model: torch.nn.Module, pixels: torch.Tensor) -> float:
    """Adds the gradients of one batch, and returns its loss."""
    import torch

    loss = torch.nn.functional.cross_entropy(model(pixels).flatten(0, 1), pixels.flatten())
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    return float(loss.detach())


def _looked(model: torch.nn.Module, pixels: torch.Tensor) -> Mapping[str, torch.Tensor]:
    """Returns what the blocks in the middle compute for ``pixels``."""
    seen = model.watch()
    _learn(model, pixels)
    return seen


def _samples(
    model: torch.nn.Module, optimiser: torch.optim.Optimizer, pixels: torch.Tensor
) -> dict[str, NDArray[np.uint16]]:
    """Samples of a step on ``pixels``, from the blocks in the middle."""
    seen = _looked(model, pixels)
    weights = model.blocks[2].layer.widen.weight
    state = optimiser.state[weights]
    tensors: dict[str, Any] = {
        "weights.attention": model.blocks[2].attention.inputs.weight,
        "weights.layer": weights,
        "activations.residual": seen["residual"],
        "activations.gelu": seen["gelu"],
        "activations.silu": seen["silu"],
        "attention.keys": seen["keys"],
        "attention.values": seen["values"],
        "attention.softmax": seen["softmax"],
        "gradients.weights": weights.grad,
        "gradients.residual": seen["residual"].grad,
        "gradients.gelu": seen["gelu"].grad,
        "optimiser.mean": state["exp_avg"],
        "optimiser.square": state["exp_avg_sq"],
    }
    return {
        name: bfloat16_bits(tensors[name].numpy(force=True).reshape(-1)[:SAMPLE_WORDS]) for name in SAMPLES
    }


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
