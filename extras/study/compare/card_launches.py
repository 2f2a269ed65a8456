"""How a kernel of the codec is launched on this card: the subject of CSWAP's Algorithm 1. Training with those plans."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from statistics import median

import torch
import triton

from cdma.base.errors import CdmaError
from cdma.gpu.decoder import restored
from cdma.gpu.encoder import compress
from cdma.gpu.measure import numbers, require_cuda, seconds_of
from cdma.gpu.plans import DEFAULT, Plan, keep_plan, tried
from cdma.gpu.tensors import fit
from cdma.hdl.spec.format import Format
from cdma.study.tuner.search import Space
from cdma.torch.bench.swap_training import SwapBench, SwapTraining, ready_card, transport_for
from cdma.torch.door import offload
from cdma.torch.swapping.policies import Cdma


@dataclass(frozen=True)
class Timed:
    """Seconds of a call, None if the card has no room for the plan; and those that compiling and timing it took."""

    seconds: float | None
    took: float


#: All plans that may be tried of a kernel.
PLANS = Space(Plan, {"unroll": (1, 2, 4, 8, 16), "registers": (0, 32, 40, 48, 56, 64, 80, 96)})


class Workload:
    """One tensor of scattered zeros on the card, compressed and decompressed."""

    def __init__(self, kernel: str, format: Format, mebibytes: float, density: float, seed: int = 1) -> None:
        require_cuda()
        self._kernel = kernel
        self._tensor = numbers(format, density, int(mebibytes * 2**20), seed)
        self._format = fit(self._tensor, format) if format.field_bits else format
        device = self._tensor.device
        self._out = torch.empty(
            self._format.bound_bytes(self._tensor.numel()), dtype=torch.uint8, device=device
        )
        self._fault = torch.zeros(1, dtype=torch.int32, device=device)
        self._packed = compress(self._tensor, self._format, out=self._out)
        self._stream = self._packed.stream.clone()
        card = torch.cuda.get_device_name(device)
        #: What is timed and where. Times of another card are no answers to it.
        self.question = f"{kernel} of {mebibytes:g} MiB at density {density:g}, {format}, on {card}"

    @property
    def expert(self) -> Plan:
        """The plan of who knows the kernel: that of the table."""
        return DEFAULT

    def timed(self, plan: Plan) -> Timed:
        """Compiles a plan, whether an earlier program did or not, and times it."""
        began = time.perf_counter()
        with triton.knobs.compilation.scope(), tried(self._kernel, plan):
            triton.knobs.compilation.always_compile = True
            try:
                seconds = median(seconds_of(self._call, 5))
            except torch.OutOfMemoryError:
                raise
            except RuntimeError:
                return Timed(None, time.perf_counter() - began)
            if not self._is_right():
                raise CdmaError("the codec on the card did not give back what it was given")
        return Timed(seconds, time.perf_counter() - began)

    def _is_right(self) -> bool:
        if self._kernel == "pack":
            self._out.zero_()
            return torch.equal(compress(self._tensor, self._format, out=self._out).stream, self._stream)
        return torch.equal(restored(self._packed, self._fault), self._tensor) and not int(self._fault)

    def _call(self) -> object:
        if self._kernel == "pack":
            return compress(self._tensor, self._format, out=self._out)
        return restored(self._packed, self._fault)

    def keep(self, plan: Plan) -> str:
        """Keeps a plan for later programs; returns the name of the file."""
        return str(keep_plan(self._kernel, self._format, self._tensor.device, plan))


#: Steps with each plan that compile, and find memory.
_WARM_UP = 2


class TunedTraining:
    """One network in training, all of whose tensors leave compressed."""

    def __init__(self, network: str, bench: SwapBench) -> None:
        ready_card(bench)
        self._training, self._rounds = SwapTraining(network, bench), bench.rounds
        transport = transport_for(bench.device, bench.link)
        self._context = offload(self._training.model, Cdma(), ahead=bench.ahead, transport=transport)

    def seconds(self, plans: Sequence[Mapping[str, Plan]]) -> list[float]:
        """The median seconds of a step by plans, each with one for some kernels; every round has a step of each."""
        times: list[list[float]] = [[] for _ in plans]
        for _ in range(_WARM_UP + self._rounds):
            for taken, kernels in zip(times, plans, strict=True):
                with ExitStack() as launched:
                    for kernel, plan in kernels.items():
                        launched.enter_context(tried(kernel, plan))
                    taken.append(self._training.step(self._context))
        return [median(taken[_WARM_UP:]) for taken in times]
