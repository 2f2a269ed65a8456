"""Training in less memory: what autograd keeps is compressed with the bits of this hardware, and given back in backward."""

from __future__ import annotations

import math
import threading
import time
import weakref
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import torch
from torch import Tensor, nn

from cdma.base.errors import ParameterError

from .coded import NUMBERS, Coded, Step, coded, quantised
from .ledger import Ledger, Report
from .memory import Layout, Place, in_memory, is_plain, layout_of, place_of
from .observed import CONVOLUTIONS, LAYERS, Observer
from .policies import Policy, Readers
from .version import Watch, watch

__all__ = ["Saved"]

#: Tensors of fewer bytes are kept as they are, and counted.
_LEAST_BYTES = 1024

#: Modules that ask of a tensor only what is zero, or nothing.
_SIGNS = (nn.ReLU, nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d)

#: Modules to whose backward passes a number that becomes zero is no more than a small error.
_SMOOTH = (*LAYERS, nn.modules.batchnorm._BatchNorm, nn.LayerNorm, nn.GroupNorm, nn.GELU, nn.SiLU)

#: The name of the model itself.
_MODEL = "model"

#: The name of what no module keeps.
_OUTSIDE = "outside the model"


class Saved:
    """The context that :func:`cdma.torch.saved` gives; :attr:`report` is its account."""

    def __init__(self, model: nn.Module, policy: Policy) -> None:
        if not isinstance(model, nn.Module):
            raise ParameterError(f"the model is {type(model).__name__}; it must be a torch.nn.Module")
        if not isinstance(policy, Policy):
            raise ParameterError(
                f"the policy is {policy!r}; it must be one of cdma.torch, such as Lossless()"
            )
        self._model, self._policy = model, policy
        self._ledger, self._observer = Ledger(), Observer()
        self._calls = _Calls()
        self._handles: list[Any] = []
        # What is kept now, by its place in memory.
        self._there: dict[Place, tuple[weakref.ref[Any], weakref.ref[_Kept]]] = {}
        # The model's memory, by its address, as long as it is there.
        self._own: dict[int, weakref.ref[Any]] = {}
        # The modules that read what a module was the first to keep, by the module and how many it kept before that.
        self._readers: dict[tuple[str, int], set[nn.Module]] = {}
        self._counts: dict[str, int] = {}
        self._observing = False
        self._hooks: Any = None
        self._thread = 0

    @property
    def report(self) -> Report:
        """What was kept until now."""
        return self._ledger.report

    @property
    def now(self) -> tuple[int, int]:
        """Bytes that autograd keeps at this moment, and the bytes that are held for it."""
        return self._ledger.now

    def __enter__(self) -> Saved:
        if self._hooks is not None:
            raise ParameterError("the context is entered twice; it is for one block at a time")
        for name, module in self._model.named_modules():
            self._handles += [
                module.register_forward_pre_hook(self._entering(name, module)),
                module.register_forward_hook(self._leaving(module), always_call=True),
            ]
        self._thread = threading.get_ident()
        self._find_own()
        self._hooks = torch.autograd.graph.saved_tensors_hooks(self._keep, self._give_back)
        self._hooks.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._hooks.__exit__(kind, error, trace)
        self._hooks = None
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        self._calls.running.clear()
        self._there.clear()

    def _entering(self, name: str, module: nn.Module) -> Any:
        def enter(_: nn.Module, inputs: Any) -> None:
            running = self._calls.running
            if not running:
                if module is self._model and self._is_own_thread():
                    self._begin_pass()
                self.report.elsewhere += not self._is_own_thread()
                self._find_own()
            running.append((name or _MODEL, module))

        return enter

    def _is_own_thread(self) -> bool:
        """Whether hooks for what is kept are those of the block; the backward pass takes them to its threads."""
        return threading.get_ident() == self._thread or torch._C._current_graph_task_id() != -1

    def _begin_pass(self) -> None:
        report, refresh = self.report, self._policy.refresh
        self._observing = refresh > 0 and report.passes % refresh == 0
        report.passes += 1
        self._counts.clear()

    def _find_own(self) -> None:
        """Finds the memory of the model; it may have moved between two calls. Forgets what is no longer kept."""
        self._own = _memory_of([*self._model.parameters(), *self._model.buffers()])
        self._there = {place: kept for place, kept in self._there.items() if kept[1]() is not None}

    def _leaving(self, module: nn.Module) -> Any:
        def leave(_: nn.Module, inputs: Any, output: Any) -> None:
            if self._calls.running:
                self._calls.running.pop()
            if not (self._observing and self._is_own_thread()):
                return
            if isinstance(module, LAYERS) and isinstance(output, Tensor):
                self._observer.watch(module, output)

        return leave

    def _keep(self, tensor: Tensor) -> _Packed:
        name, module = self._calls.running[-1] if self._calls.running else (_OUTSIDE, None)
        where = _OUTSIDE if module is None else f"in {name}"
        if not is_plain(tensor) or self._is_own(tensor) or self._is_cast(tensor):
            held = watch(tensor, where, memory=True)
            return _Packed(held.counter, None, held)
        began = time.perf_counter()
        flat, size, stride = layout_of(elements := in_memory(tensor))
        place, storage = place_of(elements)
        storage_before, reference = self._there.get(place, (None, None))
        kept = None if storage_before is None or storage_before() is None else reference()  # type: ignore[misc]
        if kept is None:
            number = self._counts[name] = self._counts.get(name, -1) + 1
            slot = (name, number)
            kept = self._compress(flat(), slot, name)
            self._there[place] = (storage, weakref.ref(kept))
        else:
            self.report.shared += 1
        if module is not None:
            self._readers.setdefault(kept.slot, set()).add(module)
        if isinstance(module, CONVOLUTIONS):
            kept.count_for_convolutions(self.report)
        packed = _Packed(
            kept,
            Layout(size, stride, tensor.is_neg(), tensor.is_conj()),
            watch(elements, where, memory=False),
        )
        self.report.seconds += time.perf_counter() - began
        return packed

    def _compress(self, flat: Tensor, slot: tuple[str, int], name: str) -> _Kept:
        """Compresses elements in one dimension, with the error that the policy allows, or without."""
        raw = flat.numel() * flat.element_size()
        if raw < _LEAST_BYTES:
            return _Kept(self._ledger, name, slot, raw, flat.clone())
        host = flat.cpu()
        found = self._lossy(host, slot) if name != _OUTSIDE else None
        found = coded(host) if found is None else found
        if found.size >= raw and not found.bits:
            # The copy is of these elements alone, where the tensor may be a part of something larger.
            alone = flat.untyped_storage().nbytes() == raw
            return _Kept(self._ledger, name, slot, raw, flat if alone else flat.clone())
        kept = _Kept(self._ledger, name, slot, raw, found, flat.device)
        if found.bits:
            for account in (kept.layer, self.report):
                account.bits = found.bits
                account.error = max(account.error, found.error)
                account.squares += found.squares
                account.numbers += found.numbers
        return kept

    def _lossy(self, flat: Tensor, slot: tuple[str, int]) -> Coded | None:
        policy = self._policy
        if not policy.lossy or flat.dtype not in NUMBERS:
            return None
        modules = self._readers.get(slot, set())
        readers = Readers(
            [self._observer.statistics.get(module) for module in modules if isinstance(module, LAYERS)],
            any(isinstance(module, _SIGNS) for module in modules),
            any(not isinstance(module, (*LAYERS, *_SIGNS)) for module in modules),
        )
        peak = max(abs(float(end)) for end in torch.aminmax(flat))
        if not 0 < peak < math.inf:
            self.report.out_of_range += peak != 0
            return None
        exponent = policy.exponent(readers, peak, flat)
        if exponent is None:
            return None
        keep_nonzero = policy.keep_nonzero and not (
            modules and all(isinstance(one, _SMOOTH) for one in modules)
        )
        found = quantised(flat, Step(exponent, policy.bits, policy.code_bits, keep_nonzero))
        self.report.out_of_range += found is None
        return found

    def _give_back(self, packed: _Packed) -> Tensor:
        packed.watch.check()
        if packed.layout is None:
            assert isinstance(packed.what, Tensor)
            return packed.what
        assert isinstance(packed.what, _Kept)
        began = time.perf_counter()
        tensor = packed.layout.tensor(packed.what.restored())
        self.report.seconds_back += time.perf_counter() - began
        return tensor

    def _is_own(self, tensor: Tensor) -> bool:
        """Whether a tensor is a parameter or a buffer of the model, or a view of one."""
        if isinstance(tensor, nn.Parameter) or isinstance(tensor._base, nn.Parameter):
            return True
        # A module that runs may have a new buffer.
        buffers = [one for _, module in self._calls.running for one in module.buffers(recurse=False)]
        address = tensor.untyped_storage().data_ptr()
        own = self._own.get(address)
        return (own is not None and own() is not None) or address in _memory_of(buffers)

    def _is_cast(self, tensor: Tensor) -> bool:
        """Whether a tensor is a parameter of the running module in another number type, as autocast makes it."""
        running = self._calls.running
        if not running or not tensor.is_floating_point():
            return False
        for parameter in running[-1][1].parameters(recurse=False):
            if parameter.dtype != tensor.dtype and parameter.numel() == tensor.numel():
                own = parameter.detach().to(tensor.dtype)
                views = [own, own.t()] if own.dim() == 2 else [own]
                if any(view.shape == tensor.shape and torch.equal(view, tensor) for view in views):
                    return True
        return False


