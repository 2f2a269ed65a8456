"""Modules that keep their inputs alone, and are computed again in the backward pass."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_flatten, tree_unflatten
from torch.utils.checkpoint import checkpoint, set_checkpoint_early_stop

from cdma.base.errors import ParameterError


def recomputed(model: nn.Module, names: tuple[str, ...]) -> list[Again]:
    """The modules of these names, or the children of the model, each once."""
    modules = dict(model.named_modules())
    for name in names:
        if name not in modules:
            raise ParameterError(
                f"the model has no module {name!r}; it has {', '.join(filter(None, modules))}"
            )
    chosen = [modules[name] for name in names] or list(model.children())
    return [Again(one) for one in dict.fromkeys(each for one in chosen for each in _called(one))]


def _called(module: nn.Module) -> list[nn.Module]:
    """A module; what is in it if it is one that nobody calls. None that writes to what it is called with."""
    if not isinstance(module, (nn.ModuleList, nn.ModuleDict)):
        return [] if _writes(module) else [module]
    return [each for child in module.children() for each in _called(child)]


def _writes(module: nn.Module) -> bool:
    """Whether a module begins in place: it needs none of its inputs again, and these would no longer be there."""
    if isinstance(module, nn.Sequential) and len(module):
        return _writes(module[0])
    return getattr(module, "inplace", False) is True


def _is_checkpointed() -> bool:
    """Whether a checkpoint computes this again anyway, maybe when no module is replaced any more."""
    top = getattr(torch._C._autograd, "_top_saved_tensors_default_hooks", lambda _: None)(False)
    return top is not None and top[0].__module__ == checkpoint.__module__


class Again:
    """Stands in the place of a module's forward method. A copy of the module has its own method there."""

    def __init__(self, module: nn.Module) -> None:
        self._module = module
        # What the module had of its own; behind it is the method of the class.
        self._own: Any = None
        self._forward: Any = None
        # Whether to stop as soon as all is kept again: not before it is known that no noise would be written after that.
        self._stops = False

    def install(self) -> None:
        """Has the module be computed again."""
        self._own, self._forward = vars(self._module).get("forward"), self._module.forward
        self._module.forward = self

    def remove(self) -> None:
        """Gives the module its method back."""
        del self._module.forward
        if self._own is not None:
            self._module.forward = self._own

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        forward = self._forward
        if torch.compiler.is_compiling() or _is_checkpointed():
            return forward(*inputs, **named)
        leaves, tree = tree_flatten((inputs, named))
        # A tensor that is given several times comes back as one: attention asks whether its three inputs are.
        unique = {id(leaf): leaf for leaf in leaves}
        place = {key: number for number, key in enumerate(unique)}
        places = [place[id(leaf)] for leaf in leaves]

        def run(*given: Any) -> Any:
            inputs, named = tree_unflatten([given[number] for number in places], tree)
            return forward(*inputs, **named)

        noise = _Noise()
        with nullcontext() if self._stops else noise, set_checkpoint_early_stop(self._stops):
            output = checkpoint(
                run,
                *unique.values(),
                use_reentrant=False,
                context_fn=lambda: (nullcontext(), _Buffers(self._module)),
            )
        self._stops = self._stops or not noise.is_there
        return output

    def __reduce__(self) -> tuple[Any, ...]:
        return (getattr, (self._module, "forward")) if self._own is None else (_same, (self._own,))


class _Noise(TorchFunctionMode):
    """Whether anything calls RReLU, which writes its noise when it has kept it."""

    is_there = False

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.is_there |= "rrelu" in getattr(function, "__name__", "")
        return function(*args, **(kwargs or {}))


def _same(method: Any) -> Any:
    return method


class _Buffers:
    """Has a module that is computed again begin with the buffers it had, and leave those it has what they are."""

    def __init__(self, module: nn.Module) -> None:
        self._then = [
            (one._buffers, name, buffer.clone())
            for one in module.modules()
            for name, buffer in one._buffers.items()
            if buffer is not None
        ]
        self._now: list[tuple[dict[str, Tensor | None], str, Tensor | None]] = []

    def __enter__(self) -> None:
        self._now = [(buffers, name, buffers[name]) for buffers, name, _ in self._then]
        for buffers, name, then in self._then:
            buffers[name] = then.clone()

    def __exit__(self, *error: Any) -> None:
        for buffers, name, now in self._now:
            buffers[name] = now
