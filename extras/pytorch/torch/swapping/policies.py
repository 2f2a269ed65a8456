"""CSWAP's question: is it worth compressing this tensor? (Chen et al., CLUSTER 2021, equations 1 to 4.)

What becomes of each tensor that autograd keeps: one class for each paper's policy.

A policy sees a tensor as it is kept, with what was learnt of it in earlier passes, and says what is done with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from operator import eq
from statistics import mean
from typing import TYPE_CHECKING

import numpy as np

from cdma.base.errors import ParameterError
from cdma.hdl.spec.settings import check_choice, check_range

if TYPE_CHECKING:
    from cdma.torch.keeping import Slot

#: Samples that a fit needs, one for each of its terms.
_LEAST = 3


@dataclass(frozen=True)
class CostModel:
    """Equations 1 to 4 for one tensor, in seconds and bytes.

    ``mask``: Bytes that a stream has beside what is not zero. The paper leaves them out.
    """

    size: float
    density: float
    d2h_bytes_per_s: float
    h2d_bytes_per_s: float
    hidden_forward: float
    hidden_backward: float
    mask: float = 0.0

    @property
    def plain(self) -> float:
        """T', the exposed time to swap it without compression (equation 1)."""
        return self._exposed(self.size)

    def compressed(self, compress_s: float, decompress_s: float) -> float:
        """Returns T, the exposed time to swap it compressed (equations 2 to 4)."""
        return compress_s + decompress_s + self._exposed(self.size * self.density + self.mask)

    def _exposed(self, size: float) -> float:
        return max(size / self.d2h_bytes_per_s - self.hidden_forward, 0.0) + max(
            size / self.h2d_bytes_per_s - self.hidden_backward, 0.0
        )


@dataclass(frozen=True)
class KernelSample:
    """The seconds that a kernel took for a tensor."""

    size: float
    density: float
    seconds: float


@dataclass(frozen=True)
class KernelFit:
    """Seconds of a kernel by size and density: a start, so much a byte, and so much a byte that is not zero.

    ``error``: The mean relative error for tensors of octaves of sizes and tenths of densities that were not learnt
        from; None where there is too little else.
    ``noise``: The mean relative error for what was learnt from.
    """

    coefficients: tuple[float, ...]
    error: float | None
    noise: float = 0.0

    @classmethod
    def of(cls, samples: Sequence[KernelSample]) -> KernelFit:
        """Learns from measured times, by least squares of the relative error."""
        errors: list[float] = []
        for block in sorted({_block(sample) for sample in samples}):
            rest = [one for one in samples if not any(map(eq, _block(one), block))]
            if len(rest) >= _LEAST:
                errors += _errors(_least_squares(rest), [one for one in samples if _block(one) == block])
        found = _least_squares(samples)
        return cls(found, mean(errors) if errors else None, mean(_errors(found, samples)))

    def seconds(self, size: float, density: float) -> float:
        """The seconds for a tensor."""
        return max(0.0, _value(self.coefficients, size, density))


def octave(size: float) -> int:
    """The block of sizes that a size is in: from a power of two to the next."""
    return int(size).bit_length()


def _block(sample: KernelSample) -> tuple[int, int]:
    """The blocks of sizes and of densities that a sample is in."""
    return octave(sample.size), int(10 * sample.density)


def _errors(coefficients: Sequence[float], samples: Sequence[KernelSample]) -> list[float]:
    """The relative error for each."""
    return [abs(_value(coefficients, one.size, one.density) / one.seconds - 1) for one in samples]


def _terms(size: float, density: float) -> tuple[float, ...]:
    return 1.0, size, size * density


def _value(coefficients: Sequence[float], size: float, density: float) -> float:
    return sum(one * term for one, term in zip(coefficients, _terms(size, density), strict=True))


def _least_squares(samples: Sequence[KernelSample]) -> tuple[float, ...]:
    rows = np.array([_terms(one.size, one.density) for one in samples]) / np.array(
        [[one.seconds] for one in samples]
    )
    found = np.linalg.lstsq(rows, np.ones(len(samples)), rcond=None)[0]
    return tuple(float(each) for each in found)


