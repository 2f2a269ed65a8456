"""The well-known networks in their own size, for images of 224 x 224: those of torchvision, and MobileNet 1.0 (Howard et
al., 2017), of which that has only later ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from torch import nn

from cdma.base.errors import ToolError

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


#: The channels that each pair of convolutions gives, and the stride of its first one.
_PAIRS = (
    *((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)),
    *(5 * ((512, 1),)),
    *((1024, 2), (1024, 1)),
)


def mobilenet() -> nn.Module:
    """A convolution, then pairs of one for each channel by itself and one of 1 x 1, each with batch normalisation."""
    layers = _convolution(3, 32, 3, stride=2)
    channels = 32
    for outputs, stride in _PAIRS:
        layers += _convolution(channels, channels, 3, stride, groups=channels)
        layers += _convolution(channels, outputs, 1)
        channels = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 1000))


def _convolution(inputs: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1) -> list[nn.Module]:
    convolution = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False)
    return [convolution, nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)]


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
