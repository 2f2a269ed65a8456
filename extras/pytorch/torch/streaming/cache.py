"""Keys and values of a decoder on the host: those of a layer come before it computes, and the new ones leave in blocks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from cdma.base.errors import ParameterError

from .depot import ROUNDS, Depot, Held
from .units import Streamed, StreamReport

#: The dimension of the tokens.
_TOKENS = -2


@dataclass(eq=False)
class _Layer:
    """Keys and values of a layer.

    ``parts``: Blocks of tokens in their order: on the host, or as they are.
    ``tail``: The tokens behind these; none before the first.
    ``stays``, ``held``: Bytes on the device, and on the host.
    """

    parts: list[Held | list[Tensor]] = field(default_factory=list)
    tail: list[Tensor] = field(default_factory=list)
    tokens: int = 0
    stays: int = 0
    held: int = 0

    @property
    def cold(self) -> list[Held]:
        """The blocks on the host."""
        return [part for part in self.parts if isinstance(part, Held)]

    def count(self) -> None:
        """Brings the bytes up to date."""
        hot = [part for part in [*self.parts, self.tail] if not isinstance(part, Held)]
        self.stays = sum(tensor.nbytes for tensors in hot for tensor in tensors)
        self.held = sum(held.bundle.held for held in self.cold)


class Cache:
    """What :func:`cdma.torch.cache` gives; :attr:`report` is its account.

    ``depot``: Makes the way to the host for the device of the first keys, and says how many bytes of it there are.
    ``block``: Tokens of a layer leave in multiples of so many.
    """

    def __init__(self, depot: Callable[[torch.device], tuple[Depot, int]], ahead: int, block: int) -> None:
        self._make, self._device_bytes, self._ahead, self._block = depot, 0, ahead, block
        self._depot: Depot | None = None
        self._layers: dict[int, _Layer] = {}
        self._report = StreamReport()

    @property
    def report(self) -> StreamReport:
        """What stays and what has moved until now."""
        report = self._report
        for number, layer in self._layers.items():
            row, cold = report.rows[str(number)], sum(held.bundle.raw for held in layer.cold)
            row.raw, row.held, row.hot = layer.stays + cold, layer.stays + layer.held, not layer.cold
        report.hot = self._stays()
        report.raw = sum(row.raw for row in report.rows.values())
        report.cold = report.raw - report.hot
        report.held = sum(layer.held for layer in self._layers.values())
        if self._depot is not None:
            self._turn(self._depot, 0)
        return report

    def get_seq_length(self, layer: int = 0) -> int:
        """The tokens of a layer."""
        return self._layers[layer].tokens if layer in self._layers else 0

    def update(self, keys: Tensor, values: Tensor, layer: int, *_: Any) -> tuple[Tensor, Tensor]:
        """Keys and values of all tokens of a layer, with new ones at their end.

        Tokens are in the last dimension but one. What is returned is the caller's.
        """
        depot = self._ready(keys, values)
        if layer not in self._layers:
            self._layers[layer] = _Layer()
            self._report.rows[str(layer)] = Streamed(0, 0, True)
        elif layer == next(iter(self._layers)):
            self._report.passes += 1
            self._turn(depot, ROUNDS)
        own = self._layers[layer]
        new = [each.detach().clone(memory_format=torch.contiguous_format) for each in (keys, values)]
        parts = [self._part(depot, part, layer) for part in own.parts] + [own.tail]
        made = [torch.cat(tensors, _TOKENS) for tensors in zip(*filter(None, [*parts, new]), strict=True)]
        tails = [own.tail, new] if own.tail else [new]
        own.tail = [torch.cat(tensors, _TOKENS) for tensors in zip(*tails, strict=True)]
        first, own.tokens = own.tokens == 0, own.tokens + keys.shape[_TOKENS]
        self._leave(depot, own)
        self._fetch(depot, layer)
        return (keys, values) if first else (made[0], made[1])

    def synchronize(self) -> None:
        """Returns when nothing is on its way."""
        if self._depot is not None:
            self._depot.synchronize()

    def _ready(self, keys: Tensor, values: Tensor) -> Depot:
        """The way to the host, for tensors that can go there."""
        if torch.is_grad_enabled() and (keys.requires_grad or values.requires_grad):
            raise ParameterError(
                "keys have gradients, which would be lost; a cache on the host is for inference"
            )
        if self._depot is None:
            self._depot, self._device_bytes = self._make(keys.device)
            self._depot.report = self._report
        if keys.device != self._depot.device or values.device != keys.device:
            raise ParameterError(
                f"keys are on {keys.device} and values on {values.device}; the cache is on {self._depot.device} alone"
            )
        return self._depot

    def _part(self, depot: Depot, part: Held | list[Tensor], layer: int) -> list[Tensor]:
        return depot.get(part, str(layer)) if isinstance(part, Held) else part

    def _leave(self, depot: Depot, own: _Layer) -> None:
        """Cuts whole blocks off the tail, and has blocks leave until the others have room."""
        tokens = own.tail[0].shape[_TOKENS]
        whole = tokens - tokens % self._block
        if whole:
            own.parts.append([tensor.narrow(_TOKENS, 0, whole).contiguous() for tensor in own.tail])
            own.tail = [tensor.narrow(_TOKENS, whole, tokens - whole).clone() for tensor in own.tail]
        own.count()
        for layer in (own, *self._layers.values()):
            for place, part in enumerate(layer.parts):
                if self._has_room():
                    return
                if not isinstance(part, Held):
                    layer.parts[place] = depot.put(part)
                    layer.count()

    def _has_room(self) -> bool:
        """Whether everything may stay that is on the device, beside what is on its way to it."""
        coming = self._ahead * max(layer.held for layer in self._layers.values())
        return self._stays() + coming <= self._device_bytes

    def _stays(self) -> int:
        return sum(layer.stays for layer in self._layers.values())

    def _fetch(self, depot: Depot, layer: int) -> None:
        """Has the blocks of the layers come that are needed next, as far as there is room."""
        order = list(self._layers)
        place = order.index(layer)
        following = (order[place + 1 :] + order[: place + 1])[: self._ahead]
        needed = [held for number in following for held in self._layers[number].cold]
        taken = self._stays() + sum(held.bundle.held for held in needed if held.coming)
        for held in needed:
            if held.coming is None and taken + held.bundle.held <= self._device_bytes:
                depot.fetch(held)
                taken += held.bundle.held
        self._report.device = max(self._report.device, taken)

    def _turn(self, depot: Depot, most: int) -> None:
        """A round of all layers ends."""
        depot.turn()
        depot.settle([held for layer in self._layers.values() for held in layer.cold], most)