def _memory_of(tensors: list[Tensor]) -> dict[int, weakref.ref[Any]]:
    storages = [tensor.untyped_storage() for tensor in tensors if is_plain(tensor)]
    return {storage.data_ptr(): weakref.ref(storage) for storage in storages}


class _Calls(threading.local):
    """The modules that run on a thread, and their names, from the outermost to the innermost."""

    def __init__(self) -> None:
        self.running: list[tuple[str, nn.Module]] = []


@dataclass(frozen=True)
class _Packed:
    """What autograd has in place of a tensor.

    ``what``, ``layout``
        What is held of its elements, and how the tensor lies over them; the tensor as it is has no layout.
    """

    what: _Kept | Tensor
    layout: Layout | None
    watch: Watch


class _Kept:
    """What is held of the elements of a tensor; it is there as long as the graph needs it."""

    def __init__(
        self,
        ledger: Ledger,
        name: str,
        slot: tuple[str, int],
        raw: int,
        what: Coded | Tensor,
        device: torch.device | None = None,
    ) -> None:
        self.slot, self._what, self._device = slot, what, device
        self._raw, self._held = raw, what.size if isinstance(what, Coded) else raw
        self._convolutions = False
        self.layer = ledger.keep(self, name, raw, self._held)

    def count_for_convolutions(self, report: Report) -> None:
        """A convolution reads this tensor; it counts once."""
        if not self._convolutions:
            self._convolutions = True
            report.conv_raw += self._raw
            report.conv_held += self._held

    def restored(self) -> Tensor:
        """The elements, in one dimension."""
        if isinstance(self._what, Coded):
            return self._what.restored().to(self._device)
        return self._what
