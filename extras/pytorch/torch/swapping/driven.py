"""Moving what autograd keeps by the engine behind a file of the driver for Linux: it compresses, and brings back."""

from __future__ import annotations

import re
from typing import Any

import torch
from torch import Tensor, nn

from cdma.base.errors import ParameterError
from cdma.torch.keeping import Keeping, Slot
from cdma_linux.device import Device, Handle

from .context import label
from .policies import Action
from .report import Moved, SwapReport


class Driven(Keeping):
    """The context that :func:`cdma.torch.offload` gives with a ``backend``; :attr:`report` is its account.

    Every tensor moves, on the thread that computes; several are on their way at once.
    """

    def __init__(self, model: nn.Module, backend: str) -> None:
        super().__init__(model)
        if not isinstance(backend, str) or not re.fullmatch(r"cdma\d+", backend):
            raise ParameterError(
                f"the backend is {backend!r}; it must be an engine of the driver for Linux, such as 'cdma0'"
            )
        elsewhere = {parameter.device.type for parameter in model.parameters()} - {"cpu"}
        if elsewhere:
            raise ParameterError(
                f"the model is on {elsewhere.pop()}; with a backend it must be on the processor, as the driver is"
            )
        self._engine = Device(f"/dev/{backend}")
        self._report = SwapReport()
        # Arrays whose streams are not in the account yet.
        self._not_counted: list[tuple[Handle, Moved]] = []

    @property
    def report(self) -> SwapReport:
        """What has moved until now."""
        self._settle()
        return self._report

    @property
    def _account(self) -> SwapReport:
        return self._report

    def _begin_pass(self, inputs: Any) -> None:
        super()._begin_pass(inputs)
        self._settle()

    def _settle(self) -> None:
        for handle, row in self._not_counted:
            for each in (row, self._report):
                each.moved += handle.nbytes
        self._not_counted.clear()

    def _hold(self, flat: Tensor, slot: Slot) -> _Away:
        row = self._report.rows.setdefault(label(slot), Moved())
        for each in (row, self._report):
            each.kept(flat.nbytes, Action.COMPRESSED)
        handle = self._engine.offload(flat.detach().view(torch.uint8).numpy())
        self._not_counted.append((handle, row))
        return _Away(handle, slot, flat.dtype, (row, self._report))


class _Away:
    """What is held of the elements of a tensor; it is there as long as the graph needs it."""

    def __init__(self, handle: Handle, slot: Slot, dtype: torch.dtype, accounts: tuple[Moved, ...]) -> None:
        self.slot, self._handle, self._dtype, self._accounts = slot, handle, dtype, accounts
        self._elements: Any = None

    def restored(self) -> Tensor:
        """The elements, in one dimension."""
        if self._elements is None:
            self._elements = torch.from_numpy(self._handle.prefetch()).view(self._dtype)
            for each in self._accounts:
                each.back += self._handle.nbytes
        found: Tensor = self._elements
        return found
