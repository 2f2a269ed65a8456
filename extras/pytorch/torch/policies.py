"""What may become of a tensor that autograd keeps: nothing, or an error of half a step that a policy sets.

A policy sees each tensor with the modules whose backward passes read it. Where these are known only after the first
forward pass, it is without loss until then.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cdma.base.errors import ParameterError
from cdma.hdl.spec.settings import check_choice, check_flag, check_range

if TYPE_CHECKING:
    from torch import Tensor
    from torch.optim import Optimizer


@dataclass(frozen=True)
class Statistics:
    """What a layer's last observed backward pass was like.

    ``loss``, ``square``: Mean of the absolute values, and of the squares, of the gradients that arrived at its output.
    ``weight``, ``weight_squares``: Mean of the absolute values of the weight's gradient, and the sum of its squares.
    ``momentum``: Mean of the absolute values of the weight's momentum, the sum of its gradients as SGD has it; as long
        as there is none, it is that of the gradient.
    ``terms``: How many products are added for each element of the weight's gradient: batch times positions of the
        output.
    ``outputs``: Output values of one position that an input value has a part in, without its neighbours: the output's
        channels.
    ``uses``: Products, for each of these, that an input value has a part in: R * S / (s_x * s_y).
    """

    loss: float
    square: float
    weight: float
    weight_squares: float
    momentum: float
    terms: float
    outputs: float
    uses: float


@dataclass(frozen=True)
class Readers:
    """Who reads a tensor in the backward pass.

    ``layers``: Statistics of the convolutions and linear layers among them; None for one that is not observed yet.
    ``signs``: Whether a ReLU, which asks only what is zero, or a pooling, which reads nothing, is among them.
    ``others``: Whether anything else is.
    """

    layers: Sequence[Statistics | None]
    signs: bool
    others: bool


@dataclass(frozen=True)
class Policy:
    """What all policies have in common.

    ``bits``: Bits of the integers that hardware has, the fewest first. A tensor takes the fewest that its largest
        number fits, and is kept without loss where none fits.
    ``code_bits``: Bits of the codes behind, as for :class:`cdma.Format`; of several, those with the fewest bytes are
        taken.
    ``keep_nonzero``: Whether what is not zero stays so in tensors that anything but convolutions, linear layers,
        normalisations, GELU and SiLU reads. Then a ReLU, whose backward pass asks only that, makes no error.
    """

    bits: tuple[int, ...] = (4, 8)
    code_bits: tuple[int, ...] = (1, 2)
    keep_nonzero: bool = True

    #: Forward passes from one observation of the gradients to the next; 0 for none, of who goes by no modules.
    refresh = 0

    def __post_init__(self) -> None:
        for what, values, allowed in (
            ("bits", self.bits, (4, 8, 16)),
            ("code_bits", self.code_bits, (1, 2)),
        ):
            if not isinstance(values, tuple) or not values or list(values) != sorted(set(values)):
                raise ParameterError(f"{what} is {values!r}; it must be a tuple of rising numbers")
            for value in values:
                check_choice(what, value, allowed, f"one of {what}")
        check_flag("keep_nonzero", self.keep_nonzero)

    @property
    def lossy(self) -> bool:
        """Whether any tensor can have an error."""
        return True

    def exponent(self, readers: Readers, peak: float, flat: Tensor) -> int | None:
        """The exponent of a tensor's step, or None to keep it without loss.

        ``peak`` is the largest absolute value, more than 0; ``flat`` has the elements in one dimension.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class Lossless(Policy):
    """Bit for bit.

    ``dense``: Whether numbers of 16 bits on a GPU of which few are zero become streams of their exponents, too.
    """

    dense: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_flag("dense", self.dense)

    @property
    def lossy(self) -> bool:
        return False

    def exponent(self, readers: Readers, peak: float, flat: Tensor) -> int | None:
        return None


@dataclass(frozen=True)
class Bound(Policy):
    """The same bound for every tensor of the model. With ``keep_nonzero`` it is twice as much for what would become zero.

    ``relative``: The bound is at most 2**relative times the largest absolute value of the tensor.
    ``absolute``: The bound is 2**absolute. One of the two is given.
    """

    relative: int | None = None
    absolute: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.relative is None) == (self.absolute is None):
            raise ParameterError("a bound is either relative or absolute: give one of the two")
        if self.relative is not None:
            check_range("relative", self.relative, -24, -1, "the exponent of the bound, relative to the peak")
        if self.absolute is not None:
            check_range("absolute", self.absolute, -126, 127, "the exponent of the bound")

    def exponent(self, readers: Readers, peak: float, flat: Tensor) -> int | None:
        if self.absolute is not None:
            return self.absolute + 1
        assert self.relative is not None
        return _exponent_of(peak) + self.relative + 1


