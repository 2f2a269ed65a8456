"""MobileNet 1.0 for images of 224 x 224 (Howard et al., 2017), which torchvision has only later ones of."""

from __future__ import annotations

from torch import nn

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
