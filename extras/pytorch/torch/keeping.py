"""The hooks around a model: which tensors autograd keeps, which of them are the same, which modules read them, and whether
one was written to after it was kept, which PyTorch asks no more once hooks have what it keeps.

What is done with the elements is the business of the contexts that are made of this.
"""

from __future__ import annotations

import threading
import warnings
import weakref
from dataclasses import dataclass
from functools import cache
from types import NoneType, TracebackType
from typing import Any, Protocol, TypeVar

import torch
from torch import Tensor, nn

from cdma.base.errors import ParameterError

from .memory import Layout, Place, cuda_stream, in_memory, is_plain, layout_of, on_stream, place_of

#: The name of what no module keeps.
OUTSIDE = "outside the model"


@dataclass(slots=True)
class Watch:
    """A tensor's count of writes, as it was.

    ``counter``: A tensor with the same count.
    ``shape``: The tensor's; that of a nested tensor is no one list.
    ``name``: What runs when the tensor is kept, for the message; ``OUTSIDE`` outside of it.
    """

    counter: Tensor
    version: int
    shape: tuple[int, ...] | None
    name: str

    @property
    def is_written(self) -> bool:
        """Whether the tensor was written to."""
        return bool(self.counter._version != self.version)

    def check(self) -> None:
        """Raises the error that PyTorch raises if the tensor was written to."""
        if self.is_written:
            now = self.counter._version
            shape = "nested" if self.shape is None else list(self.shape)
            where = OUTSIDE if self.name == OUTSIDE else f"in {self.name}"
            raise RuntimeError(
                "one of the variables needed for gradient computation has been modified by an inplace operation: "
                f"[{self.counter.type()} {shape}], which was kept {where} and is at version {now}; expected "
                f"version {self.version} instead. Hint: enable anomaly detection to find the operation that failed to "
                "compute its gradient, with torch.autograd.set_detect_anomaly(True)."
            )


def watch(tensor: Tensor, name: str, memory: bool) -> Watch:
    """Watches a tensor; without ``memory`` its elements are not held."""
    # One tensor that was kept several times comes back as one.
    counter = tensor.detach() if tensor.requires_grad or not memory else tensor
    if not memory:
        # Other elements leave the count what it is.
        counter.data = _empty(tensor.dtype, tensor.device)
    return Watch(counter, tensor._version, None if tensor.is_nested else tensor.shape, name)


