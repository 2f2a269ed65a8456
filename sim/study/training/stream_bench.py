"""Tokens of a model whose weights come from the host, layer by layer: raw, compressed, and as accelerate does it."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from statistics import median
from typing import Any

import torch
from torch import Tensor

from cdma.base.errors import CdmaError, ToolError
from cdma.sim.gpu.where import where
from cdma.sim.torch.streaming.context import Stream
from cdma.sim.torch.streaming.door import stream

from .llama import Shape, Stack

__all__ = ["StreamBench", "WrongOutput", "stream_rows"]

#: Tokens that do not count: memory is found, kernels are compiled, and the order is learnt.
_WARM_UP = 2


class WrongOutput(CdmaError):
    """A model has another output than with all of its weights on the device."""


@dataclass(frozen=True)
class StreamBench:
    """What is measured.

    ``link``
        Bytes per second of the link in software; on a card None.
    ``device_bytes``
        The most bytes of the device for weights; None for so few that all weights come.
    ``tokens``
        Tokens of a round, one after the other. A round begins and ends with as many layers on the device, when nothing is
        on its way.
    """

    shape: Shape
    rounds: int = 5
    link: float | None = 1e9
    device_bytes: int | None = None
    ahead: int = 2
    tokens: int = 4
    device: str = "cpu"
    seed: int = 1


def stream_rows(policies: list[str], bench: StreamBench) -> Iterator[dict[str, Any]]:
    """A row for each policy: medians over rounds in which each computes a few tokens after the other.

    Raises :class:`WrongOutput` if a token differs in any bit from that of the plain model.
    """
    if bench.device == "cuda" and not torch.cuda.is_available():
        raise ToolError("there is no card here that PyTorch can use")
    source = torch.Generator(bench.device).manual_seed(bench.seed)
    token = torch.randn(1, 1, bench.shape.width, generator=source, device=bench.device).to(torch.bfloat16)
    with torch.no_grad():
        expected = Stack(bench.shape, bench.device, bench.seed)(token)
    _tidy(bench)
    runs = []
    try:
        for policy in policies:
            if policy != "accelerate" or find_spec("accelerate") is not None:
                runs.append(_Run(policy, bench))
                _tidy(bench)
        for number in range(_WARM_UP + bench.rounds):
            for run in runs:
                run.round(token, expected, counts=number >= _WARM_UP)
        raw = next((run.tokens for run in runs if run.policy == "raw"), None)
        yield from [run.row(raw) for run in runs]
    finally:
        # Each leaves gradients as it has found them.
        for run in reversed(runs):
            run.close()
            _tidy(bench)


class _Run:
    """A model under one policy."""

    def __init__(self, policy: str, bench: StreamBench) -> None:
        self.policy, self._bench = policy, bench
        self._model = Stack(bench.shape, bench.device, bench.seed)
        self._nbytes = sum(weight.nbytes for weight in self._model.parameters())
        self._seconds: list[float] = []
        self._context: Stream | None = None
        if policy == "accelerate":
            offload = import_module("accelerate").cpu_offload
            self._model = offload(self._model.to("cpu"), execution_device=torch.device(bench.device))
            return
        context = stream(
            self._model,
            device_bytes=bench.device_bytes or self._least(policy),
            ahead=bench.ahead,
            raw=policy == "raw",
            link=bench.link,
            device=bench.device,
        )
        self._context = context.__enter__()

    def _least(self, policy: str) -> int:
        """Bytes through which layers come: those that are on their way, and one that computes."""
        layer = sum(weight.nbytes for weight in self._model.layers[0].parameters())
        return (self._bench.ahead + 1) * layer + (0 if policy == "raw" else layer)

    def round(self, token: Tensor, expected: Tensor, *, counts: bool) -> None:
        """Computes the outputs for a token, and compares them afterwards."""
        self._synchronize()
        began = time.perf_counter()
        with torch.no_grad():
            made = [self._model(token) for _ in range(self._bench.tokens)]
        self._synchronize()
        if counts:
            self._seconds.append((time.perf_counter() - began) / len(made))
        if not all(torch.equal(one, expected) for one in made):
            raise WrongOutput(f"{self.policy} made another output than the plain model")

    @property
    def tokens(self) -> float:
        """Tokens per second."""
        return 1 / median(self._seconds)

    def row(self, raw: float | None) -> dict[str, Any]:
        """What was measured; ``raw`` is the tokens per second of the same executor without compression."""
        bench, shape = self._bench, self._bench.shape
        report = None if self._context is None else self._context.report
        ratio = None if report is None else report.ratio
        return {
            **where(bench.device == "cuda"),
            "model": f"{shape.layers} layers of {shape.width} x {shape.hidden}",
            "weights": self._nbytes,
            "policy": f"accelerate {version('accelerate')}" if report is None else self.policy,
            "ms": 1e3 / self.tokens,
            "tokens": self.tokens,
            "ratio": ratio,
            "share": None if raw is None or ratio is None else self.tokens / raw / ratio,
            "moved": None if report is None else report.moved // report.passes,
            "hot": None if report is None else report.hot,
            "on_device": None if report is None else report.device,
            "wait_ms": None if report is None else report.wait / report.passes * 1e3,
            "late": None if report is None else report.late,
        }

    def close(self) -> None:
        """Leaves the model without its weights."""
        if self._context is not None:
            self._context.__exit__(None, None, None)

    def _synchronize(self) -> None:
        if self._context is not None:
            self._context.synchronize()
        if self._bench.device != "cpu":
            torch.cuda.synchronize()


def _tidy(bench: StreamBench) -> None:
    gc.collect()
    if bench.device != "cpu":
        torch.cuda.empty_cache()
