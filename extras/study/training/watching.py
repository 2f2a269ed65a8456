"""What comes out of each ReLU and each maximum pooling of a network, whether it is a module or a function that is called."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.overrides import TorchFunctionMode

_FUNCTIONS: Mapping[Any, str] = {
    nn.functional.relu: "relu",
    torch.relu: "relu",
    torch.relu_: "relu",
    torch.Tensor.relu: "relu",
    torch.Tensor.relu_: "relu",
    nn.functional.max_pool2d: "pool",
    torch.max_pool2d: "pool",
}


class Watching(TorchFunctionMode):
    """A context in which forward passes of ``model`` are watched.

    ``activations``: A copy of each, in the order of computation, by the name of the module that made it; of a module
        that makes several, the others have numbers.
    ``kinds``: ``"relu"`` or ``"pool"`` for each.
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self._model = model
        self._inside: list[str] = []
        self._handles: list[Any] = []
        self.activations: dict[str, NDArray[np.float32]] = {}
        self.kinds: dict[str, str] = {}

    def __enter__(self) -> Watching:
        for name, module in self._model.named_modules():
            self._handles.append(
                module.register_forward_pre_hook(lambda *_, name=name: self._inside.append(name))
            )
            self._handles.append(
                module.register_forward_hook(lambda *_: self._inside.pop() and None, always_call=True)
            )
        super().__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        for handle in self._handles:
            handle.remove()

    def __torch_function__(
        self,
        function: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        result = function(*args, **(kwargs or {}))
        kind = _FUNCTIONS.get(function)
        if kind is not None:
            self._note(kind, result)
        return result

    def _note(self, kind: str, result: torch.Tensor) -> None:
        name = found = self._inside[-1]
        number = 1
        while found in self.activations:
            number += 1
            found = f"{name}.{number}"
        self.activations[found] = result.detach().float().numpy(force=True).copy()
        self.kinds[found] = kind
