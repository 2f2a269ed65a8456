"""The layers of transformers. Tokens are images of one row: a token's numbers are the channels, the tokens the width."""

from __future__ import annotations

from cdma.base.toml_table import Table, TableError

from .layers import Builder, Layer, Shape, one_input, same_shape

__all__ = ["TOKEN_BUILDERS", "attention"]


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
