"""The well-known networks in their own size, for images of 224 x 224; most are those of torchvision."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from torch import nn

from cdma.base.errors import ToolError

from .mobilenet import mobilenet

#: The shape of an image, and the classes that there are.
FULL_SIZE_SHAPE = (3, 224, 224)
FULL_SIZE_CLASSES = 1000


def of_torchvision(name: str, **settings: Any) -> Callable[[], nn.Module]:
    """What builds a network with random weights; torchvision is not needed before."""

    def build() -> nn.Module:
        try:
            models = import_module("torchvision.models")
        except ImportError:
            raise ToolError(f"{name} is built by the package torchvision: pip install torchvision") from None
        network: nn.Module = getattr(models, name)(**settings)
        return network

    return build


#: What builds the networks, by their names.
FULL_SIZE: Mapping[str, Callable[[], nn.Module]] = {
    "alexnet224": of_torchvision("alexnet"),
    "vgg16": of_torchvision("vgg16"),
    "vgg19": of_torchvision("vgg19"),
    "resnet50": of_torchvision("resnet50"),
    "squeezenet224": of_torchvision("squeezenet1_0"),
    # Without the classifiers at its sides, and with PyTorch's own random weights.
    "googlenet": of_torchvision("googlenet", aux_logits=False, init_weights=False),
    "mobilenet": mobilenet,
}
