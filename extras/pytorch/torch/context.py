"""Training in less memory: what autograd keeps is compressed with the bits of this hardware, and given back in backward."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from cdma.base.errors import ParameterError
from cdma.gpu.door import kernels_in

from .coded import NUMBERS, Coded, Step, coded, quantised, sampling
from .keeping import OUTSIDE, Keeping, Kept, Slot, Stays
from .ledger import Ledger, Report
from .memory import CONVOLUTIONS, LAYERS, Observer
from .policies import Policy, Readers

if TYPE_CHECKING:
    from .on_card import Card

#: The devices whose tensors stay there.
CARDS = frozenset({"cuda"})

#: Tensors of fewer bytes on a GPU stay what they are: a kernel's launch takes as long as the bits of many more.
LEAST_ON_CARD = 1 << 20

#: Tensors of fewer bytes are kept as they are, and counted.
_LEAST_BYTES = 1024

#: Modules that ask of a tensor only what is zero, or nothing.
_SIGNS = (nn.ReLU, nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d)

#: Modules to whose backward passes a number that becomes zero is no more than a small error.
_SMOOTH = (*LAYERS, nn.modules.batchnorm._BatchNorm, nn.LayerNorm, nn.GroupNorm, nn.GELU, nn.SiLU)


class Saved(Keeping):
    """The context that :func:`cdma.torch.saved` gives; :attr:`report` is its account."""

    def __init__(self, model: nn.Module, policy: Policy) -> None:
        super().__init__(model)
        if not isinstance(policy, Policy):
            raise ParameterError(
                f"the policy is {policy!r}; it must be one of cdma.torch, such as Lossless()"
            )
        self._policy = policy
        self._by_module = policy if policy.refresh else None
        self._ledger = Ledger()
        self._observer = Observer(getattr(policy, "momentum", None))
        self._kept_on_card: Card | None = None
        # Whether what is kept is in the host's memory, too.
        self._is_host = False

    @property
    def report(self) -> Report:
        """What was kept until now."""
        return self._ledger.report

    @property
    def now(self) -> tuple[int, int]:
        """Bytes that autograd keeps at this moment, and the bytes that are held for it."""
        return self._ledger.now

    @property
    def _account(self) -> Report:
        return self.report

    def _begin_pass(self, inputs: Any) -> None:
        refresh = self._policy.refresh
        self._follows = refresh > 0 and self.report.passes % refresh == 0
        super()._begin_pass(inputs)
        if self._kept_on_card is not None:
            alone = self._kept_on_card.begin_pass()
            self._is_alone = alone and not self._policy.lossy and not self._is_host

    @property
    def _card(self) -> Card:
        """What is kept on GPUs; kernels are loaded when there is something to keep."""
        if self._kept_on_card is None:
            kernels_in("encoder")
            from .on_card import Card

            self._kept_on_card = Card(self._ledger, LEAST_ON_CARD, getattr(self._policy, "dense", False))
        return self._kept_on_card

    def _left(self, module: nn.Module, output: Any) -> None:
        if module is self._model and self._kept_on_card is not None:
            self._kept_on_card.settle()
        if self._follows and isinstance(module, LAYERS) and isinstance(output, Tensor):
            self._observer.watch(module, output)

    def _read_by(self, kept: Any, module: nn.Module) -> None:
        super()._read_by(kept, module)
        if isinstance(module, CONVOLUTIONS):
            self._ledger.read_by_convolution(kept.entry)

    def _keep(self, tensor: Tensor) -> Any:
        began = time.perf_counter()
        packed = super()._keep(tensor)
        self.report.seconds += time.perf_counter() - began
        return packed

    def _give_back(self, packed: Any) -> Tensor:
        began = time.perf_counter()
        tensor = super()._give_back(packed)
        self.report.seconds_back += time.perf_counter() - began
        return tensor

    def _leaves(self, tensor: Tensor) -> bool:
        return tensor.numel() * tensor.element_size() < LEAST_ON_CARD and tensor.device.type in CARDS

    def _stay(self, tensor: Tensor, slot: Slot) -> Stays | None:
        if self._kept_on_card is None or self._policy.lossy:
            return None
        return self._kept_on_card.stay(tensor, slot)

    def _hold(self, flat: Tensor, slot: Slot) -> Kept:
        """Compresses elements in one dimension, with the error that the policy allows, or without."""
        name, raw = slot[0], flat.nbytes
        there = flat.device.type in CARDS
        if raw < _LEAST_BYTES:
            return _Kept(self._ledger, name, slot, raw, flat.clone())
        here = flat if there else flat.cpu()
        found = self._lossy(here, slot) if self._policy.lossy and name != OUTSIDE else None
        if found is None and there:
            return self._card.hold(flat, slot)
        self._is_host |= not there
        found = coded(here) if found is None else found
        if found.size >= raw and not found.bits:
            # The copy is of these elements alone, where the tensor may be a part of something larger.
            alone = flat.untyped_storage().nbytes() == raw
            return _Kept(self._ledger, name, slot, raw, flat if alone else flat.clone())
        kept = _Kept(self._ledger, name, slot, raw, found, flat.device)
        if found.bits:
            for account in (kept.entry.layer, self.report):
                account.bits = found.bits
                account.error = max(account.error, found.error)
                account.squares += found.squares
                account.numbers += found.numbers
        return kept

    def _lossy(self, flat: Tensor, slot: Slot) -> Coded | None:
        policy = self._policy
        if flat.dtype not in NUMBERS:
            return None
        modules = self._readers.get(slot, set())
        readers = Readers(
            [self._observer.statistics.get(module) for module in modules if isinstance(module, LAYERS)],
            any(isinstance(module, _SIGNS) for module in modules),
            any(not isinstance(module, (*LAYERS, *_SIGNS)) for module in modules),
        )
        # The ends and a sample of a GPU's numbers come together, for each waits.
        seen = torch.hstack((*torch.aminmax(flat), flat[:: sampling(flat.numel())])).cpu()
        peak = max(abs(end) for end in seen[:2].tolist())
        if not 0 < peak < math.inf:
            self.report.out_of_range += peak != 0
            return None
        exponent = policy.exponent(readers, peak, flat)
        if exponent is None:
            return None
        keep_nonzero = policy.keep_nonzero and not (
            modules and all(isinstance(one, _SMOOTH) for one in modules)
        )
        step = Step(exponent, policy.bits, policy.code_bits, keep_nonzero)
        there = flat.device.type in CARDS
        found = self._integers_there(flat, seen[2:], step) if there else quantised(flat, step)
        self.report.out_of_range += found is None
        return found

    def _integers_there(self, flat: Tensor, sample: Tensor, step: Step) -> Coded | None:
        fault = self._card.fault(flat.device)
        from .on_card import quantised_there

        return quantised_there(flat, sample, step, fault)


class _Kept:
    """What is held of the elements of a tensor; it is there as long as the graph needs it."""

    def __init__(
        self,
        ledger: Ledger,
        name: str,
        slot: Slot,
        raw: int,
        what: Coded | Tensor,
        device: torch.device | None = None,
    ) -> None:
        self.slot, self._what, self._device = slot, what, device
        self.entry = ledger.keep(self, name, raw, what.size if isinstance(what, Coded) else raw)

    def restored(self) -> Tensor:
        """The elements, in one dimension."""
        if isinstance(self._what, Coded):
            return self._what.restored().to(self._device)
        return self._what
