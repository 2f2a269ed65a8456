"""Computing with torch so that the same versions on the same kind of machine give the same numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


class reproducible:
    """Makes torch compute deterministically, in one thread, from given random numbers, within a ``with`` block.

    Unless it is ``strict``, kernels of a card for which there is no deterministic one stay what they are.
    """

    def __init__(self, start: int | torch.Tensor, strict: bool = True) -> None:
        self._start, self._strict = start, strict

    def __enter__(self) -> None:
        import torch

        self._before = (
            torch.get_rng_state(),
            torch.get_num_threads(),
            torch.are_deterministic_algorithms_enabled(),
        )
        if isinstance(self._start, int):
            torch.manual_seed(self._start)
        else:
            torch.set_rng_state(self._start)
        torch.set_num_threads(1)
        torch.use_deterministic_algorithms(True, warn_only=not self._strict)

    def __exit__(self, *_: object) -> None:
        import torch

        state, threads, deterministic = self._before
        torch.set_rng_state(state)
        torch.set_num_threads(threads)
        torch.use_deterministic_algorithms(deterministic)
