"""Small networks in the shape of the well-known ones, for 32 x 32 grey images, and the well-known ones in their own size,
for images of 224 x 224: those of torchvision, and MobileNet 1.0 (Howard et al., 2017), of which that has only later ones.

The small ones have in common with the originals what determines activations: the order of the layers, the positions of
pooling and of batch normalisation, the growth of the channels. Their widths are smaller, so that one trains in a minute.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import torch
from torch import nn

from cdma.base.errors import ToolError


def _conv(inputs: int, outputs: int, kernel: int, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, kernel, stride=stride, padding=kernel // 2)


class _Head(nn.Sequential):
    """Flatten and classify, with one hidden layer."""

    def __init__(self, inputs: int, hidden: int, classes: int) -> None:
        super().__init__(
            OrderedDict(
                flatten=nn.Flatten(),
                fc0=nn.Linear(inputs, hidden),
                relu0=nn.ReLU(),
                dropout0=nn.Dropout(0.5),
                fc1=nn.Linear(hidden, classes),
            )
        )


def _vgg(classes: int) -> nn.Module:
    """Pairs of 3 x 3 convolutions, each pair followed by 2 x 2 maximum pooling, channels doubling."""
    layers: OrderedDict[str, nn.Module] = OrderedDict()
    channels, index = 1, 0
    for stage, width in enumerate((16, 32, 64)):
        for _ in range(2):
            layers[f"conv{index}"] = _conv(channels, width, 3)
            layers[f"relu{index}"] = nn.ReLU()
            channels, index = width, index + 1
        layers[f"pool{stage}"] = nn.MaxPool2d(2)
    layers["head"] = _Head(channels * 4 * 4, 128, classes)
    return nn.Sequential(layers)


def _alexnet(classes: int) -> nn.Module:
    """Large kernels first, three 3 x 3 convolutions in a row at the end, overlapping 3 x 3 pooling."""
    layers: OrderedDict[str, nn.Module] = OrderedDict()
    channels = 1
    for index, (width, kernel, pool) in enumerate(
        ((24, 7, True), (48, 5, True), (64, 3, False), (64, 3, False), (48, 3, True))
    ):
        layers[f"conv{index}"] = _conv(channels, width, kernel)
        layers[f"relu{index}"] = nn.ReLU()
        if pool:
            layers[f"pool{index}"] = nn.MaxPool2d(3, stride=2, padding=1)
        channels = width
    layers["head"] = _Head(channels * 4 * 4, 128, classes)
    return nn.Sequential(layers)


class _Residual(nn.Module):
    """Two 3 x 3 convolutions with batch normalisation, and a connection around them."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv0 = _conv(inputs, outputs, 3, stride)
        self.norm0 = nn.BatchNorm2d(outputs)
        self.relu0 = nn.ReLU()
        self.conv1 = _conv(outputs, outputs, 3)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.relu1 = nn.ReLU()
        self.around = (
            nn.Identity()
            if inputs == outputs and stride == 1
            else nn.Conv2d(inputs, outputs, 1, stride=stride)
        )

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        inner = self.relu0(self.norm0(self.conv0(image)))
        return self.relu1(self.norm1(self.conv1(inner)) + self.around(image))


def _resnet(classes: int) -> nn.Module:
    """A convolution, maximum pooling and three stages of two residual blocks."""
    layers: OrderedDict[str, nn.Module] = OrderedDict()
    layers["conv0"] = _conv(1, 16, 5)
    layers["norm0"] = nn.BatchNorm2d(16)
    layers["relu0"] = nn.ReLU()
    layers["pool0"] = nn.MaxPool2d(3, stride=2, padding=1)
    channels = 16
    for stage, width in enumerate((16, 32, 64)):
        for block in range(2):
            stride = 2 if stage and not block else 1
            layers[f"stage{stage}block{block}"] = _Residual(channels, width, stride)
            channels = width
    layers["average"] = nn.AdaptiveAvgPool2d(1)
    layers["flatten"] = nn.Flatten()
    layers["fc"] = nn.Linear(channels, classes)
    return nn.Sequential(layers)


class _Fire(nn.Module):
    """A 1 x 1 squeeze, then 1 x 1 and 3 x 3 expansions side by side."""

    def __init__(self, inputs: int, squeeze: int, expand: int) -> None:
        super().__init__()
        self.squeeze = nn.Conv2d(inputs, squeeze, 1)
        self.relu_squeeze = nn.ReLU()
        self.expand1 = nn.Conv2d(squeeze, expand, 1)
        self.relu_expand1 = nn.ReLU()
        self.expand3 = _conv(squeeze, expand, 3)
        self.relu_expand3 = nn.ReLU()

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        squeezed = self.relu_squeeze(self.squeeze(image))
        return torch.cat(
            [self.relu_expand1(self.expand1(squeezed)), self.relu_expand3(self.expand3(squeezed))], dim=1
        )


def _squeezenet(classes: int) -> nn.Module:
    """Fire modules between poolings; the classifier is a convolution."""
    layers: OrderedDict[str, nn.Module] = OrderedDict()
    layers["conv0"] = _conv(1, 24, 3)
    layers["relu0"] = nn.ReLU()
    layers["pool0"] = nn.MaxPool2d(3, stride=2, padding=1)
    channels = 24
    for index, (squeeze, expand) in enumerate(((8, 24), (8, 24), (12, 32), (16, 48))):
        layers[f"fire{index}"] = _Fire(channels, squeeze, expand)
        channels = 2 * expand
        if index in (1, 2):
            layers[f"pool{index}"] = nn.MaxPool2d(3, stride=2, padding=1)
    layers["conv_last"] = nn.Conv2d(channels, classes, 1)
    layers["relu_last"] = nn.ReLU()
    layers["average"] = nn.AdaptiveAvgPool2d(1)
    layers["flatten"] = nn.Flatten()
    return nn.Sequential(layers)


#: From the name of a network to a function from the number of classes to the network.
BUILDERS: dict[str, Callable[[int], nn.Module]] = {
    "alexnet": _alexnet,
    "vgg": _vgg,
    "squeezenet": _squeezenet,
    "resnet": _resnet,
}


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