#: The second pass that is raw, and the second one that is compressed.
_LEARNING = (1, 3)


class Action(Enum):
    """What is done with a tensor."""

    #: It stays on the device.
    KEEP = "keep"
    #: It goes to the host as it is.
    RAW = "raw"
    #: It goes to the host compressed.
    COMPRESSED = "compressed"
    #: It goes to the host as it is, and is compressed there.
    HOST = "host"


@dataclass
class Learnt:
    """What earlier passes say about a tensor of a pass.

    ``raw``: Its bytes.
    ``convolution``: Whether a convolution reads it in the backward pass.
    ``density``: The part of its words that a stream stores, when it was last counted: with zero-value compression those
        that are not zero.
    ``mask``: Bytes that the stream has beside these.
    ``forward``, ``backward``: Seconds of computing that follow when it is kept, and that come before it is needed.
    """

    raw: int
    convolution: bool = False
    density: float = 1.0
    mask: float = 0.0
    forward: float = 0.0
    backward: float = 0.0


@dataclass(frozen=True)
class Moment:
    """The state of a context when a tensor is kept.

    ``number``: Of the forward pass, from 0, among those in which anything is kept.
    ``on_device``, ``device_bytes``: Bytes that are held on the device for the backward pass, and the most that may be.
    ``tensors``: What was learnt of the tensors of a pass.
    ``rates``: Bytes per second of the link out and back, once they are known.
    ``compress``, ``decompress``: Times of the kernels, once they are known.
    """

    number: int
    on_device: int
    device_bytes: int | None
    tensors: Mapping[Slot, Learnt]
    rates: tuple[float, float] | None = None
    compress: KernelFit | None = None
    decompress: KernelFit | None = None


@dataclass(frozen=True)
class SwapPolicy:
    """What all policies have in common."""

    #: Passes from one whose times and densities the policy wants to know to the next; 0 for none.
    refresh = 0
    #: Whether anything is compressed on the device.
    compresses = False
    #: Whether streams may be those of exponents, where these are shorter than the codes of zeros.
    dense = False
    #: Whether it goes by the modules of a forward pass.
    by_module = False

    def action(self, tensor: Learnt, moment: Moment) -> Action:
        """What becomes of a tensor that is kept now."""
        raise NotImplementedError

    def learns(self, number: int) -> bool:
        """Whether times and densities of the pass of that number are to be known."""
        return self.refresh > 0 and (number in _LEARNING or (number > 0 and number % self.refresh == 0))

    def check(self, device_bytes: int | None) -> None:
        """Refuses a context that lacks what the policy needs."""


@dataclass(frozen=True)
class Vdnn(SwapPolicy):
    """vDNN: ``"all"`` moves everything, ``"conv"`` what convolutions read, ``"dynamic"`` the least that fits.

    What fits is known after the first pass, in which everything moves: with ``"dynamic"`` nothing moves if all of a pass
    has room in ``device_bytes``, else what convolutions read, if the rest has, and else everything.
    """

    moves: str = "all"

    def __post_init__(self) -> None:
        check_choice("moves", self.moves, ("all", "conv", "dynamic"), "what vDNN moves")

    @property
    def by_module(self) -> bool:  # type: ignore[override]
        """Whether it asks what convolutions read."""
        return self.moves == "conv"

    def check(self, device_bytes: int | None) -> None:
        if self.moves == "dynamic" and device_bytes is None:
            raise ParameterError('Vdnn("dynamic") moves what device_bytes has no room for: give device_bytes')

    def action(self, tensor: Learnt, moment: Moment) -> Action:
        moves = self._chosen(moment) if self.moves == "dynamic" else self.moves
        if moves == "all" or (moves == "conv" and tensor.convolution):
            return Action.RAW
        return Action.KEEP

    @staticmethod
    def _chosen(moment: Moment) -> str:
        if moment.number == 0:
            return "all"
        assert moment.device_bytes is not None
        if sum(one.raw for one in moment.tensors.values()) <= moment.device_bytes:
            return "none"
        rest = sum(one.raw for one in moment.tensors.values() if not one.convolution)
        return "conv" if rest <= moment.device_bytes else "all"


