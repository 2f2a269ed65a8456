"""Decoding with a cache of keys and values: the next token of each sequence, when the device has no room for the cache.

For a token, every layer reads its weights and the keys and values of all tokens before. What of these the device has no
room for lies in the host, and comes through the engine for every token again, while the layers before it compute.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from cdma.base.errors import ParameterError

from .layers import Layer
from .model import NO_ALGORITHM, Model
from .networks import Network
from .policies import COMPRESSING
from .roofline import layer_efficiency
from .step import Transfer

#: Where the cache is: whole in the device, even if it does not fit; the rest of it raw or compressed in the host; and with a
#: link that takes no time.
DECODING_POLICIES = ("none", "vdnn_all", "cdma", "oracle")


@dataclass(frozen=True)
class Decoding:
    """One policy at one length of the context.

    ``resident``: The part of the cache that the device's memory has room for, beside the parameters.
    ``ratio``: Of the keys and values that come from the host.
    ``token_s``: From one token of every sequence to the next.
    ``bottleneck``: What takes that long.
    """

    network: str
    machine: str
    batch: int
    context: int
    policy: str
    algorithm: str
    cache_bytes: float
    parameter_bytes: float
    resident: float
    fits: bool
    ratio: float
    token_s: float
    bottleneck: str

    @property
    def tokens_per_s(self) -> float:
        """Of all sequences together."""
        return self.batch / self.token_s

    def as_dict(self) -> dict[str, Any]:
        """The row for JSON."""
        return {**asdict(self), "tokens_per_s": self.tokens_per_s}


def decoding(model: Model, context: int, policy: str, algorithm: str) -> Decoding:
    """Returns the time of a token after ``context`` others, at the end of the training whose densities are recorded."""
    network, gpu, rates = model.network, model.machine.gpu, model.planner.assumptions.compute
    cached = _cached(network)
    length = _length(network)
    longer = context / length
    cache = sum(network.bytes_of(name) for name in cached) * network.batch * longer
    parameters = float(sum(layer.parameters * layer.number_bytes for layer in network.layers))
    resident = min(1.0, max(0.0, gpu.memory_bytes - parameters) / cache)
    compressing = policy in COMPRESSING
    transfers = model.transfers(policy, algorithm, 1.0) if policy in ("vdnn_all", "cdma") else {}
    used = {name: transfers[name] for name in cached if name in transfers}
    # A policy may leave out what no layer that extracts features reads.
    if used and len(used) < len(cached):
        raise ParameterError(f"policy {policy} does not offload all keys and values of {network.name}")
    away = 0.0 if policy == "none" else 1 - resident

    written = cache * away
    times = {
        "arithmetic": _arithmetic(model, context),
        "device memory": (_weights(network) + cache + written)
        / (gpu.dram_bytes_per_s * rates.dram_efficiency),
        **_transferred(used, away * longer),
    }
    bottleneck = max(times, key=lambda part: times[part])
    launches = len(network.layers) * rates.launch_us * 1e-6
    return Decoding(
        network.name,
        model.machine.name,
        network.batch,
        context,
        policy,
        algorithm if compressing else NO_ALGORITHM,
        cache,
        parameters,
        resident,
        policy != "none" or resident == 1.0,
        sum(each.raw_bytes for each in used.values()) / sum(each.link_bytes for each in used.values())
        if used
        else 1.0,
        times[bottleneck] + launches,
        bottleneck,
    )


def longest_resident(model: Model) -> int:
    """Returns the longest context whose cache the device's memory has room for."""
    network = model.network
    parameters = sum(layer.parameters * layer.number_bytes for layer in network.layers)
    of_token = sum(network.bytes_of(name) for name in _cached(network)) * network.batch / _length(network)
    return max(0, int((model.machine.gpu.memory_bytes - parameters) / of_token))


def _cached(network: Network) -> list[str]:
    """The layers that give keys and values."""
    found: dict[str, None] = {}
    for layer in network.layers:
        if layer.kind == "attention":
            found |= dict.fromkeys(layer.inputs[1:])
        elif layer.kind in ("scores", "context"):
            found[layer.inputs[1]] = None
    if not found:
        raise ParameterError(
            f"decode is given for {network.name}, which has no attention, so it has no cache of keys and values"
        )
    return list(found)


def _length(network: Network) -> int:
    """The tokens of a sequence, for which the network's layers are described."""
    return network.input_shape[1] * network.input_shape[2]


def _token_macs(layer: Layer) -> int:
    """Multiplications of a layer with parameters for one token."""
    _, height, width = layer.shape
    return layer.macs // (height * width)


def _weights(network: Network) -> float:
    """Bytes of the matrices that a token is multiplied with, a tied one each time."""
    return float(
        sum(_token_macs(layer) * layer.number_bytes for layer in network.layers if layer.kind == "linear")
    )


def _arithmetic(model: Model, context: int) -> float:
    """Seconds of the multiplications for a token of each sequence."""
    network, gpu, rates = model.network, model.machine.gpu, model.planner.assumptions.compute
    seconds = 0.0
    for layer in network.layers:
        if layer.kind == "linear":
            macs = _token_macs(layer)
        elif layer.kind in ("attention", "context"):
            # Scores and their products with the values; a query has as many numbers as the output.
            macs = 2 * layer.shape[0] * context
        else:
            continue
        flops = 2.0 * macs * network.batch
        seconds += flops / (gpu.flops * layer_efficiency(layer, gpu, rates))
    return seconds


def _transferred(used: Mapping[str, Transfer], times: float) -> dict[str, float]:
    """Seconds for which each part of the machine is busy with the keys and values that come from the host."""
    busy: dict[str, float] = {}
    for transfer in used.values():
        cost = transfer.prefetch
        start = cost.seconds - max(cost.limits.values())
        for part, seconds in cost.limits.items():
            if part != "device memory":
                busy[part] = busy.get(part, 0.0) + times * seconds + (start if times else 0.0)
    return busy
