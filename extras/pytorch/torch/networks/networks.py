"""Small networks in the shape of the well-known ones, for 32 x 32 grey images, and the well-known ones in their own
size, for images of 224 x 224: those of torchvision, and MobileNet 1.0 (Howard et al., 2017), of which that has only
later ones.

The small ones have in common with the originals what determines activations: the order of the layers, the positions of
pooling and of batch normalisation, the growth of the channels. Their widths are smaller, so that one trains in a minute.

The blocks of GPT-2, which read tokens as vectors and give classes of a whole sequence; a stack of layers of Llama's
shape, with weights of a normal law, which streams of weights are measured with; and what the benches of swapping build
and read.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional

from cdma.base.errors import CdmaError, ToolError
from cdma.torch.networks.digits import CLASSES, digits


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


_CLASSES = 10
_BLOCKS, _WIDTH, _HEADS, _LENGTH = 12, 768, 12, 1024


class GptBlocks(nn.Module):
    """Blocks, and classes of the mean over a sequence."""

    def __init__(self, blocks: int, width: int, heads: int) -> None:
        super().__init__()
        settings = {"dropout": 0.0, "activation": "gelu", "batch_first": True, "norm_first": True}
        layers = [nn.TransformerEncoderLayer(width, heads, 4 * width, **settings) for _ in range(blocks)]
        self.blocks = nn.ModuleList(layers)
        self.classes = nn.Linear(width, _CLASSES)

    def forward(self, tokens: Tensor) -> Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1], tokens.device)
        for block in self.blocks:
            tokens = block(tokens, mask, is_causal=True)
        return self.classes(tokens.mean(1))


def gpt2() -> nn.Module:
    """The blocks of the model of 124 million parameters."""
    return GptBlocks(_BLOCKS, _WIDTH, _HEADS)


def gpt2_batch(batch: int) -> tuple[Tensor, Tensor]:
    """So many sequences of random tokens, and classes for them."""
    return torch.randn(batch, _LENGTH, _WIDTH), torch.randint(_CLASSES, (batch,))


#: The deviation of the weights.
_DEVIATION = 0.02


@dataclass(frozen=True)
class Shape:
    """``layers`` of ``width`` numbers a token, with heads of 128 and ``hidden`` numbers between the maps; Llama-7B's are
    4096 and 11008."""

    layers: int = 8
    width: int = 4096
    hidden: int = 11008


class KeysAndValues(Protocol):
    """What keeps keys and values of tokens, as Hugging Face's caches do."""

    def update(self, keys: Tensor, values: Tensor, layer: int) -> tuple[Tensor, Tensor]:
        """Those of all tokens of a layer, with new ones at their end."""
        ...


class _Layer(nn.Module):
    """Attention to the tokens before and a gated layer, each behind a normalisation and with a connection around it."""

    def __init__(self, shape: Shape, number: int) -> None:
        super().__init__()
        self.number, width = number, shape.width
        self.heads = max(1, width // 128)
        self.norms = nn.ModuleList(nn.RMSNorm(width, eps=1e-5) for _ in range(2))
        self.queries, self.keys, self.values, self.output = (
            nn.Linear(width, width, bias=False) for _ in range(4)
        )
        self.gate, self.up = (nn.Linear(width, shape.hidden, bias=False) for _ in range(2))
        self.down = nn.Linear(shape.hidden, width, bias=False)

    def forward(self, tokens: Tensor, cache: KeysAndValues | None = None) -> Tensor:
        normed = self.norms[0](tokens)
        queries, keys, values = (
            each(normed).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for each in (self.queries, self.keys, self.values)
        )
        if cache is not None:
            keys, values = cache.update(keys, values, self.number)
        # One token sees all that there are.
        several = tokens.shape[1] > 1
        seen = functional.scaled_dot_product_attention(queries, keys, values, is_causal=several)
        tokens = tokens + self.output(seen.transpose(1, 2).flatten(2))
        normed = self.norms[1](tokens)
        return tokens + self.down(functional.silu(self.gate(normed)) * self.up(normed))


class Stack(nn.Module):
    """The layers one after the other. With a cache tokens come behind those that are in it: one, or several if there are
    none."""

    def __init__(self, shape: Shape, device: str, seed: int, dtype: torch.dtype = torch.bfloat16) -> None:
        super().__init__()
        # Without the initial values of PyTorch, which would take as long as all the rest.
        with torch.device("meta"):
            self.layers = nn.ModuleList(_Layer(shape, number) for number in range(shape.layers))
        self.to(dtype).to_empty(device=device).eval().requires_grad_(False)
        source = torch.Generator(device).manual_seed(seed)
        for weight in self.parameters():
            if weight.dim() > 1:
                weight.normal_(0, _DEVIATION, generator=source)
            else:
                weight.fill_(1)

    def forward(self, tokens: Tensor, cache: KeysAndValues | None = None) -> Tensor:
        for layer in self.layers:
            tokens = layer(tokens, cache)
        return tokens


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
