"""Tensors of a PyTorch model, profiled while it runs (needs the ``torch`` extra).

Three lines in a PyTorch program profile what its training would offload::

    with cdma.study.record(model) as recording:
        model(images)
    print(recording.report())
"""

from __future__ import annotations

import weakref
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cdma.base.errors import ParameterError
from cdma.sim.codec.fit import NothingToProfile, TensorProfile, profile
from cdma.torch.extras import require

from .link import Settings
from .report import Report

if TYPE_CHECKING:
    import torch

#: Tensors of fewer bytes are left out.
_LEAST_BYTES = 1024


#: Elements of a run of a sample: whole windows of every format.
_RUN = 1024


def record(
    model: torch.nn.Module,
    settings: Settings | None = None,
    *,
    what: str = "saved",
    sample: int | None = 1 << 16,
) -> Recording:
    """Profiles tensors of ``model`` while it runs within a ``with`` block; see :class:`Recording`."""
    return Recording(model, settings or Settings(), what, sample)


class Recording:
    """Profiles a model's tensors within a ``with`` block, for :meth:`report`.

    ``what``: ``"saved"``: the tensors that autograd keeps for the backward pass, which is what training offloads: those
        of integers, such as the indices of a pooling, too. Parameters and buffers of the model are left out; a tensor
        kept twice counts once. ``"outputs"``: the floating-point outputs of every module without modules in it; needs
        no gradients.
    ``sample``: Of a larger tensor so many elements are profiled, in evenly spaced runs, and stand for all of it; None
        for every element, which takes several times as long as the step itself.

    Tensors of less than 1 KiB, such as means of channels, are left out, and a broadcast tensor counts with the elements
    that are in memory. A tensor has the name of the module that computed or first kept it. No tensor is held longer than
    without recording, so that a block may have any number of steps.
    """

    def __init__(
        self, model: torch.nn.Module, settings: Settings, what: str, sample: int | None = None
    ) -> None:
        require("torch", "torch")
        import torch

        if not isinstance(model, torch.nn.Module):
            raise ParameterError(f"the model is {type(model).__name__}; it must be a torch.nn.Module")
        if what not in ("saved", "outputs"):
            raise ParameterError(f"what is {what!r}; it must be 'saved' or 'outputs'")
        if sample is not None and sample < _RUN:
            raise ParameterError(f"sample is {sample}; it must be at least {_RUN} elements, or None for all")
        self._model, self._settings, self._what, self._sample = model, settings, what, sample
        self._tensors: dict[str, TensorProfile] = {}
        self._running: list[str] = []
        self._handles: list[Any] = []
        # What of the recorded is still there, by its place in memory, which another tensor gets when it is gone.
        self._there: dict[tuple[Any, ...], weakref.ref[Any]] = {}
        self._own: set[int] = set()

    def __enter__(self) -> Recording:
        import torch

        own = [*self._model.parameters(), *self._model.buffers()]
        self._own = {tensor.untyped_storage().data_ptr() for tensor in own}
        for name, module in self._model.named_modules():
            self._handles += [
                module.register_forward_pre_hook(self._entering(name)),
                module.register_forward_hook(self._leaving(not any(module.children())), always_call=True),
            ]
        if self._what == "saved":
            hooks = torch.autograd.graph.saved_tensors_hooks(self._keep, lambda kept: kept.tensor)
            hooks.__enter__()
            self._saving = hooks
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._what == "saved":
            self._saving.__exit__(kind, error, trace)
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        self._there.clear()
        self._running.clear()

    def report(self, settings: Settings | None = None) -> Report:
        """Reports the recorded tensors under the settings of the recording, or under ``settings``."""
        if not self._tensors:
            raise NothingToProfile(
                "nothing was recorded: run the model within the block, "
                + ("with gradients enabled" if self._what == "saved" else "at least once")
            )
        return Report(tuple(self._tensors.values()), settings or self._settings)

    def _entering(self, name: str) -> Any:
        def enter(module: torch.nn.Module, inputs: Any) -> None:
            self._running.append(name or "model")

        return enter

    def _leaving(self, leaf: bool) -> Any:
        def leave(module: torch.nn.Module, inputs: Any, output: Any) -> None:
            if leaf and self._what == "outputs":
                self._see_all(output)
            self._running.pop()

        return leave

    def _see_all(self, output: Any) -> None:
        import torch

        if isinstance(output, torch.Tensor):
            if output.is_floating_point():
                self._see(output, output)
        elif isinstance(output, dict):
            for value in output.values():
                self._see_all(value)
        elif isinstance(output, list | tuple):
            for value in output:
                self._see_all(value)

    def _keep(self, tensor: torch.Tensor) -> _Kept:
        kept = _Kept(tensor.detach())
        self._see(tensor, kept)
        return kept

    def _see(self, tensor: torch.Tensor, owner: object) -> None:
        """Profiles a tensor, unless it was while what owns it was there."""
        storage = tensor.untyped_storage().data_ptr()
        tensor = _in_memory(tensor)
        key = (storage, tensor.storage_offset(), tensor.numel(), tensor._version)
        before = self._there.get(key)
        if before is not None and before() is not None:
            return
        if tensor.numel() * tensor.element_size() < _LEAST_BYTES or storage in self._own:
            return
        self._there[key] = weakref.ref(owner)
        name = self._name(self._running[-1] if self._running else "outside the model")
        self._tensors[name] = self._profile(name, *_as_numpy(tensor))

    def _profile(self, name: str, array: NDArray[Any], dtype: str) -> TensorProfile:
        """Profiles a tensor, or a sample that stands for it."""
        if self._sample is None or array.size <= self._sample:
            return profile(name, array, dtype)
        flat = array.reshape(-1)
        begins = np.linspace(0, array.size - _RUN, self._sample // _RUN).astype(np.intp)
        part = profile(name, np.concatenate([flat[begin : begin + _RUN] for begin in begins]), dtype)
        scale = array.nbytes / part.raw
        return replace(
            part,
            shape=tuple(array.shape),
            raw=array.nbytes,
            minus_zeros=round(part.minus_zeros * scale),
            fits=tuple(replace(fit, compressed=round(fit.compressed * scale)) for fit in part.fits),
        )

    def _name(self, module: str) -> str:
        """The name of the module, with a number from its second tensor on."""
        name, number = module, 1
        while name in self._tensors:
            number += 1
            name = f"{module} ({number})"
        return name


class _Kept:
    """What autograd keeps of a tensor: it is there as long as the graph needs it."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor


def _in_memory(tensor: torch.Tensor) -> torch.Tensor:
    """The elements of a broadcast tensor that are in memory, once each."""
    return tensor.detach()[tuple(slice(0, 1) if not stride else slice(None) for stride in tensor.stride())]


def _as_numpy(tensor: torch.Tensor) -> tuple[NDArray[Any], str]:
    """Converts a tensor by bit pattern, also where numpy lacks its type; returns it with the name of the type."""
    import torch

    kind = str(tensor.dtype).removeprefix("torch.")
    plain = tensor.detach().contiguous().cpu()
    if kind == "bool" or not (kind.startswith(("bfloat", "float8", "float4")) or plain.element_size() > 8):
        return plain.numpy(), kind
    integer = {1: torch.uint8, 2: torch.int16}[plain.element_size()]
    return plain.view(integer).numpy().view(np.dtype(f"u{plain.element_size()}")), kind
