"""``python -m cdma.torch.swapping.driven_step``: a step of a small network, plain and by ``/dev/cdma0``.

It says what moved, and whether loss and gradients are the same, bit for bit.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from cdma.base.errors import CdmaError

from .driven import Driven

_IMAGES, _SIDE, _CHANNELS, _CLASSES = 4, 12, 8, 10


def _network() -> nn.Module:
    torch.manual_seed(1)
    return nn.Sequential(
        nn.Conv2d(1, _CHANNELS, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(_CHANNELS, _CHANNELS, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(_CHANNELS * (_SIDE // 2) ** 2, _CLASSES),
    )


def step(model: nn.Module, context: AbstractContextManager[Any]) -> tuple[Tensor, list[Tensor]]:
    """Loss and gradients of a step, whose forward pass is in a context."""
    generator = torch.Generator().manual_seed(2)
    images = torch.randn(_IMAGES, 1, _SIDE, _SIDE, generator=generator)
    classes = torch.randint(_CLASSES, (_IMAGES,), generator=generator)
    model.zero_grad()
    with context:
        loss = nn.functional.cross_entropy(model(images), classes)
    loss.backward()
    return loss.detach(), [weight.grad.clone() for weight in model.parameters() if weight.grad is not None]


def _main(arguments: Sequence[str]) -> int:
    torch.set_num_threads(1)
    model = _network()
    loss, gradients = step(model, nullcontext())
    driven = Driven(model, arguments[0] if arguments else "cdma0")
    loss_there, gradients_there = step(model, driven)
    print(driven.report)
    same = [torch.equal(*pair) for pair in zip(gradients, gradients_there, strict=True)]
    well = all(same) and torch.equal(loss, loss_there)
    print(
        f"loss {loss_there:.6f}, plain {loss:.6f}; {sum(same)} of {len(same)} gradients are those of plain PyTorch"
    )
    return 0 if well else 1


if __name__ == "__main__":
    try:
        sys.exit(_main(sys.argv[1:]))
    except CdmaError as error:
        sys.exit(str(error))
