"""The training of one network that a swapping context is measured in: the model, a batch, and a step; and on a processor a
way to the host in software, at a rate."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from cdma.base.errors import ToolError
from cdma.torch.door import offload
from cdma.torch.networks.networks import BUILDERS, GPT2, build, inputs, stored_weights
from cdma.torch.swapping.policies import Vdnn
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


@dataclass(frozen=True)
class SwapBench:
    """What is measured.

    ``link``: Bytes per second of the link in software; on a GPU None.
    ``device_bytes``: The most bytes that are held on the device.
    ``ahead``: Bytes on their way back before they are needed.
    ``weights``: A folder with trained weights, NETWORK.pt each, as ``cdma study characterise --train --weights`` writes
        those of the small networks. Without one weights are random.
    """

    batch: int = 64
    rounds: int = 5
    link: float | None = 1e9
    device_bytes: int | None = None
    device: str = "cpu"
    seed: int = 1
    precision: str = "fp32"
    ahead: int = 64 << 20
    weights: Path | None = None

    @property
    def on_card(self) -> bool:
        """Whether it is measured on a GPU."""
        return self.device == "cuda"


def ready_card(bench: SwapBench) -> None:
    """Has a GPU compute in the precision that is asked for, and the same each time."""
    if not bench.on_card:
        return
    if not torch.cuda.is_available():
        raise ToolError("there is no GPU here that PyTorch can use")
    torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = True, False
    multiplied = bench.precision != "fp32"
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = multiplied


class SwapTraining:
    """A model, its optimiser and the batch of every step.

    ``losses``: Those of the steps until now.
    """

    def __init__(self, network: str, bench: SwapBench) -> None:
        self.bench = bench
        torch.manual_seed(bench.seed)
        with torch.device(bench.device):
            self.model = build(network)
        if bench.weights is not None:
            self.model.load_state_dict(stored_weights(network, bench.weights, bench.device))
        if self._lasts(network):
            self.model = self.model.to(memory_format=torch.channels_last)
        self._network = network
        self.resize(bench.batch)
        # Random images teach nothing, and large steps would soon lead to numbers that are none.
        rate = 0.01 if network in BUILDERS else 0.001
        self._optimiser = torch.optim.SGD(self.model.parameters(), lr=rate)
        self.losses: list[float] = []

    def resize(self, batch: int) -> None:
        """Takes a batch of so many inputs from now on."""
        self.batch = batch
        self._inputs, self._classes = inputs(self._network, batch, self.bench.device)
        if self._lasts(self._network):
            self._inputs = self._inputs.to(memory_format=torch.channels_last)

    def _lasts(self, network: str) -> bool:
        """Whether channels are the last dimension in memory."""
        return self.bench.precision == "bf16" and network != GPT2

    def loss(self) -> Tensor:
        """That of the batch, whose gradients are not computed yet."""
        with torch.autocast(self.bench.device, torch.bfloat16, enabled=self.bench.precision == "bf16"):
            return nn.functional.cross_entropy(self.model(self._inputs), self._classes)

    def step(self, context: AbstractContextManager[Any] | None = None) -> float:
        """Does one step of training, whose random numbers are those of its number; returns its seconds."""
        torch.manual_seed(self.bench.seed + len(self.losses))
        self.synchronize()
        began = time.perf_counter()
        with context or nullcontext():
            loss = self.loss()
        self._optimiser.zero_grad()
        loss.backward()
        self._optimiser.step()
        self.synchronize()
        seconds = time.perf_counter() - began
        self.losses.append(float(loss.detach()))
        return seconds

    def raw_bytes(self) -> int:
        """Bytes that autograd keeps of a step, which leaves the model as it is."""
        state = {name: each.clone() for name, each in self.model.state_dict().items()}
        with offload(self.model, Vdnn()) as context:
            self.loss()
        self.model.load_state_dict(state)
        return context.report.raw

    def synchronize(self) -> None:
        """Waits for a GPU."""
        if self.bench.on_card:
            torch.cuda.synchronize()