@cache
def _empty(dtype: torch.dtype, device: torch.device) -> Tensor:
    return torch.empty(0, dtype=dtype, device=device)


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
        # Made once: a compiler compiles again for others.
        self._wrapped: dict[nn.Module, _Call] = {}
        # What is kept now, by its place in memory, and how it lies there.
        self._there: dict[Place, tuple[weakref.ref[Any], weakref.ref[Kept | Stays], Layout | None]] = {}
        # The model's memory, by its address, as long as it is there.
        self._own: dict[int, weakref.ref[Any]] | None = None
        # The modules that read a tensor of a pass, learnt in the passes until now.
        self._readers: dict[Slot, set[nn.Module]] = {}
        self._counts: dict[str, int] = {}
        keep, give_back = torch.compiler.disable(self._keep), torch.compiler.disable(self._give_back)
        self._hooks = torch.autograd.graph.saved_tensors_hooks(keep, give_back)
        self._is_entered = False
        self._thread = 0
        #: Whether to call :meth:`_entered` and :meth:`_left` for all modules, or :meth:`_left` for the model alone.
        self._follows = False
        #: Whether the pass is left alone: all stays what it is, and is not in the account.
        self._is_alone = False
        # Whether a pass of the block has begun, whether the model itself is ever called, and whether a part of it is.
        self._begun = self._is_called = False
        self._sees_parts = not any(True for _ in model.children())

    #: A policy that goes by the modules that read a tensor.
    _by_module: object = None

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

    def _begin_pass(self, inputs: Any) -> None:
        """A forward pass of the model begins, with these arguments."""
        self._begun = True
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
        if self._is_entered:
            raise ParameterError("the context is entered twice; it is for one block at a time")
        for name, module in self._model.named_modules():
            call = self._wrapped.get(module) or _Call(self, name or _MODEL, module)
            self._wrapped[module] = call
            call.install()
        self._thread = threading.get_ident()
        self._own = None
        # Where the model itself is never called, a block is a pass.
        self._begun = self._is_called
        self._is_entered = True
        self._hooks.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._hooks.__exit__(kind, error, trace)
        self._is_entered = False
        if self._by_module is not None and self._counts and not self._sees_parts:
            name, self._by_module = type(self._by_module).__name__, None
            warnings.warn(
                f"{name} goes by modules, of which a compiled model shows none: it has no effect there",
                stacklevel=3,
            )
        for call in self._wrapped.values():
            call.remove()
        self._settle()
        self._calls.running.clear()
        self._there.clear()

    @property
    def is_unseen(self) -> bool:
        """Whether calls of modules do not matter: those within a pass that is left alone."""
        return self._is_alone and bool(self._calls.running)

    def _begin_call(self, name: str, module: nn.Module, inputs: Any) -> None:
        """A call of a module begins."""
        self._settle()
        running = self._calls.running
        if not running:
            if self._is_own_thread() and (module is self._model or not self._begun):
                self._is_called = self._is_called or module is self._model
                self._begin_pass(inputs)
            self._account.elsewhere += not self._is_own_thread()
            self._find_own()
        running.append((name, module))
        self._sees_parts |= module is not self._model
        if self._follows and self._is_own_thread():
            self._entered(name)

    def _end_call(self, module: nn.Module, output: Any) -> None:
        """A call of a module ends."""
        self._settle()
        if self._calls.running:
            self._calls.running.pop()
        if (self._follows or module is self._model) and self._is_own_thread():
            self._left(module, output)

    def _is_own_thread(self) -> bool:
        """Whether hooks for what is kept are those of the block; the backward pass takes them to its threads."""
        return threading.get_ident() == self._thread or torch._C._current_graph_task_id() != -1

    def _find_own(self) -> None:
        """Finds the memory of the model; it may have moved between two calls. Forgets what is no longer kept."""
        self._own = _memory_of([*self._model.parameters(), *self._model.buffers()])
        self._there = {place: kept for place, kept in list(self._there.items()) if kept[1]() is not None}

    def _keep(self, tensor: Tensor) -> _Packed:
        if self.is_unseen:
            return _Packed(None, None, watch(tensor, self._calls.running[0][0], memory=True))
        calls = self._calls
        if calls.unsettled and calls.operation != torch._C._autograd._get_sequence_nr():
            self._settle()
        running = calls.running
        if not running and not self._begun and self._is_own_thread():
            # What is compiled calls no modules.
            self._begin_pass(())
        name, module = running[-1] if running else (OUTSIDE, None)
        if not is_plain(tensor) or self._leaves(tensor) or self._is_own(tensor) or self._is_cast(tensor):
            return _Packed(None, None, watch(tensor, name, memory=True))
        if tensor.requires_grad:
            return self._packed(tensor, name, module)
        # An operation writes its noise when it has kept it, and no version says so: RReLU does.
        packed = _Packed(None, None, watch(tensor, name, memory=True))
        calls.operation = torch._C._autograd._get_sequence_nr()
        calls.unsettled.append((weakref.ref(packed), name, module, cuda_stream(tensor.device)))
        return packed

    def _settle(self) -> None:
        """Takes what has waited for the end of the operation that keeps it."""
        unsettled, self._calls.unsettled = self._calls.unsettled, []
        for reference, name, module, stream in unsettled:
            packed = reference()
            if packed is not None and not packed.watch.is_written:
                with torch.no_grad(), on_stream(stream):
                    made = self._packed(packed.watch.counter, name, module)
                vars(packed).update(vars(made))

    def _packed(self, tensor: Tensor, name: str, module: nn.Module | None) -> _Packed:
        """Has the elements of a tensor held, if they are not yet."""
        place, storage = place_of(tensor)
        there, known, layout = self._there.get(place, (None, None, None))
        kept = known() if there is not None and known is not None and there() is not None else None
        if kept is None:
            slot = name, self._counts.get(name, -1) + 1
            self._counts[name] = slot[1]
            kept, layout = self._stay(tensor, slot), None
            if kept is None:
                kept = self._hold(layout_of(in_memory(tensor))[0](), slot)
        else:
            self._account.shared += 1
        if module is not None:
            self._read_by(kept, module)
        stays = isinstance(kept, Stays)
        if not stays:
            _, size, stride = layout_of(tensor)
            own = Layout(size, stride, tensor.is_neg(), tensor.is_conj())
            layout = layout if layout == own else own
        self._there[place] = (weakref.ref(storage), weakref.ref(kept), layout)
        return _Packed(kept, layout, watch(tensor, name, memory=stays))

    def _give_back(self, packed: _Packed) -> Tensor:
        packed.watch.check()
        if packed.layout is None:
            return packed.watch.counter
        assert packed.kept is not None
        assert not isinstance(packed.kept, Stays)
        return packed.layout.tensor(packed.kept.restored)

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
        # To compare bytes would wait for the GPU; what is not found there is only held twice.
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
    """What runs on a thread.

    ``running``: The modules that run, and their names, from the outermost to the innermost.
    ``unsettled``: What the operation of this number keeps and may still write, with the module and the CUDA stream that
        ran.
    """

    def __init__(self) -> None:
        self.running: list[tuple[str, nn.Module]] = []
        self.operation = -1
        self.unsettled: list[tuple[weakref.ref[_Packed], str, nn.Module | None, Any]] = []


class _Call:
    """Calls a module within a context. In a copy of the module nothing of it is left.

    PyTorch has this place for the calls of ``module.compile()``: no hook says when a call was interrupted, and a compiler
    breaks its graph at each.
    """

    def __init__(self, context: Keeping, name: str, module: nn.Module) -> None:
        self._context, self._name, self._module = context, name, module
        self._before: Any = None

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        call = self._before or self._module._call_impl
        if torch.compiler.is_compiling() or self._context.is_unseen:
            return call(*inputs, **named)
        output = None
        self._context._begin_call(self._name, self._module, (inputs, named))
        try:
            output = call(*inputs, **named)
        finally:
            self._context._end_call(self._module, output)
        return output

    def install(self) -> None:
        """Has calls of the module be this one."""
        self._before = vars(self._module).get("_compiled_call_impl")
        vars(self._module)["_compiled_call_impl"] = self

    def remove(self) -> None:
        """Has them be what they were."""
        vars(self._module)["_compiled_call_impl"] = self._before
        if self._before is None:
            del vars(self._module)["_compiled_call_impl"]

    def __reduce__(self) -> tuple[Any, ...]:
        return NoneType, ()


@dataclass(eq=False)
class _Packed:
    """What autograd has in place of a tensor.

    ``kept``: What is held for it; nothing for what is not in the account.
    ``layout``: How the tensor lies over the elements that are held; one that stays what it is has none.
    """

    kept: Kept | Stays | None
    layout: Layout | None
    watch: Watch
