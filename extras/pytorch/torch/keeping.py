"""The hooks around a model: which tensors autograd keeps, which of them are the same, and which modules read them.

What is done with the elements is the business of the contexts that are made of this.
"""

from __future__ import annotations

import threading
import weakref
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, TypeVar

import torch
from torch import Tensor, nn

from cdma.base.errors import ParameterError

from .memory import Layout, Place, in_memory, is_plain, layout_of, place_of
from .version import OUTSIDE, Watch, watch

__all__ = ["OUTSIDE", "Counts", "Keeping", "Kept", "Slot", "Stays"]

#: The name of the model itself.
_MODEL = "model"

#: Which tensor of a pass it is: the module that was the first to keep it, and how many that kept before.
Slot = tuple[str, int]


Own = TypeVar("Own", bound="Keeping")


class Counts(Protocol):
    """What is counted whatever is done with the elements."""

    passes: int
    elsewhere: int
    shared: int


class Kept(Protocol):
    """What is held of the elements of a tensor; it is there as long as the graph needs it."""

    slot: Slot

    def restored(self) -> Tensor:
        """The elements, in one dimension."""
        ...


class Stays:
    """What stands for a tensor in the account that stays what it is."""

    __slots__ = ("__weakref__", "entry", "slot")

    entry: Any

    def __init__(self, slot: Slot) -> None:
        self.slot = slot


