"""The layers of networks, each made from a row of a table: its output shape, its parameters, its multiplications. The
layers of transformers. Tokens are images of one row: a token's numbers are the channels, the tokens the width.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cdma.base.toml_table import Table, TableError

#: Types of numbers, and the bytes of one.
NUMBER_BYTES = {"fp32": 4, "bf16": 2, "fp16": 2, "int8": 1}

_POOL_MODES = ("max", "average")

#: Channels, height and width.
Shape = tuple[int, int, int]


@dataclass(frozen=True)
class Layer:
    """One layer with its shapes."""

    name: str
    kind: str
    inputs: tuple[str, ...]
    #: Channels, height and width of its output, for one image.
    shape: Shape
    #: Trained parameters.
    parameters: int = 0
    #: Multiplications with accumulation for one image.
    macs: int = 0
    #: Whether a convolution has kernels of 3 by 3 and a stride of 1, for which there are quicker algorithms.
    small_kernel: bool = False
    #: ``max`` or ``average`` for pooling.
    mode: str = ""
    #: Part of the values that dropout sets to zero.
    rate: float = 0.0
    #: Density of its output, if the table of the network fixes it.
    density: float | None = None
    #: Compressed bytes per byte of its output in codes of the exponent, if that is known of itself.
    packed: float | None = None
    #: The type of the numbers of its output, and of those that it computes with.
    number_type: str = "fp32"

    @property
    def number_bytes(self) -> int:
        """Bytes of a number of its output."""
        return NUMBER_BYTES[self.number_type]

    @property
    def elements(self) -> int:
        """Values of its output for one image."""
        channels, height, width = self.shape
        return channels * height * width


Builder = Callable[[Table, str, tuple[str, ...], list[Shape]], Layer]


def one_input(row: Table, inputs: tuple[str, ...], shapes: list[Shape]) -> Shape:
    """Returns the shape of the only input; refuses several."""
    if len(inputs) != 1:
        raise TableError(f"{row.where} reads {len(inputs)} layers; this kind reads one")
    return shapes[0]


def _pair(row: Table, key: str, default: Any, least: int) -> tuple[int, int]:
    """Reads one number for both height and width, or a list of the two."""
    value = row.get(key, default)
    pair = value if isinstance(value, list) else [value, value]
    if len(pair) != 2:
        raise TableError(
            f"{row.where} has {key} = {value!r}; it must be a number or a list of height and width"
        )
    for number in pair:
        if isinstance(number, bool) or not isinstance(number, int) or number < least:
            raise TableError(f"{row.where} has {key} = {value!r}; it must be whole numbers, {least} or more")
    return pair[0], pair[1]


def _slide(row: Table, shape: Shape, *, ceil: bool, default_stride: Any = 1) -> tuple[int, int, int, int]:
    """Returns height and width of a sliding kernel, and height and width of its output."""
    kernel = _pair(row, "kernel", None, 1)
    stride = _pair(row, "stride", default_stride, 1)
    padding = _pair(row, "padding", 0, 0)
    sides = []
    for side, window, step, margin in zip(shape[1:], kernel, stride, padding, strict=True):
        free = side + 2 * margin - window
        if free < 0:
            raise TableError(
                f"{row.where} slides a kernel of {window} over {side} values with {margin} of padding on "
                "each side; the kernel must not be larger"
            )
        count = -(-free // step) + 1 if ceil else free // step + 1
        if ceil and (count - 1) * step >= side + margin:
            count -= 1  # A kernel must begin within the image or its first margin.
        sides.append(count)
    return kernel[0], kernel[1], sides[0], sides[1]


def _conv(row: Table, name: str, inputs: tuple[str, ...], shapes: list[Shape]) -> Layer:
    shape = one_input(row, inputs, shapes)
    filters, groups = row.whole("filters"), row.whole("groups", 1)
    if shape[0] % groups or filters % groups:
        raise TableError(
            f"{row.where} has groups = {groups}; it must divide {shape[0]} channels in and {filters} filters"
        )
    high, wide, height, width = _slide(row, shape, ceil=False)
    weights = filters * (shape[0] // groups) * high * wide
    # Batch normalisation has its own offset, which makes a bias useless.
    bias = row.flag("bias", not row.get("batchnorm", False))
    return Layer(
        name,
        "conv",
        inputs,
        (filters, height, width),
        weights + filters * bias,
        weights * height * width,
        small_kernel=(high, wide) == (3, 3) and _pair(row, "stride", 1, 1) == (1, 1),
    )


def _pool(row: Table, name: str, inputs: tuple[str, ...], shapes: list[Shape]) -> Layer:
    shape = one_input(row, inputs, shapes)
    mode = row.choice("mode", _POOL_MODES, "max")
    if row.flag("global", False):
        return Layer(name, "pool", inputs, (shape[0], 1, 1), mode=mode)
    kernel = row.get("kernel")
    _, _, height, width = _slide(row, shape, ceil=row.flag("ceil", False), default_stride=kernel)
    return Layer(name, "pool", inputs, (shape[0], height, width), mode=mode)


def _fc(row: Table, name: str, inputs: tuple[str, ...], shapes: list[Shape]) -> Layer:
    channels, height, width = one_input(row, inputs, shapes)
    units = row.whole("units")
    weights = channels * height * width * units
    return Layer(name, "fc", inputs, (units, 1, 1), weights + units * row.flag("bias", True), weights)


def batchnorm(name: str, source: str, shape: Shape) -> Layer:
    """Returns batch normalisation of one layer, which trains a scale and an offset for each channel."""
    return Layer(name, "batchnorm", (source,), shape, 2 * shape[0])


def _batchnorm(row: Table, name: str, inputs: tuple[str, ...], shapes: list[Shape]) -> Layer:
    return batchnorm(name, inputs[0], one_input(row, inputs, shapes))


def same_shape(kind: str) -> Builder:
    """Returns what makes layers of a kind whose output has the shape of their only input."""

    def build(row: Table, name: str, inputs: tuple[str, ...], shapes: list[Shape]) -> Layer:
        return Layer(name, kind, inputs, one_input(row, inputs, shapes))

    return build


def dropout(name: str, source: str, shape: Shape, rate: float, where: str) -> Layer:
    """Returns dropout of one layer; ``where`` names the row that asks for it in messages."""
    if not 0 < rate < 1:
        raise TableError(f"{where} drops {rate!r} of the values; it must be more than 0 and less than 1")
    return Layer(name, "dropout", (source,), shape, rate=rate)


def _dropout(row: Table, name: str, inputs: tuple[str, ...], shapes: list[Shape]) -> Layer:
    return dropout(name, inputs[0], one_input(row, inputs, shapes), row.number("rate"), row.where)


def _concat(row: Table, name: str, inputs: tuple[str, ...], shapes: list[Shape]) -> Layer:
    if len({shape[1:] for shape in shapes}) != 1:
        raise TableError(
            f"{row.where} joins layers of different height or width: {', '.join(map(str, shapes))}"
        )
    return Layer(name, "concat", inputs, (sum(shape[0] for shape in shapes), *shapes[0][1:]))


def _add(row: Table, name: str, inputs: tuple[str, ...], shapes: list[Shape]) -> Layer:
    if len(inputs) < 2 or len(set(shapes)) != 1:
        raise TableError(
            f"{row.where} adds {', '.join(map(str, shapes))}; it needs two or more layers of one shape"
        )
    return Layer(name, "add", inputs, shapes[0])


#: From a kind of layer to the function that makes one from its row, its name, its inputs and their shapes.
BUILDERS: dict[str, Builder] = {
    "conv": _conv,
    "pool": _pool,
    "fc": _fc,
    "relu": same_shape("relu"),
    "lrn": same_shape("lrn"),
    "softmax": same_shape("softmax"),
    "batchnorm": _batchnorm,
    "dropout": _dropout,
    "concat": _concat,
    "add": _add,
}


def _embedding(row: Table, name: str, inputs: tuple[str, ...], shapes: list[Shape]) -> Layer:
    """A learnt vector for each symbol, plus one for each of the first ``positions`` places, if there are any."""
    _, height, width = one_input(row, inputs, shapes)
    numbers = row.whole("width")
    rows = row.whole("vocabulary") + row.whole("positions", 0, least=0)
    return Layer(name, "embedding", inputs, (numbers, height, width), rows * numbers)


def _linear(row: Table, name: str, inputs: tuple[str, ...], shapes: list[Shape]) -> Layer:
    """A matrix applied to every token. ``tied`` shares the matrix of another layer, so it adds no parameters."""
    channels, height, width = one_input(row, inputs, shapes)
    units = row.whole("units")
    weights = channels * units
    own = 0 if row.flag("tied", False) else weights
    parameters = own + units * row.flag("bias", True)
    return Layer(name, "linear", inputs, (units, height, width), parameters, weights * height * width)


def _layernorm(row: Table, name: str, inputs: tuple[str, ...], shapes: list[Shape]) -> Layer:
    """Normalisation of each token: ``layer`` trains a scale and an offset of each number, ``rms`` a scale."""
    shape = one_input(row, inputs, shapes)
    mode = row.choice("mode", ("layer", "rms"), "layer")
    return Layer(name, "layernorm", inputs, shape, (2 if mode == "layer" else 1) * shape[0], mode=mode)


def _mul(row: Table, name: str, inputs: tuple[str, ...], shapes: list[Shape]) -> Layer:
    if len(inputs) != 2 or len(set(shapes)) != 1:
        raise TableError(
            f"{row.where} multiplies {', '.join(map(str, shapes))}; it needs two layers of one shape"
        )
    return Layer(name, "mul", inputs, shapes[0])


def attention(row: Table, name: str, inputs: tuple[str, ...], shapes: list[Shape]) -> list[Layer]:
    """Returns the layers of an attention that reads queries, keys and values.

    ``fused`` is one layer that never writes the scores and computes them again in the backward pass. Otherwise the scores,
    their softmax and what dropout leaves of it are maps of their own, one square for each head, which is what makes long
    sequences large. With ``causal`` the softmax is zero for the tokens to come. Keys and values may have fewer numbers
    than queries: several heads then share them.
    """
    if len(inputs) != 3:
        raise TableError(f"{row.where} reads {len(inputs)} layers; attention reads queries, keys and values")
    heads, (queries, keys, values) = row.whole("heads"), shapes
    of_head, rest = divmod(queries[0], heads)
    if rest or keys[0] % of_head or keys != values or heads % (keys[0] // of_head):
        raise TableError(
            f"{row.where} has {heads} heads for {queries[0]} numbers of queries, {keys[0]} of keys and {values[0]} of "
            "values; keys and values must be alike, and all must be whole numbers of heads that divide"
        )
    before, length = queries[1] * queries[2], keys[1] * keys[2]
    causal, macs = row.flag("causal", False), heads * before * length * of_head
    rate = row.number("dropout", 0.0, least=0.0)
    if row.flag("fused", False):
        # A causal one leaves out the half that is masked.
        return [Layer(name, "attention", inputs, queries, macs=macs if causal else 2 * macs, rate=rate)]
    square = (heads, before, length)
    density = (length + 1) / (2 * length) if causal and before == length else None
    layers = [
        Layer(f"{name}/scores", "scores", inputs[:2], square, macs=macs),
        Layer(f"{name}/softmax", "softmax", (f"{name}/scores",), square, density=density),
    ]
    if rate:
        layers.append(Layer(f"{name}/dropout", "dropout", (f"{name}/softmax",), square, rate=rate))
    return [*layers, Layer(name, "context", (layers[-1].name, inputs[2]), queries, macs=macs)]


#: From a kind of layer to the function that makes one; attention, which becomes several layers, is by itself.
TOKEN_BUILDERS: dict[str, Builder] = {
    "embedding": _embedding,
    "linear": _linear,
    "layernorm": _layernorm,
    "gelu": same_shape("gelu"),
    "silu": same_shape("silu"),
    "mul": _mul,
}