@dataclass(frozen=True)
class _ByLayer(Policy):
    """A rule for inputs of convolutions and linear layers, from what was observed of their gradients.

    ``refresh``: Forward passes from one observation to the next.
    ``others``: The policy for tensors that anything but these, ReLUs and poolings reads.
    """

    refresh: int = 50
    others: Policy = Lossless()

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range("refresh", self.refresh, 1, 1 << 31, "forward passes from one observation to the next")
        if not isinstance(self.others, Policy):
            raise ParameterError(f"others is {self.others!r}; it must be a policy, such as Lossless()")

    def step(self, layer: Statistics, flat: Tensor) -> float:
        """The largest step that the layer bears."""
        raise NotImplementedError

    def exponent(self, readers: Readers, peak: float, flat: Tensor) -> int | None:
        # Beyond this step there is nothing to gain, and what stays non-zero would grow.
        found = _exponent_of(peak)
        if readers.others:
            other = self.others.exponent(readers, peak, flat)
            if other is None:
                return None
            found = min(found, other)
        if not readers.layers and not readers.signs and not readers.others:
            return None
        for layer in readers.layers:
            if layer is None:
                return None
            step = self.step(layer, flat)
            if not 0 < step < float("inf"):
                return None
            found = min(found, _exponent_of(step))
        return found


@dataclass(frozen=True)
class Comet(_ByLayer):
    """COMET's rule: the error of a weight's gradient has a deviation of ``part`` of what the momentum, or the gradient, is.

    An input with errors up to eb makes an error of the deviation a * L * sqrt(terms * density) * eb in each element of the
    gradient, where L is the mean loss that arrives at the output.

    ``part``: The deviation relative to the mean absolute value of momentum or gradient; 0.01 in the paper.
    ``factor``: a, 0.32 as the paper measured it, where ``terms`` is the batch; the deviation of errors from -1 to 1 is
        0.58.
    ``momentum``: The optimiser whose momentum is meant, as in the paper. Without it, it is the gradient. Gradients that
        are scaled for their number type are not comparable with a momentum.
    """

    part: float = 0.01
    factor: float = 0.32
    momentum: Optimizer | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_number("part", self.part, 2.0**-64)
        _check_number("factor", self.factor, 2.0**-64)
        if self.momentum is not None and not hasattr(self.momentum, "param_groups"):
            raise ParameterError(
                f"momentum is {self.momentum!r}; it must be an optimiser of PyTorch, or None"
            )

    def step(self, layer: Statistics, flat: Tensor) -> float:
        density = int(flat.count_nonzero()) / flat.numel()
        size = layer.weight if self.momentum is None else layer.momentum
        deviation = self.factor * layer.loss * (layer.terms * density) ** 0.5
        return 2 * self.part * size / deviation if deviation else 0.0


@dataclass(frozen=True)
class AcGc(_ByLayer):
    """AC-GC's closed form: the squared error of a weight's gradient is 2**-tightness of its square.

    With the deviation dx of the errors of an input of N*C*H*W elements:
    dx**2 = 2**-tightness * sum(w**2) / (2 * N*C*H*W * sum over the output's channels of u * mean(y**2)), where w and y are
    the gradients of weight and output, and u = R*S / (s_x*s_y). The paper has bits for each channel from it; a
    descriptor has one exponent, so the tensor has one step here, sqrt(12) * dx.
    """

    tightness: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_number("tightness", self.tightness, -64)

    def step(self, layer: Statistics, flat: Tensor) -> float:
        below = 2 * flat.numel() * layer.outputs * layer.uses * layer.square
        return (12 * 2.0**-self.tightness * layer.weight_squares / below) ** 0.5 if below else 0.0


def _check_number(name: str, value: object, least: float) -> None:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not least <= value <= 64:
        raise ParameterError(f"{name} is {value!r}; it must be a number from {least:g} to 64")


def _exponent_of(number: float) -> int:
    """The exponent of the greatest power of two that is not above a number greater than 0."""
    return math.frexp(number)[1] - 1
