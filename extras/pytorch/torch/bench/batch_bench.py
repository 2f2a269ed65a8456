"""Images per second against memory: each way to keep what autograd keeps, with the largest batch that it lets fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from cdma.base.errors import ToolError
from cdma.torch.context import Saved
from cdma.torch.growing import largest_batch
from cdma.torch.policies import Lossless

from .saved_bench import PLAIN, SavedBench, Training


@dataclass(frozen=True)
class BatchBench:
    """What is measured.

    ``memory``: Bytes: of the GPU, or on the processor of what autograd keeps.
    ``multiple``: What batches are multiples of.
    """

    memory: Sequence[int]
    multiple: int = 8
    rounds: int = 5
    device: str = "cuda"
    seed: int = 1


def batch_rows(network: str, ways: Sequence[str], bench: BatchBench) -> Iterator[dict[str, Any]]:
    """A row for each memory and way, the first of which is plain."""
    if bench.device == "cuda" and not torch.cuda.is_available():
        raise ToolError("there is no GPU here that PyTorch can use")
    base = SavedBench(bench.multiple, bench.rounds, bench.device, bench.seed)
    for memory in bench.memory:
        plain: float | None = None
        for way in ways:
            found = largest_batch(_step(network, way, base), memory, multiple=bench.multiple)
            row = Training(network, replace(base, batch=found.batch)).measure(way)
            speed = found.batch / row["ms"] * 1e3
            plain = plain or speed
            yield {
                **{name: row[name] for name in ("card", "tools", "network", "way", "ms")},
                "memory": memory,
                "batch": found.batch,
                "peak": found.peak,
                "images_per_second": speed,
                "faster": speed / plain,
            }


def _step(network: str, way: str, bench: SavedBench) -> Callable[[int], int | None]:
    """A step of any batch; on the processor it returns the bytes that are kept for the backward pass."""
    training = Training(network, bench)
    card = bench.device == "cuda"
    # On the processor a context counts for plain training what it does not use.
    context: Any = training.context(way) if card or way != PLAIN else Saved(training.model, Lossless())

    def step(batch: int) -> int | None:
        training.resize(batch)
        loss = training.forward(context)
        kept = None if card else context.now[way != PLAIN]
        loss.backward()
        return kept

    return step
