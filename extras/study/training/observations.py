"""The four observations on activation density in training, as statements with numbers on what was recorded.

Rhu et al. (HPCA 2018) made them on networks trained on ImageNet. Here each is a criterion that recorded
networks meet or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cdma.study.system.density_table import DensityTable, LayerRecord

__all__ = ["Finding", "findings"]

#: The most that the density of the first convolution may differ from one half.
_HALF = 0.1
#: The least fall of density that counts, and the least rise after it.
_FALL, _RISE = 0.05, 0.005


@dataclass(frozen=True)
class Finding:
    """One observation on one network."""

    #: 1 to 4.
    observation: int
    claim: str
    network: str
    holds: bool
    #: The numbers that decide, in words.
    evidence: str


def findings(table: DensityTable) -> list[Finding]:
    """Returns each observation on each network with the layers that it is about."""
    result = []
    for network, layers in table.networks.items():
        result.append(_first_near_half(network, layers))
        if any(layer.kind == "pool" for layer in layers):
            result.append(_pooling_raises(network, layers))
        if sum(layer.kind != "pool" for layer in layers) > 1:
            result.append(_u_over_time(network, layers))
            result.append(_later_is_sparser(network, layers))
    return sorted(result, key=lambda finding: finding.observation)


def _first_near_half(network: str, layers: Sequence[LayerRecord]) -> Finding:
    first = next(layer for layer in layers if layer.kind == "relu")
    low, high = float(first.density.min()), float(first.density.max())
    return Finding(
        1,
        f"the first convolution stays within {_HALF} of density 0.5",
        network,
        low >= 0.5 - _HALF and high <= 0.5 + _HALF,
        f"{first.name}: {low:.2f} to {high:.2f}, {first.density.mean():.2f} on average",
    )


def _pooling_raises(network: str, layers: Sequence[LayerRecord]) -> Finding:
    gains = np.concatenate(
        [
            layer.density - _density_before(layers, index)
            for index, layer in enumerate(layers)
            if layer.kind == "pool"
        ]
    )
    return Finding(
        2,
        "pooling always raises density",
        network,
        bool((gains > 0).all()),
        f"by {gains.min():+.2f} to {gains.max():+.2f}; it rises in {np.mean(gains > 0):.0%} of all looks",
    )


def _u_over_time(network: str, layers: Sequence[LayerRecord]) -> Finding:
    later = [layer for layer in layers if layer.kind != "pool"][1:]
    fallen = [layer for layer in later if layer.density[0] - layer.density.min() >= _FALL]
    risen = [layer for layer in fallen if layer.density[-1] - layer.density.min() >= _RISE]
    rise = max((float(layer.density[-1] - layer.density.min()) for layer in fallen), default=0.0)
    return Finding(
        3,
        f"most later layers fall by {_FALL} or more, then creep up by {_RISE} or more",
        network,
        len(risen) * 2 > len(later),
        f"of {len(later)} layers {len(fallen)} fall, {len(risen)} of these creep up, by up to {rise:.3f}",
    )


def _later_is_sparser(network: str, layers: Sequence[LayerRecord]) -> Finding:
    last = [float(layer.density[-1]) for layer in layers if layer.kind != "pool"]
    half = len(last) // 2
    early, late = float(np.mean(last[:half])), float(np.mean(last[-half:]))
    slope = float(np.corrcoef(np.arange(len(last)), last)[0, 1]) if np.ptp(last) else 0.0
    return Finding(
        4,
        "after training density falls with depth, and the later half of the layers is the sparser one",
        network,
        late < early and slope < -0.3,
        f"{early:.2f} in the earlier half, {late:.2f} in the later; correlation with depth {slope:+.2f}",
    )


def _density_before(layers: Sequence[LayerRecord], index: int) -> NDArray[np.float64]:
    """Returns the density of a pooling layer's input: of the layers before it that together have its channels."""
    channels = layers[index].shape[0] if layers[index].shape else 0
    density, seen = np.zeros_like(layers[index].density), 0
    for layer in reversed(layers[:index]):
        width = layer.shape[0] if layer.shape else 1
        density, seen = density + width * layer.density, seen + width
        if seen >= channels:
            break
    return density / max(seen, 1)
