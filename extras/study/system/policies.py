"""The time of a transfer through the parts of the machine that it passes, all at once.

The times of kernels that compress on a GPU, for CSWAP's equations, where there is no GPU to time them.

:class:`KernelTimes` gives them the compiled codec's times on a processor, in copies of the tensor: how fast the card copies
is what is left to assume.

What is offloaded, and what compresses it: one function for each policy.

================  ==================================================================================
``none``          nothing is offloaded; does it fit?
``vdnn_all``      every map that a feature-extracting layer reads, uncompressed
``vdnn_conv``     only what convolutions read, and in transformers linear layers
``lms``           what is larger than a threshold, once a fraction of the device memory is in use
``vdnn++``        as ``vdnn_all``, compressed by the host's processors: the link carries raw data
``cdma``          as ``vdnn_all``, all of it compressed by the engine in flight
``cdma_conv``     as ``vdnn_conv``, all of it compressed by the engine in flight
``cdma_select``   as ``cdma``, but each map by CSWAP's equations with the engine's times
``static``        as ``vdnn_all``, all of it compressed by kernels on the device
``cswap``         the same, but each map by CSWAP's equations, decided anew every epoch
``oracle``        as ``vdnn_all``, over a link that takes no time
================  ==================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np

from cdma.study.system.machine import Kernels
from cdma.torch.swapping.policies import CostModel

from .engine_rate import DIRECTIONS, measured_engine_laws, measured_shares, unit_bytes_per_s
from .feature_maps import ALGORITHMS, Compression, FeatureMap
from .planner import StepPlanner
from .roofline import Cost
from .step import Transfer

#: Copies of a tensor that the compiled codec takes on one thread of a processor, by density: medians for tensors of 128 MiB,
#: which no cache holds. Without any zero to skip, decompression takes twice as long as with a few.
_DENSITIES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)
_COPIES = {
    "compress": (0.875, 0.901, 0.928, 0.923, 0.909, 0.94, 0.993, 1.101, 1.138, 1.211, 1.293, 1.358, 1.318),
    "decompress": (0.543, 0.547, 0.58, 0.623, 0.683, 0.722, 0.797, 0.833, 0.926, 0.93, 1.014, 1.114, 2.021),
}


@dataclass(frozen=True)
class KernelTimes:
    """Times of the kernels on a machine."""

    kernels: Kernels
    dram_bytes_per_s: float

    def cost(self, direction: str, raw_bytes: float, density: float, link_bytes: float) -> Cost:
        """Returns the cost to compress or to decompress one tensor: both read one form of it and write the other."""
        return Cost(self.seconds(direction, raw_bytes, density), raw_bytes + link_bytes)

    def seconds(self, direction: str, raw_bytes: float, density: float) -> float:
        """Returns the seconds of a kernel: some copies of its tensor, each of which reads and writes it, and the launch."""
        copies = float(np.interp(density, _DENSITIES, _COPIES[direction]))
        copy_s_per_byte = 2 / (self.dram_bytes_per_s * self.kernels.dram_share)
        return copies * raw_bytes * copy_s_per_byte + self.kernels.launch_us * 1e-6


#: What a transfer passes, from the host on.
PARTS = ("link", "host port", "crossbar", "codec units", "device memory")


def passage(limits: Mapping[str, float], start: float, dram_bytes: float, link_bytes: float) -> Cost:
    """Returns the cost of a transfer that keeps each part of the machine busy for so many seconds, after its ``start``."""
    assert set(limits) <= set(PARTS), limits
    return Cost(max(limits.values()) + start, dram_bytes, link_bytes, limits)


def without(transfer: Transfer, parts: Collection[str]) -> Transfer:
    """Returns the transfer on a machine where these parts take no time."""

    def relieved(cost: Cost) -> Cost:
        if not cost.limits:
            return cost
        start = cost.seconds - max(cost.limits.values())
        limits = {part: 0.0 if part in parts else seconds for part, seconds in cost.limits.items()}
        link_bytes = 0.0 if "link" in parts else cost.link_bytes
        return replace(cost, seconds=max(limits.values()) + start, limits=limits, link_bytes=link_bytes)

    return replace(transfer, offload=relieved(transfer.offload), prefetch=relieved(transfer.prefetch))


#: The policies that compress, each with the algorithms that its compressor may use.
COMPRESSING: dict[str, tuple[str, ...]] = {
    "vdnn++": ("zv",),
    "cdma": ALGORITHMS,
    "cdma_conv": ALGORITHMS,
    "cdma_select": ALGORITHMS,
    "static": ("zv",),
    "cswap": ("zv",),
}

#: What extracts features in the sense of ``vdnn_conv``; in transformers, matrices applied to every token.
_EXTRACTS = ("conv", "linear")

_FREE = Cost(0.0, 0.0)


@dataclass(frozen=True)
class Situation:
    """A network on a machine at one moment of its training."""

    planner: StepPlanner
    compression: Compression
    progress: float

    def at(self, progress: float) -> Situation:
        """Returns the situation at another moment."""
        return replace(self, progress=progress)

    @property
    def link_latency_s(self) -> float:
        """Seconds to start a transfer."""
        return self.planner.assumptions.link.latency_us * 1e-6

    @property
    def kernel_times(self) -> KernelTimes:
        """The kernels of this machine."""
        return KernelTimes(self.planner.assumptions.kernels, self.planner.dram_bytes_per_s)

    def link_bytes(self, item: FeatureMap) -> float:
        """Returns the bytes of a compressed map."""
        return self.planner.bytes_of(item) * self.compression.fraction(item, self.progress)

    def density(self, item: FeatureMap) -> float:
        """Returns the part of a map's words that is not zero."""
        return self.compression.density(item, self.progress)

    def _outside(self, moved: float) -> list[dict[str, float]]:
        """Returns the seconds for which bytes keep busy what is between the codecs and the host, out and back."""
        machine = self.planner.machine
        ports = {
            "host port": moved / machine.port_bytes_per_s,
            "crossbar": moved / machine.crossbar_bytes_per_s,
        }
        return [{"link": moved / rate, **ports} for rate in self.planner.link_rates]

    def plain(self, item: FeatureMap) -> Transfer:
        """Returns the transfer of a map without compression."""
        raw = self.planner.bytes_of(item)
        offload, prefetch = (passage(limits, self.link_latency_s, raw, raw) for limits in self._outside(raw))
        return Transfer(raw, raw, offload, prefetch, host_bytes=raw)

    def by_engine(self, item: FeatureMap) -> Transfer:
        """Returns the transfer of a map that the engine compresses on its way out and decompresses on its way in."""
        raw, link = self.planner.bytes_of(item), self.link_bytes(item)
        engine, density = self.planner.machine.engine, self.compression.literals(item, self.progress)
        fetch = engine.fetch_bytes_per_s
        rates = [unit_bytes_per_s(engine, direction, density) for direction in DIRECTIONS]
        if self.compression.algorithm == "zl_hw":
            slow = self.planner.assumptions.codecs.zl_hw_GBps * 1e9
            rates = [min(rate, slow) for rate in rates]
        costs = []
        for direction, rate, outside in zip(DIRECTIONS, rates, self._outside(link), strict=True):
            # What units lose to their order they lose on both sides, whichever is the slower one.
            share = measured_shares()[direction].at(engine.units, density)
            limits = {
                **outside,
                "host port": outside["host port"] / share,
                "codec units": raw / rate / share,
                "device memory": raw / fetch if direction == "compress" else 0.0,
            }
            cycles = measured_engine_laws()[direction].start_up(engine.latency_s * engine.clock_hz)
            start = self.link_latency_s + cycles / engine.clock_hz
            costs.append(passage(limits, start, raw, link))
        offload, prefetch = costs
        return Transfer(raw, link, offload, prefetch, host_bytes=link)

    def by_kernel(self, item: FeatureMap) -> Transfer:
        """Returns the transfer of a map that kernels of the device compress before it, and decompress after it."""
        raw, link = self.planner.bytes_of(item), self.link_bytes(item)
        offload, prefetch = (
            passage(limits, self.link_latency_s, link, link) for limits in self._outside(link)
        )
        there, back = (
            self.kernel_times.cost(direction, raw, self.density(item), link) for direction in DIRECTIONS
        )
        return Transfer(raw, link, offload, prefetch, there, back, host_bytes=link)

    def by_host(self, item: FeatureMap) -> Transfer:
        """Returns the transfer of a map that the host compresses as it arrives, and decompresses as it leaves."""
        raw, cpu = self.planner.bytes_of(item), self.planner.assumptions.cpu
        d2h, h2d = self.planner.link_rates
        out = max(raw / d2h, raw / (cpu.compress_GBps * 1e9))
        back = max(raw / h2d, raw / (cpu.decompress_GBps * 1e9))
        latency = self.link_latency_s
        return Transfer(
            raw, raw, Cost(out + latency, raw), Cost(back + latency, raw), host_bytes=self.link_bytes(item)
        )

    def kernel_decisions(self) -> list[bool]:
        """Returns whether CSWAP compresses each map: whether its swap is then exposed for less time."""
        return [compressed < plain for _, plain, compressed in self.exposed()]

    def exposed(self) -> list[tuple[str, float, float]]:
        """Returns the seconds by which the swap of each map is exposed, plain and compressed (equations 1 to 4)."""
        return [
            (
                item.name,
                model.plain,
                model.compressed(
                    *(
                        self.kernel_times.seconds(direction, model.size, model.density)
                        for direction in DIRECTIONS
                    )
                ),
            )
            for item, model in self._models()
        ]

    def engine_decisions(self) -> list[bool]:
        """Returns whether the engine makes each map smaller without more exposed time."""
        chosen = []
        for item, model in self._models():
            transfer = self.by_engine(item)
            exposed = max(transfer.offload.seconds - model.hidden_forward, 0.0) + max(
                transfer.prefetch.seconds - model.hidden_backward, 0.0
            )
            chosen.append(transfer.link_bytes < transfer.raw_bytes and exposed <= model.plain)
        return chosen

    def _models(self) -> list[tuple[FeatureMap, CostModel]]:
        maps = self.planner.offloadable
        hidden = self.planner.hidden({item.name for item in maps})
        return [
            (
                item,
                CostModel(
                    self.planner.bytes_of(item),
                    self.density(item),
                    *self.planner.link_rates,
                    *hidden[item.name],
                ),
            )
            for item in maps
        ]


