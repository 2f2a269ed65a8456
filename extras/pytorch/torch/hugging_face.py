"""What programs of Hugging Face's ``transformers`` take: contexts around the training of a ``Trainer``, and keys and
values on the host as a cache, for ``generate(past_key_values=…)``.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import Any, NoReturn

from torch import Tensor
from transformers import TrainerCallback, cache_utils

from cdma.base.errors import ParameterError
from cdma.torch.streaming.cache import Cache
from cdma.torch.streaming.units import StreamReport


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


def _refuse(*_: Any, **__: Any) -> NoReturn:
    raise ParameterError(
        "keys and values on the host are never changed: there is no beam search, and a new text takes a new cache"
    )


class _Layer(cache_utils.CacheLayerMixin):
    """A layer of the cache. One with a sliding window has all tokens, too; its mask leaves the earlier ones out."""

    is_sliding = False

    def __init__(self, tokens: Cache, number: int) -> None:
        super().__init__()
        self._tokens, self._number = tokens, number

    def lazy_initialization(self, *_: Any) -> None:
        """Layers begin with their first tokens."""

    def update(self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
        """All keys and values, with new ones at their end."""
        return self._tokens.update(key_states, value_states, self._number)

    def get_seq_length(self, *_: Any) -> int:
        """The tokens."""
        return self._tokens.get_seq_length(self._number)

    def get_mask_sizes(self, query_length: Any) -> tuple[int, int]:
        """The tokens of the next step and the first of them; an older version gives the places of the new ones."""
        new = query_length if isinstance(query_length, int) else query_length.shape[0]
        return self.get_seq_length() + new, 0

    def get_max_length(self) -> int:
        """There is no limit."""
        return -1

    get_max_cache_shape = get_max_length
    offload = prefetch = reset = reorder_cache = crop = _refuse
    batch_repeat_interleave = batch_select_indices = _refuse


class TransformersCache(cache_utils.Cache):
    """What :func:`cdma.torch.cache` gives to a program that has imported ``transformers``."""

    def __init__(self, tokens: Cache) -> None:
        super().__init__(layer_class_to_replicate=lambda: _Layer(tokens, len(self.layers)))
        self._tokens = tokens

    @property
    def report(self) -> StreamReport:
        """What stays and what has moved until now."""
        return self._tokens.report

    def synchronize(self) -> None:
        """Returns when nothing is on its way."""
        self._tokens.synchronize()