class Keeping:
    """A context in which autograd gives what it keeps to :meth:`_hold`, and asks for it in the backward pass.

    Parameters and buffers, views and casts of them, and tensors without elements in memory stay what they are.
    """

    def __init__(self, model: nn.Module) -> None:
        if not isinstance(model, nn.Module):
            raise ParameterError(f"the model is {type(model).__name__}; it must be a torch.nn.Module")
        self._model = model
        self._calls = _Calls()
        self._handles: list[Any] = []
        # What is kept now, by its place in memory.
        self._there: dict[Place, tuple[weakref.ref[Any], weakref.ref[Kept | Stays]]] = {}
        # The model's memory, by its address, as long as it is there.
        self._own: dict[int, weakref.ref[Any]] | None = None
        # The modules that read a tensor of a pass, learnt in the passes until now.
        self._readers: dict[Slot, set[nn.Module]] = {}
        self._counts: dict[str, int] = {}
        self._hooks: Any = None
        self._thread = 0
        #: Whether to call :meth:`_entered` and :meth:`_left` for all modules, or :meth:`_left` for the model alone.
        self._follows = False
        # Whether a pass of the block has begun, and whether the model itself is ever called.
        self._begun = self._is_called = False

    @property
    def _account(self) -> Counts:
        """Where passes and shared tensors are counted."""
        raise NotImplementedError

    def _hold(self, flat: Tensor, slot: Slot) -> Kept:
        """Takes elements in one dimension, which autograd keeps from now on."""
        raise NotImplementedError

    def _stay(self, tensor: Tensor, slot: Slot) -> Stays | None:
        """What stands for a tensor that is known to stay what it is."""
        return None

    def _leaves(self, tensor: Tensor) -> bool:
        """Whether a tensor stays what it is, and is not in the account."""
        return False

    def _begin_pass(self) -> None:
        """A forward pass of the model begins."""
        self._account.passes += 1
        self._counts.clear()

    def _entered(self, name: str) -> None:
        """A module begins, on the thread of the block."""

    def _left(self, module: nn.Module, output: Any) -> None:
        """A module of the model has made its output, on the thread of the block."""

    def _read_by(self, kept: Kept | Stays, module: nn.Module) -> None:
        """A module needs a tensor in its backward pass."""
        readers = self._readers.get(kept.slot)
        if readers is None:
            readers = self._readers[kept.slot] = set()
        readers.add(module)

    def __enter__(self: Own) -> Own:
        if self._hooks is not None:
            raise ParameterError("the context is entered twice; it is for one block at a time")
        for name, module in self._model.named_modules():
            self._handles += [
                module.register_forward_pre_hook(self._entering(name, module)),
                module.register_forward_hook(self._leaving(module), always_call=True),
            ]
        self._thread = threading.get_ident()
        self._own = None
        # Where the model itself is never called, a block is a pass.
        self._begun = self._is_called
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
        named = name or _MODEL, module

        def enter(_: nn.Module, inputs: Any) -> None:
            running = self._calls.running
            if not running:
                if self._is_own_thread() and (module is self._model or not self._begun):
                    self._begun = True
                    self._is_called = self._is_called or module is self._model
                    self._begin_pass()
                self._account.elsewhere += not self._is_own_thread()
                self._find_own()
            running.append(named)
            if self._follows and self._is_own_thread():
                self._entered(named[0])

        return enter

    def _is_own_thread(self) -> bool:
        """Whether hooks for what is kept are those of the block; the backward pass takes them to its threads."""
        return threading.get_ident() == self._thread or torch._C._current_graph_task_id() != -1

    def _find_own(self) -> None:
        """Finds the memory of the model; it may have moved between two calls. Forgets what is no longer kept."""
        self._own = _memory_of([*self._model.parameters(), *self._model.buffers()])
        self._there = {place: kept for place, kept in list(self._there.items()) if kept[1]() is not None}

    def _leaving(self, module: nn.Module) -> Any:
        def leave(_: nn.Module, inputs: Any, output: Any) -> None:
            running = self._calls.running
            if not running or running[-1][1] is not module:
                # A hook before that of this context has raised an error, so the module was not entered.
                return
            running.pop()
            if (self._follows or module is self._model) and self._is_own_thread():
                self._left(module, output)

        return leave

    def _keep(self, tensor: Tensor) -> _Packed:
        running = self._calls.running
        name, module = running[-1] if running else (OUTSIDE, None)
        if self._leaves(tensor) or not is_plain(tensor) or self._is_own(tensor) or self._is_cast(tensor):
            return _Packed(None, None, watch(tensor, name, memory=True))
        place, storage = place_of(tensor)
        before = self._there.get(place)
        kept = None if before is None or before[0]() is None else before[1]()
        if kept is None:
            slot = name, self._counts.get(name, -1) + 1
            self._counts[name] = slot[1]
            kept = self._stay(tensor, slot) or self._hold(layout_of(in_memory(tensor))[0](), slot)
            self._there[place] = (weakref.ref(storage), weakref.ref(kept))
        else:
            self._account.shared += 1
        if module is not None:
            self._read_by(kept, module)
        if isinstance(kept, Stays):
            return _Packed(kept, None, watch(tensor, name, memory=True))
        _, size, stride = layout_of(tensor)
        layout = Layout(size, stride, tensor.is_neg(), tensor.is_conj())
        return _Packed(kept, layout, watch(tensor, name, memory=False))

    def _give_back(self, packed: _Packed) -> Tensor:
        packed.watch.check()
        if packed.layout is None:
            return packed.watch.counter
        assert packed.kept is not None
        assert not isinstance(packed.kept, Stays)
        return packed.layout.tensor(packed.kept.restored())

    def _is_own(self, tensor: Tensor) -> bool:
        """Whether a tensor is a parameter or a buffer of the model, or a view of one."""
        base = tensor._base
        if type(tensor) is nn.Parameter or (base is not None and isinstance(base, nn.Parameter)):
            return True
        if self._own is None:
            self._find_own()
        assert self._own is not None
        address = tensor.untyped_storage().data_ptr()
        own = self._own.get(address)
        if own is not None and own() is not None:
            return True
        # A module that runs may have a new buffer.
        for _, module in self._calls.running:
            for buffer in module._buffers.values():
                if buffer is not None and is_plain(buffer) and buffer.untyped_storage().data_ptr() == address:
                    return True
        return False

    def _is_cast(self, tensor: Tensor) -> bool:
        """Whether a tensor is a parameter of the running module in another number type, as autocast makes it."""
        running = self._calls.running
        if not running or not tensor.is_floating_point():
            return False
        if _is_made_of_a_parameter(tensor):
            return True
        # To compare bytes would wait for the card; what is not found there is only held twice.
        if tensor.device.type != "cpu":
            return False
        for parameter in running[-1][1].parameters(recurse=False):
            if parameter.dtype != tensor.dtype and parameter.numel() == tensor.numel():
                own = parameter.detach().to(tensor.dtype)
                views = [own, own.t()] if own.dim() == 2 else [own]
                if any(view.shape == tensor.shape and torch.equal(view, tensor) for view in views):
                    return True
        return False


def _is_made_of_a_parameter(tensor: Tensor) -> bool:
    """Whether the graph says that a tensor is a parameter in another number type, transposed or not."""
    made_by = tensor.grad_fn
    while made_by is not None and made_by.name() in ("TBackward0", "ViewBackward0"):
        made_by = made_by.next_functions[0][0]
    if made_by is None or made_by.name() != "ToCopyBackward0":
        return False
    return isinstance(getattr(made_by.next_functions[0][0], "variable", None), nn.Parameter)


def _memory_of(tensors: list[Tensor]) -> dict[int, weakref.ref[Any]]:
    storages = [tensor.untyped_storage() for tensor in tensors if is_plain(tensor)]
    return {storage.data_ptr(): weakref.ref(storage) for storage in storages}


class _Calls(threading.local):
    """The modules that run on a thread, and their names, from the outermost to the innermost."""

    def __init__(self) -> None:
        self.running: list[tuple[str, nn.Module]] = []


@dataclass(slots=True)
class _Packed:
    """What autograd has in place of a tensor.

    ``kept``
        What is held for it; nothing for what is not in the account.
    ``layout``
        How the tensor lies over the elements that are held; one that stays what it is has none.
    """

    kept: Kept | Stays | None
    layout: Layout | None
    watch: Watch
