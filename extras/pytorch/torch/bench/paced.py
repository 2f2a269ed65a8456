"""The way between a device and its host in software, at a rate: what the benches have on a processor."""

from __future__ import annotations

import time
from collections.abc import Sequence

import torch
from torch import Tensor

from cdma.torch.transport import Transport


class Paced(Transport):
    """Copies between two parts of the processor's memory, of so many bytes per second out and back."""

    def __init__(self, out_rate: float, back_rate: float) -> None:
        super().__init__(torch.device("cpu"))
        self._rates = out_rate, back_rate

    def _move(self, way: int, pairs: Sequence[tuple[Tensor, Tensor]]) -> None:
        end = time.perf_counter() + pairs[0][1].numel() / self._rates[way]
        super()._move(way, pairs)
        time.sleep(max(0.0, end - time.perf_counter()))


def transport_for(device: str, rate: float | None) -> Transport:
    """The way of a bench: that of a GPU, or one of so many bytes per second."""
    if device == "cpu" and rate is not None:
        return Paced(rate, rate)
    return Transport(torch.device(device))
