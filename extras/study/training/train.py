"""Trains small networks and shows their activations on the way (needs the ``torch`` extra).

Training is seeded and runs in one thread with deterministic kernels: the same versions on the same kind of
machine give the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cdma.base.errors import ParameterError
from cdma.torch.extras import require

from .schedule import Schedule, reproducible

if TYPE_CHECKING:
    import torch

    from cdma.torch.networks.task import Task

#: Gives for a network and its optimiser a context in which forward passes run.
Keeping: TypeAlias = "Callable[[torch.nn.Module, torch.optim.Optimizer], AbstractContextManager[Any]]"

#: Images at once whose classes are guessed.
_AT_ONCE = 512


@dataclass(frozen=True)
class Snapshot:
    """The activations of the probe images at one moment of the training."""

    #: Steps done.
    step: int
    #: Mean loss of the steps since the last snapshot; NaN before the first.
    loss: float
    #: Output of each ReLU and pooling layer, in the order of computation.
    activations: dict[str, NDArray[np.float32]]
    #: ``"relu"`` or ``"pool"`` for each.
    kinds: dict[str, str]
    #: Part of the images kept from training that the network classifies correctly; in the last snapshot only.
    accuracy: float | None = field(default=None)


def train(
    network: str,
    schedule: Schedule | None = None,
    keeping: Keeping = lambda model, optimiser: nullcontext(),
    task: Task | None = None,
) -> Iterator[Snapshot]:
    """Trains ``network`` and yields its activations after each of ``schedule.shown_after()`` steps.

    The training images are shifted by up to 4 pixels and get noise, afresh in each step. Activations are
    those of the network in training mode, as offloading would find them, on images neither shifted nor noisy. ``keeping``
    gives for the network and its optimiser a context in which the forward pass of each step runs. ``task`` is what it
    learns, the digits by default; the network is where its images are. On a card a training is not the same twice.
    """
    torch = _torch()
    from cdma.torch.networks.task import digits_task

    task = task or digits_task()
    if network not in task.networks:
        raise ParameterError(f"network is {network!r}; it must be one of {', '.join(task.networks)}")
    schedule = replace(schedule or Schedule(), images=task.training)
    device, probe = task.images.device, slice(schedule.probe)
    alike = partial(reproducible, strict=device.type == "cpu")
    with alike(schedule.seed):
        model = task.networks[network]().to(device)
        _initialise(model)
        state = torch.get_rng_state()
        snapshot = _snapshot(model, task.inputs(probe), 0, [])
    generator = torch.Generator(device).manual_seed(schedule.seed)
    optimiser = torch.optim.AdamW(
        model.parameters(), lr=schedule.learning_rate, weight_decay=schedule.weight_decay
    )
    context = keeping(model, optimiser)
    falls = [round(part * schedule.steps) for part in schedule.drops]
    shown = set(schedule.shown_after())
    losses: list[float] = []
    order = torch.zeros(0, dtype=torch.int64, device=device)
    yield snapshot
    for step in range(1, schedule.steps + 1):
        # The caller runs between two snapshots. Its random numbers and its threads must not matter here.
        with alike(state):
            for group in optimiser.param_groups:
                group["lr"] = schedule.learning_rate * 0.1 ** sum(step > fall for fall in falls)
            if len(order) < schedule.batch:
                order = torch.randperm(task.training, generator=generator, device=device)
            batch, order = order[: schedule.batch], order[schedule.batch :]
            inputs = _augmented(task.inputs(batch), generator)
            with context:
                loss = torch.nn.functional.cross_entropy(model(inputs), task.classes[batch])
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 2.0)
            optimiser.step()
            losses.append(float(loss.detach()))
            state = torch.get_rng_state()
            if step in shown:
                accuracy = _accuracy(model, task) if step == schedule.steps else None
                snapshot = _snapshot(model, task.inputs(probe), step, losses, accuracy)
        if step in shown:
            yield snapshot
            losses.clear()


def _torch() -> Any:
    return require("torch", "torch")


def _initialise(model: torch.nn.Module) -> None:
    """Initialises the weights after He; without it the deeper networks do not begin to learn."""
    import torch

    for module in model.modules():
        if isinstance(module, torch.nn.Conv2d | torch.nn.Linear):
            torch.nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
            if module.bias is not None:
                torch.nn.init.zeros_(module.bias)


def _augmented(images: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Shifts all images alike by up to 4 pixels each way, and adds noise."""
    import torch

    down, right = torch.randint(-4, 5, (2,), generator=generator, device=images.device).tolist()
    noise = torch.randn(images.shape, generator=generator, device=images.device)
    return torch.roll(images, (down, right), (2, 3)) + 0.1 * noise


def _accuracy(model: torch.nn.Module, task: Task) -> float:
    import torch

    model.eval()
    right = 0
    with torch.no_grad():
        for begin in range(task.training, len(task.images), _AT_ONCE):
            which = slice(begin, begin + _AT_ONCE)
            right += int((model(task.inputs(which)).argmax(1) == task.classes[which]).sum())
    model.train()
    return right / (len(task.images) - task.training)


def _snapshot(
    model: torch.nn.Module,
    images: torch.Tensor,
    step: int,
    losses: list[float],
    accuracy: float | None = None,
) -> Snapshot:
    """Runs the images through the network in training mode, and leaves the network as it was."""
    import torch

    from .watching import Watching

    # Batch normalisation learns in a forward pass as well, so its averages are restored.
    buffers = {name: buffer.clone() for name, buffer in model.named_buffers()}
    model.train()
    with torch.no_grad():
        with Watching(model) as seen:
            model(images)
        for name, buffer in model.named_buffers():
            buffer.copy_(buffers[name])
    return Snapshot(
        step, float(np.mean(losses)) if losses else float("nan"), seen.activations, seen.kinds, accuracy
    )
