"""The time that a layer computes: that of its arithmetic or of its memory traffic, whichever is longer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .layers import Layer
from .machine import Compute, Gpu
from .networks import INPUT, Network

#: Bytes of a parameter as the optimiser keeps it, of its gradient and its momentum, whatever type the layers compute with.
FLOAT_BYTES = 4


#: Layers that multiply matrices, and those of them that have parameters.
_MATRICES = ("fc", "linear", "attention", "scores", "context")
_LEARNT = ("conv", "fc", "linear")


@dataclass(frozen=True)
class Cost:
    """Seconds without other users of the memory, and the bytes that move to and from memory in that time.

    ``link_bytes``, ``limits``: Of a transfer: its bytes over the link, and the seconds for which it keeps each part of
        the machine busy; see :mod:`.policies`.
    """

    seconds: float
    dram_bytes: float
    link_bytes: float = field(default=0.0, compare=False)
    limits: Mapping[str, float] = field(default_factory=dict, compare=False)


def _cost(gpu: Gpu, rates: Compute, flops: float, efficiency: float, moved: float, kernels: int) -> Cost:
    """``efficiency`` is the part of the peak of 32-bit floating point that is reached."""
    arithmetic = flops / (gpu.flops * efficiency)
    memory = moved / (gpu.dram_bytes_per_s * rates.dram_efficiency)
    return Cost((max(arithmetic, memory) + kernels * rates.launch_us * 1e-6) * rates.times, moved)


def _sizes(network: Network, layer: Layer) -> tuple[float, float]:
    """Returns the bytes that a layer reads, and those of its output, for a batch."""
    read = sum(network.bytes_of(name) for name in layer.inputs)
    return float(read * network.batch), float(network.bytes_of(layer.name) * network.batch)


def layer_efficiency(layer: Layer, gpu: Gpu, rates: Compute) -> float:
    """Returns the part of the peak of 32-bit floating point that a layer reaches; words of 16 bits may be faster."""
    faster = gpu.half_flops / gpu.flops if layer.number_bytes == 2 and gpu.half_flops else 1.0
    if layer.kind in _MATRICES:
        return rates.fc_efficiency * faster
    return rates.conv_efficiency * faster * (rates.winograd_gain if layer.small_kernel else 1.0)


def forward(network: Network, layer: Layer, gpu: Gpu, rates: Compute, copied: float = 1.0) -> Cost:
    """Returns the cost of a layer's forward computation; ``copied`` is the part of a joint layer that is copied into it."""
    read, given = _sizes(network, layer)
    if layer.kind == "concat":
        return _cost(gpu, rates, 0, 1, (read + given) * copied, 1 if copied else 0)
    if layer.kind == "embedding":
        return _cost(gpu, rates, 0, 1, 2 * given, 1)  # The rows that it copies, not the whole table.
    passes = 2 if layer.kind == "batchnorm" else 1  # The first pass computes mean and variance.
    weights = layer.parameters * layer.number_bytes
    flops = 2.0 * layer.macs * network.batch
    return _cost(gpu, rates, flops, layer_efficiency(layer, gpu, rates), passes * read + given + weights, 1)


def backward(network: Network, layer: Layer, gpu: Gpu, rates: Compute, copied: float = 1.0) -> Cost:
    """Returns the cost of a layer's backward computation: gradients of its inputs, except images, and of its parameters."""
    read, given = _sizes(network, layer)
    weights = layer.parameters * layer.number_bytes
    if layer.kind in _LEARNT:
        flops = 2.0 * layer.macs * network.batch
        of_parameters = _cost(
            gpu, rates, flops, layer_efficiency(layer, gpu, rates), read + given + weights, 1
        )
        if layer.inputs == (INPUT,):
            return of_parameters
        of_input = _cost(gpu, rates, flops, layer_efficiency(layer, gpu, rates), given + weights + read, 1)
        return Cost(of_parameters.seconds + of_input.seconds, of_parameters.dram_bytes + of_input.dram_bytes)
    if layer.kind in _MATRICES:
        # Gradients of both factors; a fused one computes the scores once more.
        times = 2.5 if layer.kind == "attention" else 2.0
        flops = times * 2.0 * layer.macs * network.batch
        return _cost(gpu, rates, flops, layer_efficiency(layer, gpu, rates), 2 * (read + given), 2)
    if layer.kind == "concat":
        return _cost(gpu, rates, 0, 1, (read + given) * copied, 1 if copied else 0)
    if layer.kind == "add":
        return Cost(0.0, 0.0)  # The gradient of a sum is the gradient of each part.
    moved = {
        "relu": 2 * given + read,
        "dropout": given + read,
        "batchnorm": 2 * (read + given) + read,
        "lrn": 2 * (read + given),
        "softmax": given + read,
        "gelu": 2 * read + given,
        "silu": 2 * read + given,
        "mul": 2 * read + given,
        "layernorm": 2 * read + given,
        "embedding": 3 * given,  # The rows are read, added to and written.
        "pool": 2 * (read + given) if layer.mode == "max" else read + given,
    }
    return _cost(gpu, rates, 0, 1, moved[layer.kind], 1)


def update(network: Network, gpu: Gpu, rates: Compute) -> Cost:
    """Returns the cost of new parameters: parameter, gradient and momentum are read, parameter and momentum written."""
    return _cost(gpu, rates, 0, 1, 5.0 * network.parameters * FLOAT_BYTES, 1)
