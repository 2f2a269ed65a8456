"""The networks of the benches of swapping: what builds one, what it reads, and weights that it had learnt."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from cdma.base.errors import CdmaError

from .decoders import gpt2, gpt2_batch
from .digits import CLASSES, digits
from .networks import BUILDERS, FULL_SIZE, FULL_SIZE_CLASSES, FULL_SIZE_SHAPE

#: The network that reads tokens, and one to try a bench with.
GPT2, SMALL = "gpt2", "small"


class NoWeights(CdmaError):
    """A folder has no weights of a network, or not those of this one."""


def build(network: str) -> nn.Module:
    """A network with random weights."""
    if network == GPT2:
        return gpt2()
    if network == SMALL:
        layers = (nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 8, 3, padding=1))
        return nn.Sequential(
            *layers, nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 16 * 16, CLASSES)
        )
    return FULL_SIZE[network]() if network in FULL_SIZE else BUILDERS[network](CLASSES)


def stored_weights(network: str, folder: Path, device: str) -> dict[str, Any]:
    """The weights of a network in a folder."""
    file = folder / f"{network}.pt"
    if not file.is_file():
        raise NoWeights(
            f"{folder} has no {file.name}: cdma study characterise --train {folder} --weights writes those of "
            f"{', '.join(BUILDERS)}"
        )
    found: dict[str, Any] = torch.load(file, map_location=device, weights_only=True)
    return found


def inputs(network: str, batch: int, device: str) -> tuple[Tensor, Tensor]:
    """A batch and its classes: the small networks see digits, and those in their own size random numbers."""
    if network in BUILDERS:
        images, classes = map(torch.from_numpy, digits())
        kept = torch.randperm(len(images))[:batch]
        return images[kept].to(device), classes[kept].to(device)
    with torch.device(device):
        if network == GPT2:
            return gpt2_batch(batch)
        shape, classes = ((3, 32, 32), CLASSES) if network == SMALL else (FULL_SIZE_SHAPE, FULL_SIZE_CLASSES)
        return torch.randn(batch, *shape), torch.randint(classes, (batch,))