def _all(situation: Situation, make: Callable[[FeatureMap], Transfer]) -> dict[str, Transfer]:
    return {item.name: make(item) for item in situation.planner.offloadable}


def _conv(situation: Situation, make: Callable[[FeatureMap], Transfer]) -> dict[str, Transfer]:
    planner = situation.planner
    return {item.name: make(item) for item in planner.offloadable if planner.read_by(item, _EXTRACTS)}


def _lms(situation: Situation) -> dict[str, Transfer]:
    planner, lms = situation.planner, situation.planner.assumptions.lms
    used = planner.always_bytes
    limit = lms.fraction * planner.machine.gpu.memory_bytes
    chosen = {}
    offloadable = {item.name for item in planner.offloadable}
    for item in planner.maps:
        size = planner.bytes_of(item)
        if used + size > limit and size > lms.threshold_KB * 1000 and item.name in offloadable:
            chosen[item.name] = situation.plain(item)
        elif item.kept:
            used += size
    return chosen


def _cdma_select(situation: Situation) -> dict[str, Transfer]:
    return {
        item.name: situation.by_engine(item) if compress else situation.plain(item)
        for item, compress in zip(situation.planner.offloadable, situation.engine_decisions(), strict=True)
    }


def _cswap(situation: Situation) -> dict[str, Transfer]:
    """Decides with the densities at the beginning of the epoch, for the whole epoch."""
    epochs = situation.planner.assumptions.kernels.epochs
    decided = situation.at(int(situation.progress * epochs) / epochs)
    return {
        item.name: situation.by_kernel(item) if compress else situation.plain(item)
        for item, compress in zip(situation.planner.offloadable, decided.kernel_decisions(), strict=True)
    }


def _oracle(situation: Situation) -> dict[str, Transfer]:
    return _all(situation, lambda item: replace(situation.plain(item), offload=_FREE, prefetch=_FREE))


#: From the name of a policy to the function that returns its transfers.
POLICIES: dict[str, Callable[[Situation], dict[str, Transfer]]] = {
    "none": lambda situation: {},
    "vdnn_all": lambda situation: _all(situation, situation.plain),
    "vdnn_conv": lambda situation: _conv(situation, situation.plain),
    "lms": _lms,
    "vdnn++": lambda situation: _all(situation, situation.by_host),
    "cdma": lambda situation: _all(situation, situation.by_engine),
    "cdma_conv": lambda situation: _conv(situation, situation.by_engine),
    "cdma_select": _cdma_select,
    "static": lambda situation: _all(situation, situation.by_kernel),
    "cswap": _cswap,
    "oracle": _oracle,
}


def plan(policy: str, situation: Situation) -> dict[str, Transfer]:
    """Returns the transfers of the maps that ``policy`` offloads in a situation, by name."""
    return POLICIES[policy](situation)
