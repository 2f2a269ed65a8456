"""Networks that people run, as the model computes them: from the operations in their records.

A map has the density of its own record, and in codes of the exponent its own compressed bytes. Numbers are of bf16, as for
a training today; an image of the batch is the whole input that the record was made with. Operations without a kind of layer
count as the nearest that reads and keeps the same: every function of one tensor as ``silu``, whose input the backward
computation reads.
"""

from __future__ import annotations

from cdma.study.real.record import Operation, Record

from .layers import Layer
from .networks import INPUT, Network

#: From the operations of ONNX, TensorFlow Lite, ncnn and PyTorch to kinds of layers.
_KINDS = {
    "conv": "conv conv2d conv_2d depthwise_conv_2d convolution convolutiondepthwise convtranspose transpose_conv",
    "linear": "linear matmul gemm fully_connected lstm",
    "relu": "relu",
    "pool": "maxpool maxpool2d max_pool_2d averagepool average_pool_2d globalaveragepool mean reducemean reducesum "
    "reducemax reducemin resize resize_bilinear interp pixelshuffle where neg",
    "batchnorm": "batchnorm2d batchnormalization",
    "concat": "concat concatenation",
    "softmax": "softmax",
    "add": "add sub binaryop eltwise",
    "mul": "mul div",
}
_KIND = {operation: kind for kind, operations in _KINDS.items() for operation in operations.split()}


def recorded_network(record: Record, batch: int = 32) -> Network:
    """The network of a record that has operations."""
    names = [f"{place}:{operation.operation}" for place, operation in enumerate(record.operations)]
    layers = [
        _layer(name, operation, names) for name, operation in zip(names, record.operations, strict=True)
    ]
    # What the first operation reads is not recorded; it is little beside the maps, and nobody offloads it.
    return Network(record.name, (1, 1, 1), batch, "vgg", tuple(layers), "bf16")


def _layer(name: str, operation: Operation, names: list[str]) -> Layer:
    inputs = tuple(names[place] if place >= 0 else INPUT for place in operation.reads)
    kind = _KIND.get(operation.operation, "silu")
    if kind == "linear" and not operation.parameters:
        kind = "context"  # A product of two tensors.
    elif kind in ("add", "mul") and len(inputs) == 1:
        kind = "add"  # With a constant: the backward computation reads nothing.
    return Layer(
        name,
        kind,
        inputs,
        (operation.elements, 1, 1),
        operation.parameters,
        operation.macs,
        mode="max"
        if "maxpool" in operation.operation.replace("_", "")
        else "average"
        if kind == "pool"
        else "",
        density=operation.density,
        packed=operation.packed,
        number_type="bf16",
    )
