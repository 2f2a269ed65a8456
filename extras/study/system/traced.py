"""A network from a PyTorch module: exported by ``torch.export``, one layer for each operation that computes something.

Operations that give the same numbers another shape (views, transpositions, parts) stand for what they read, so a layer that
reads a part reads the whole map. Parameters count where the layer that reads them is first met. What has no kind of layer
here is refused, with its name.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from cdma.base.errors import ParameterError
from cdma.torch.extras import require

from .layers import Layer, Shape
from .networks import INPUT, Network

#: The batch of the example: two, so that nothing takes it for a size that does not matter.
_EXAMPLE = 2

#: What the names of placeholders begin with that are parameters, buffers and constants.
_NOT_INPUTS = ("p_", "b_", "c_", "token")

_TYPES = {"torch.float32": "fp32", "torch.bfloat16": "bf16", "torch.float16": "fp16", "torch.int8": "int8"}

#: From an operation of ATen to the kind of layer.
_KINDS = {
    "conv1d": "conv",
    "conv2d": "conv",
    "linear": "linear",
    "relu": "relu",
    "relu_": "relu",
    "gelu": "gelu",
    "silu": "silu",
    "silu_": "silu",
    "softmax": "softmax",
    "batch_norm": "batchnorm",
    "layer_norm": "layernorm",
    "rms_norm": "layernorm",
    "group_norm": "layernorm",
    "embedding": "embedding",
    "max_pool2d": "pool",
    "avg_pool2d": "pool",
    "adaptive_avg_pool2d": "pool",
    "mean": "pool",
    "dropout": "dropout",
    "dropout_": "dropout",
    "cat": "concat",
    "add": "add",
    "add_": "add",
    "mul": "mul",
    "matmul": "context",
    "bmm": "context",
    "scaled_dot_product_attention": "attention",
}

#: Operations after which the numbers, or a part of them, are the same. A mask and a factor change no exponent that matters.
_SAME = [
    "view",
    "reshape",
    "flatten",
    "permute",
    "transpose",
    "t",
    "unsqueeze",
    "squeeze",
    "contiguous",
    "clone",
    "expand",
    "slice",
    "select",
    "getitem",
    "split",
    "split_with_sizes",
    "chunk",
    "unbind",
    "unflatten",
    "alias",
    "masked_fill",
    "where",
    "div",
    "to",
    "detach",
    "_assert_tensor_metadata",
    "identity",
    "lift_fresh_copy",
]

#: Operations whose result does not depend on the numbers that they read.
_CONSTANT = ("full_like", "zeros_like", "ones_like", "empty_like")


def parse_input(text: str) -> tuple[tuple[int, ...], bool]:
    """Returns the shape of one input, as in ``3x224x224``, and whether it holds symbols, as in ``128:int``."""
    sides, _, kind = text.partition(":")
    try:
        shape = tuple(int(side) for side in sides.split("x"))
    except ValueError:
        shape = ()
    if not shape or min(shape) < 1 or kind not in ("", "int"):
        raise ParameterError(
            f"input is {text!r}; it must be the shape of one input without the batch, such as 3x224x224, or 128:int for "
            "symbols"
        )
    return shape, kind == "int"


def trace_named(name: str, text: str, batch: int, densities: str) -> Network:
    """Returns the network of the module that ``package:factory`` makes without arguments."""
    package, _, factory = name.partition(":")
    try:
        make = getattr(import_module(package), factory)
    except (ImportError, AttributeError, ValueError) as error:
        raise ParameterError(f"module is {name!r}; it must be package:factory: {error}") from None
    shape, symbols = parse_input(text)
    return trace(make(), shape, symbols, batch, factory, densities)


def trace(module: Any, shape: Sequence[int], symbols: bool, batch: int, name: str, densities: str) -> Network:
    """Returns the network that ``module`` computes from inputs of that shape, in training."""
    torch = require("torch", "torch")
    kind = torch.long if symbols else next((value.dtype for value in module.parameters()), torch.float32)
    example = torch.zeros(_EXAMPLE, *shape, dtype=kind)
    try:
        graph = torch.export.export(module.train(), (example,)).graph
    except Exception as error:
        raise ParameterError(f"torch.export cannot trace {name}: {str(error).splitlines()[0]}") from error
    tracer = _Tracer()
    for node in graph.nodes:
        if node.op == "placeholder" and not node.name.startswith(_NOT_INPUTS):
            tracer.gives[node] = INPUT
        elif node.op == "call_function":
            tracer.add(node)
    if not tracer.layers:
        raise ParameterError(f"{name} computes nothing that has a kind of layer")
    return Network(name, _shape(shape), batch, densities, tuple(tracer.layers), _TYPES.get(str(kind), "fp32"))


def _shape(sides: Sequence[int]) -> Shape:
    """Returns channels, height and width: of tokens the last side is the channels."""
    if len(sides) == 3:
        return (sides[0], sides[1], sides[2])
    if len(sides) == 2:
        return (sides[1], 1, sides[0])
    return (math.prod(sides), 1, 1)


class _Tracer:
    """Adds a layer for each operation."""

    def __init__(self) -> None:
        self.layers: list[Layer] = []
        #: From a node of the graph to the layer whose output it is; nodes without one are parameters and constants.
        self.gives: dict[Any, str] = {}
        self._counted: set[Any] = set()
        #: Parameters of operations that became no layer, which the next layer counts.
        self._waiting = 0

    def add(self, node: Any) -> None:
        operation = str(node.target).removeprefix("aten.").partition(".")[0]
        operation = "getitem" if "getitem" in operation else operation
        reads = [self.gives[item] for item in node.all_input_nodes if item in self.gives]
        inputs = tuple(dict.fromkeys(reads))
        if not inputs or operation in _CONSTANT:
            return
        if operation in _SAME:
            self.gives[node] = inputs[0]
            return
        if operation not in _KINDS:
            raise ParameterError(
                f"the module computes {operation}, for which there is no kind of layer; describe the network in a file"
            )
        kind = self._kind(_KINDS[operation], node, reads)
        self._waiting += self._parameters(node)
        if kind is None:
            self.gives[node] = inputs[0]
            return
        value = node.meta["val"]
        parameters, self._waiting = self._waiting, 0
        layer = Layer(
            node.name,
            kind,
            tuple(reads) if kind == "attention" else inputs,
            self._shape(value),
            parameters=parameters,
            macs=self._macs(kind, node),
            small_kernel=self._small(kind, node),
            mode="max" if operation == "max_pool2d" else "average" if kind == "pool" else "",
            rate=float(node.args[1]) if kind == "dropout" else 0.0,
            number_type=_TYPES.get(str(value.dtype), "fp32"),
        )
        self.layers.append(layer)
        self.gives[node] = layer.name

    def _kind(self, kind: str, node: Any, reads: list[str]) -> str | None:
        """Returns the kind of a layer; None if it only adds, joins or multiplies by a parameter or a constant."""
        if kind in ("add", "mul", "concat") and len(reads) < 2:
            return None
        if kind == "context":
            following = {str(user.target) for user in _computing_users(node)}
            return "scores" if any("softmax" in name for name in following) else "context"
        value = node.meta["val"]
        if kind == "linear" and len(value.shape) == 2 and value.shape[0] == _EXAMPLE:
            return "fc"
        return kind

    @staticmethod
    def _shape(value: Any) -> Shape:
        """Returns the shape for one image; where the batch is not the first side, that of all its numbers in a row."""
        if value.shape[0] == _EXAMPLE:
            return _shape([int(side) for side in value.shape[1:]])
        return (value.numel() // _EXAMPLE, 1, 1)

    def _parameters(self, node: Any) -> int:
        total = 0
        for item in node.all_input_nodes:
            if item.op == "placeholder" and item.name.startswith("p_") and item not in self._counted:
                self._counted.add(item)
                total += item.meta["val"].numel()
        return total

    @staticmethod
    def _macs(kind: str, node: Any) -> int:
        """Multiplications for one image."""
        each = node.meta["val"].numel() // _EXAMPLE
        sources = [item.meta["val"] for item in node.all_input_nodes]
        if kind == "conv":
            return each * math.prod(sources[1].shape[1:])
        if kind in ("linear", "fc", "scores", "context"):
            return each * int(sources[0].shape[-1])
        if kind == "attention":
            keys = sources[1].shape
            return 2 * each * int(keys[-2])
        return 0

    @staticmethod
    def _small(kind: str, node: Any) -> bool:
        if kind != "conv":
            return False
        weight = node.all_input_nodes[1].meta["val"]
        stride = node.args[3] if len(node.args) > 3 else [1, 1]
        return tuple(weight.shape[2:]) == (3, 3) and list(stride) == [1, 1]


def _computing_users(node: Any) -> list[Any]:
    """Returns the operations that read a node, behind those that give the same numbers."""
    found = []
    for user in node.users:
        operation = str(user.target).removeprefix("aten.").partition(".")[0]
        found += _computing_users(user) if operation in _SAME else [user]
    return found
