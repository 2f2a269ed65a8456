"""Tokens, or steps, of a model of which a part comes from the host: its weights, an optimiser's states, or a decoder's keys
and values; raw, compressed, and weights as accelerate does it."""

from __future__ import annotations

import gc
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from statistics import median
from typing import Any

import torch
from torch import Tensor

from cdma.base.errors import CdmaError, ToolError
from cdma.gpu.layout import where
from cdma.torch.door import cache, stream
from cdma.torch.networks.networks import KeysAndValues, Shape, Stack
from cdma.torch.streaming.cache import Cache
from cdma.torch.streaming.context import Stream
from cdma.torch.streaming.states import States
from cdma.torch.streaming.units import StreamReport

from .swap_training import transport_for

#: Rounds that do not count: memory is found, kernels are compiled, and the order is learnt.
_WARM_UP = 2


#: Tokens of a batch that is trained with.
_TRAINED = 16
#: Tokens of keys and values that leave together.
_BLOCK = 64
#: The part of their bytes that keys and values have at most as streams.
_COMPRESSED = 0.75


@dataclass(frozen=True)
class StreamBench:
    """What is measured.

    ``link``: Bytes per second of the link in software; on a GPU None.
    ``device_bytes``: The most bytes of the device for what is streamed; None for so few that all of it comes, or about
        all.
    ``tokens``: Tokens of a round, one after the other, or steps. A round begins and ends with as many layers on the
        device, when nothing is on its way.
    ``context``: Tokens whose keys and values there are before the first that counts.
    """

    shape: Shape
    rounds: int = 5
    link: float | None = 1e9
    device_bytes: int | None = None
    ahead: int = 2
    tokens: int = 4
    context: int = 512
    device: str = "cpu"
    seed: int = 1

    def numbers(self, *shape: int) -> Tensor:
        """Numbers of a normal law."""
        source = torch.Generator(self.device).manual_seed(self.seed)
        return torch.randn(*shape, generator=source, device=self.device)