@dataclass(frozen=True)
class VdnnPlusPlus(SwapPolicy):
    """vDNN++: everything moves as it is, and the host compresses it."""

    def action(self, tensor: Learnt, moment: Moment) -> Action:
        return Action.HOST


@dataclass(frozen=True)
class Lms(SwapPolicy):
    """IBM's large model support: tensors of at least ``kbytes`` move, once a ``fraction`` of ``device_bytes`` is in use."""

    kbytes: int = 1024
    fraction: float = 0.7

    def __post_init__(self) -> None:
        check_range("kbytes", self.kbytes, 0, 1 << 40, "the least tensor that moves, in KiB")
        if not 0 <= self.fraction <= 1:
            raise ParameterError(f"fraction is {self.fraction:g}; it must be from 0 to 1")

    def check(self, device_bytes: int | None) -> None:
        if device_bytes is None:
            raise ParameterError(
                "Lms moves tensors once a fraction of device_bytes is in use: give device_bytes"
            )

    def action(self, tensor: Learnt, moment: Moment) -> Action:
        assert moment.device_bytes is not None
        full = moment.on_device + tensor.raw > self.fraction * moment.device_bytes
        return Action.RAW if full and tensor.raw >= self.kbytes << 10 else Action.KEEP


@dataclass(frozen=True)
class Cdma(SwapPolicy):
    """cDMA: everything moves, and all of it compressed.

    ``dense``: Whether numbers become streams of their exponents where these are shorter. The paper has zero-value
        compression.
    """

    dense: bool = False
    compresses = True

    def action(self, tensor: Learnt, moment: Moment) -> Action:
        return Action.COMPRESSED


@dataclass(frozen=True)
class Cswap(SwapPolicy):
    """CSWAP: everything moves, compressed where that exposes less time.

    Two passes are raw, and the second one shows how much time hides each copy; two are compressed, and the second one of
    them shows what the kernels take. The first ones find memory, and compile. From then on equations 1 to 4 decide.

    ``refresh``: Passes from one count of the zeros to the next, the paper's epoch.
    ``mask``: Whether the stream counts as long as it is. The paper's equations leave its masks out.
    ``dense``: As for :class:`Cdma`.
    """

    refresh: int = 50
    mask: bool = True
    dense: bool = False
    compresses = True

    def __post_init__(self) -> None:
        check_range("refresh", self.refresh, 1, 1 << 31, "passes from one count of the zeros to the next")

    def action(self, tensor: Learnt, moment: Moment) -> Action:
        if moment.number < 2:
            return Action.RAW
        if moment.number < 4 or moment.rates is None or moment.compress is None or moment.decompress is None:
            return Action.COMPRESSED
        shorter = self.shortens(tensor, moment.rates, (moment.compress, moment.decompress))
        return Action.COMPRESSED if shorter else Action.RAW

    def shortens(
        self, tensor: Learnt, rates: tuple[float, float], kernels: tuple[KernelFit, KernelFit]
    ) -> bool:
        """Whether a tensor is exposed for less time if it is compressed, by equations 1 to 4."""
        mask = tensor.mask if self.mask else 0.0
        cost = CostModel(tensor.raw, tensor.density, *rates, tensor.forward, tensor.backward, mask)
        compress, decompress = (each.seconds(tensor.raw, tensor.density) for each in kernels)
        return cost.compressed(compress, decompress) < cost.plain


@dataclass(frozen=True)
class Recompute(SwapPolicy):
    """The papers' rival: what the named modules would keep is computed again, and nothing moves.

    ``modules``: Names of modules as ``model.named_modules()`` has them, or one name; without any, the children of the
        model. In place of an ``nn.ModuleList`` these are the modules in it.
    """

    modules: tuple[str, ...] = ()
    by_module = True

    def __post_init__(self) -> None:
        if isinstance(self.modules, str):
            object.__setattr__(self, "modules", (self.modules,))

    def action(self, tensor: Learnt, moment: Moment) -> Action:
        return Action.KEEP
