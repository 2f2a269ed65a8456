"""Contexts around the training of a ``Trainer`` of Hugging Face's ``transformers``."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import Any

from transformers import TrainerCallback


class Contexts(TrainerCallback):
    """What :func:`cdma.torch.trainer_callback` gives.

    ``entered``: The contexts of the last training, for their reports.
    """

    def __init__(
        self,
        model: Callable[[Any], AbstractContextManager[Any]] | None,
        optimizer: Callable[[Any], AbstractContextManager[Any]] | None,
    ) -> None:
        self._of_model, self._of_optimizer = model, optimizer
        self._stack = ExitStack()
        self.entered: list[Any] = []

    def on_train_begin(
        self, args: Any, state: Any, control: Any, model: Any = None, optimizer: Any = None, **_: Any
    ) -> None:
        """Enters the contexts."""
        self.close()
        # accelerate has an optimiser within its own.
        own = getattr(optimizer, "optimizer", optimizer)
        made = ((self._of_model, model), (self._of_optimizer, own))
        self.entered = [self._stack.enter_context(make(of)) for make, of in made if make is not None]

    def on_train_end(self, *_: Any, **__: Any) -> None:
        """Leaves them."""
        self.close()

    def close(self) -> None:
        """Leaves the contexts of a training that ended with an error."""
        self._stack.close()
