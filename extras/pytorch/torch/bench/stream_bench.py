"""Tokens, or steps, of a model of which a part comes from the host: raw, compressed, and weights as accelerate does it."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from statistics import median
from typing import Any

import torch
from torch import Tensor

from cdma.base.errors import CdmaError, ToolError
from cdma.gpu.layout import where

from .stream_runs import RUNS, Run, StreamBench

#: Rounds that do not count: memory is found, kernels are compiled, and the order is learnt.
_WARM_UP = 2


class WrongOutput(CdmaError):
    """A model has another output than with all of it on the device."""


def stream_rows(what: str, policies: list[str], bench: StreamBench) -> Iterator[dict[str, Any]]:
    """A row for each policy: medians over rounds in which each computes a few tokens, or steps, after the other.

    Raises :class:`WrongOutput` if a token, or a weight behind steps, differs in any bit from that of the plain model.
    """
    if bench.device == "cuda" and not torch.cuda.is_available():
        raise ToolError("there is no GPU here that PyTorch can use")
    expected = _expected(what, bench)
    timed: list[_Timed] = []
    try:
        for policy in policies:
            if policy != "accelerate" or (what == "weights" and find_spec("accelerate") is not None):
                timed.append(_Timed(RUNS[what](policy, bench)))
                _tidy(bench)
        for number in range(_WARM_UP + bench.rounds):
            for each in timed:
                each.round(expected[number], counts=number >= _WARM_UP)
        raw = next((each.rate for each in timed if each.run.policy == "raw"), None)
        yield from [each.row(what, raw) for each in timed]
    finally:
        # Each leaves gradients as it has found them.
        for each in reversed(timed):
            each.run.close()
            _tidy(bench)


def _expected(what: str, bench: StreamBench) -> list[list[Tensor]]:
    """What each round of the plain model makes, on the processor."""
    plain, expected = RUNS[what](None, bench), []
    for _ in range(_WARM_UP + bench.rounds):
        plain.seconds()
        expected.append([tensor.cpu() for tensor in plain.results()])
    plain.close()
    del plain
    _tidy(bench)
    return expected


class _Timed:
    """A run and its times."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._seconds: list[float] = []

    def round(self, expected: Sequence[Tensor], *, counts: bool) -> None:
        """Computes a few tokens or steps, and compares them afterwards."""
        seconds = self.run.seconds()
        if counts:
            self._seconds.append(seconds / self.run.bench.tokens)
        made = [tensor.cpu() for tensor in self.run.results()]
        if not all(map(torch.equal, made, expected)):
            raise WrongOutput(f"{self.run.policy} made another output than the plain model")

    @property
    def rate(self) -> float:
        """Tokens or steps per second."""
        return 1 / median(self._seconds)

    def row(self, what: str, raw: float | None) -> dict[str, Any]:
        """What was measured; ``raw`` is the rate of the same executor without compression."""
        run, shape, report = self.run, self.run.bench.shape, self.run.report
        ratio = None if report is None else report.ratio
        return {
            **where(run.bench.device == "cuda"),
            "model": f"{shape.layers} layers of {shape.width} x {shape.hidden}",
            "what": what,
            "policy": run.name,
            "bytes": run.nbytes,
            "ms": 1e3 / self.rate,
            "rate": self.rate,
            "ratio": ratio,
            "share": None if raw is None or ratio is None else self.rate / raw / ratio,
            "moved": None if report is None else (report.moved + report.left) // report.passes,
            "hot": None if report is None else report.hot,
            "on_device": None if report is None else report.device,
            "wait_ms": None if report is None else report.wait / report.passes * 1e3,
            "late": None if report is None else report.late,
        }


def _tidy(bench: StreamBench) -> None:
    gc.collect()
    if bench.device != "cpu":
        torch.cuda.empty_cache()