class _Run(ABC):
    """What is streamed under one policy, ``raw`` or ``compressed``; None is without a stream, for what is right.

    ``nbytes``: Bytes of all that is streamed.
    """

    def __init__(self, policy: str | None, bench: StreamBench) -> None:
        self.policy, self.bench = policy, bench
        self._streamed: Stream | States | Cache | None = None
        self._seconds: list[float] = []

    @property
    def name(self) -> str:
        """The policy, and where it is another package's, its version."""
        return str(self.policy)

    @property
    def nbytes(self) -> int:
        """Bytes of all that is streamed."""
        report = self.report
        return 0 if report is None else report.raw

    @property
    def report(self) -> StreamReport | None:
        """The account of the stream."""
        return None if self._streamed is None else self._streamed.report

    def seconds(self) -> float:
        """The seconds of a round: of its tokens, with all copies that they begin."""
        self.synchronize()
        began = time.perf_counter()
        for _ in range(self.bench.tokens):
            self.once()
        self.synchronize()
        return time.perf_counter() - began

    @abstractmethod
    def once(self) -> None:
        """One token, or one step."""

    @abstractmethod
    def results(self) -> Sequence[Tensor]:
        """What has been computed since the last time, which every policy must have equal."""

    def synchronize(self) -> None:
        """Returns when nothing is on its way, and nothing is computed."""
        if self._streamed is not None:
            self._streamed.synchronize()
        if self.bench.device != "cpu":
            torch.cuda.synchronize()

    def close(self) -> None:
        """Ends the stream."""
        if isinstance(self._streamed, (Stream, States)):
            self._streamed.__exit__(None, None, None)

    def round(self, expected: Sequence[Tensor], *, counts: bool) -> None:
        """Computes a few tokens or steps, and compares them afterwards."""
        seconds = self.seconds()
        if counts:
            self._seconds.append(seconds / self.bench.tokens)
        made = [tensor.cpu() for tensor in self.results()]
        if not all(map(torch.equal, made, expected)):
            raise WrongOutput(f"{self.policy} made another output than the plain model")

    @property
    def rate(self) -> float:
        """Tokens or steps per second."""
        return 1 / median(self._seconds)

    def row(self, what: str, raw: float | None) -> dict[str, Any]:
        """What was measured; ``raw`` is the rate of the same executor without compression."""
        shape, report = self.bench.shape, self.report
        ratio = None if report is None else report.ratio
        return {
            **where(self.bench.device == "cuda"),
            "model": f"{shape.layers} layers of {shape.width} x {shape.hidden}",
            "what": what,
            "policy": self.name,
            "bytes": self.nbytes,
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

    def _options(self, least: int) -> dict[str, Any]:
        bench = self.bench
        return {
            "device_bytes": bench.device_bytes or least,
            "ahead": bench.ahead,
            "raw": self.policy == "raw",
            "transport": transport_for(bench.device, bench.link),
        }


class _Weights(_Run):
    """Tokens of a model, each through all layers, whose weights come."""

    def __init__(self, policy: str | None, bench: StreamBench) -> None:
        super().__init__(policy, bench)
        self._model = Stack(bench.shape, bench.device, bench.seed)
        self._nbytes = sum(weight.nbytes for weight in self._model.parameters())
        self._token = bench.numbers(1, 1, bench.shape.width).to(torch.bfloat16)
        self._made: list[Tensor] = []
        if policy == "accelerate":
            offload = import_module("accelerate").cpu_offload
            self._model = offload(self._model.to("cpu"), execution_device=torch.device(bench.device))
        elif policy is not None:
            layer = sum(weight.nbytes for weight in self._model.layers[0].parameters())
            least = (bench.ahead + 1) * layer + (0 if policy == "raw" else layer)
            self._streamed = stream(self._model, device=bench.device, **self._options(least)).__enter__()

    @property
    def name(self) -> str:
        return f"accelerate {version('accelerate')}" if self.policy == "accelerate" else str(self.policy)

    @property
    def nbytes(self) -> int:
        return self._nbytes

    def once(self) -> None:
        with torch.no_grad():
            self._made.append(self._model(self._token))

    def results(self) -> Sequence[Tensor]:
        made, self._made = self._made, []
        return made


class _Optimiser(_Run):
    """Steps of Adam with numbers of 32 bits; the gradients before each do not count."""

    def __init__(self, policy: str | None, bench: StreamBench) -> None:
        super().__init__(policy, bench)
        self._model = Stack(bench.shape, bench.device, bench.seed, torch.float32).requires_grad_(True)
        self._tokens = bench.numbers(1, _TRAINED, bench.shape.width)
        self._adam = torch.optim.Adam(self._model.parameters(), 1e-4)
        if policy is not None:
            largest = max(weight.nbytes for weight in self._model.parameters())
            least = (2 * bench.ahead + 2) * 2 * largest
            self._streamed = stream(self._adam, **self._options(least)).__enter__()

    def seconds(self) -> float:
        seconds = 0.0
        for _ in range(self.bench.tokens):
            self._adam.zero_grad()
            (self._model(self._tokens) - self._tokens).square().mean().backward()
            self.synchronize()
            began = time.perf_counter()
            self.once()
            self.synchronize()
            seconds += time.perf_counter() - began
        return seconds

    def once(self) -> None:
        self._adam.step()

    def results(self) -> Sequence[Tensor]:
        return [weight.detach().clone() for weight in self._model.parameters()]


class _Keys(_Run):
    """Tokens of a decoder, each behind all before it, whose keys and values come."""

    def __init__(self, policy: str | None, bench: StreamBench) -> None:
        super().__init__(policy, bench)
        shape = bench.shape
        self._model = Stack(shape, bench.device, bench.seed)
        if policy is None:
            self._cache: KeysAndValues = _Plain()
        else:
            of_token = 2 * 2 * shape.width
            # Streams of the context, and the tokens behind the last block.
            ahead = bench.ahead * (bench.context + _BLOCK) * (1 if policy == "raw" else _COMPRESSED)
            least = int(of_token * (ahead + shape.layers * _BLOCK))
            self._cache = self._streamed = cache(block=_BLOCK, **self._options(least))
        context = bench.numbers(1, bench.context, shape.width).to(torch.bfloat16)
        with torch.no_grad():
            self._token = self._model(context, self._cache)[:, -1:]
        self._made: list[Tensor] = []

    def once(self) -> None:
        with torch.no_grad():
            self._token = self._model(self._token, self._cache)
        self._made.append(self._token)

    def results(self) -> Sequence[Tensor]:
        made, self._made = self._made, []
        return made


class _Plain:
    """Keys and values on the device."""

    def __init__(self) -> None:
        self._layers: dict[int, tuple[Tensor, Tensor]] = {}

    def update(self, keys: Tensor, values: Tensor, layer: int) -> tuple[Tensor, Tensor]:
        if layer in self._layers:
            before = self._layers[layer]
            keys, values = torch.cat([before[0], keys], -2), torch.cat([before[1], values], -2)
        self._layers[layer] = keys, values
        return keys, values


#: By what is streamed.
_RUNS: dict[str, type[_Run]] = {"weights": _Weights, "optimiser": _Optimiser, "cache": _Keys}


class WrongOutput(CdmaError):
    """A model has another output than with all of it on the device."""


def stream_rows(what: str, policies: list[str], bench: StreamBench) -> Iterator[dict[str, Any]]:
    """A row for each policy: medians over rounds in which each computes a few tokens, or steps, after the other.

    Raises :class:`WrongOutput` if a token, or a weight behind steps, differs in any bit from that of the plain model.
    """
    if bench.device == "cuda" and not torch.cuda.is_available():
        raise ToolError("there is no GPU here that PyTorch can use")
    expected = _expected(what, bench)
    timed: list[_Run] = []
    try:
        for policy in policies:
            if policy != "accelerate" or (what == "weights" and find_spec("accelerate") is not None):
                timed.append(_RUNS[what](policy, bench))
                _tidy(bench)
        for number in range(_WARM_UP + bench.rounds):
            for each in timed:
                each.round(expected[number], counts=number >= _WARM_UP)
        raw = next((each.rate for each in timed if each.policy == "raw"), None)
        yield from [each.row(what, raw) for each in timed]
    finally:
        # Each leaves gradients as it has found them.
        for each in reversed(timed):
            each.close()
            _tidy(bench)


def _expected(what: str, bench: StreamBench) -> list[list[Tensor]]:
    """What each round of the plain model makes, on the processor."""
    plain, expected = _RUNS[what](None, bench), []
    for _ in range(_WARM_UP + bench.rounds):
        plain.seconds()
        expected.append([tensor.cpu() for tensor in plain.results()])
    plain.close()
    del plain
    _tidy(bench)
    return expected


def _tidy(bench: StreamBench) -> None:
    gc.collect()
    if bench.device != "cpu":
        torch.cuda.empty_cache()
