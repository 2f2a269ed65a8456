"""Trains small networks and shows their activations on the way (needs the ``torch`` extra).

Training is seeded and runs in one thread with deterministic kernels: the same versions on the same kind of
machine give the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cdma.base.errors import ParameterError
from cdma.torch.extras import require
from cdma.torch.networks import NETWORKS
from cdma.torch.networks.digits import CLASSES, TRAINING_IMAGES, digits

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Schedule:
    """How a network is trained, and how often its activations are shown."""

    #: Passes over the training images.
    epochs: int = 24
    #: Images of a step.
    batch: int = 64
    #: The step size of AdamW. It falls to a tenth at each of ``drops``, which are parts of the training.
    learning_rate: float = 2e-3
    drops: tuple[float, ...] = (0.5, 0.8)
    weight_decay: float = 1e-2
    seed: int = 1
    #: The training images that there are.
    images: int = TRAINING_IMAGES
    #: Training images whose activations are shown.
    probe: int = 32
    #: How often they are shown: before the first step, after the last, and in between, more often early than late.
    points: int = 21

    def __post_init__(self) -> None:
        for name in ("epochs", "batch", "images", "probe", "points"):
            value = getattr(self, name)
            least = 2 if name == "points" else 1
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise ParameterError(f"{name} is {value!r}; it must be a whole number, {least} or more")
        for name in ("batch", "probe"):
            if getattr(self, name) > self.images:
                raise ParameterError(
                    f"{name} is {getattr(self, name)}; there are {self.images} training images"
                )
        if not self.learning_rate > 0:
            raise ParameterError(f"learning_rate is {self.learning_rate!r}; it must be more than 0")

    @property
    def steps(self) -> int:
        """Steps of the whole training; images that do not fill a batch are left for the next epoch."""
        return self.epochs * (self.images // self.batch)

    def shown_after(self) -> tuple[int, ...]:
        """Numbers of steps after which activations are shown; they rise, quadratic in time."""
        steps = np.linspace(0, 1, self.points) ** 2 * self.steps
        return tuple(sorted({round(step) for step in steps.tolist()}))


class reproducible:
    """Makes torch compute deterministically, in one thread, from given random numbers, within a ``with`` block."""

    def __init__(self, start: int | torch.Tensor) -> None:
        self._start = start

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
        torch.use_deterministic_algorithms(True)

    def __exit__(self, *_: object) -> None:
        import torch

        state, threads, deterministic = self._before
        torch.set_rng_state(state)
        torch.set_num_threads(threads)
        torch.use_deterministic_algorithms(deterministic)


#: Gives for a network and its optimiser a context in which forward passes run.
Keeping: TypeAlias = "Callable[[torch.nn.Module, torch.optim.Optimizer], AbstractContextManager[Any]]"


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
) -> Iterator[Snapshot]:
    """Trains ``network`` and yields its activations after each of ``schedule.shown_after()`` steps.

    The training images are shifted by up to 4 pixels and get noise, afresh in each step. Activations are
    those of the network in training mode, as offloading would find them, on images neither shifted nor noisy. ``keeping``
    gives for the network and its optimiser a context in which the forward pass of each step runs.
    """
    if network not in NETWORKS:
        raise ParameterError(f"network is {network!r}; it must be one of {', '.join(NETWORKS)}")
    torch = require("torch", "torch")
    from cdma.torch.networks.networks import BUILDERS

    schedule = schedule or Schedule()
    images, classes = map(torch.from_numpy, digits())
    probe = images[: schedule.probe]
    with reproducible(schedule.seed):
        model = BUILDERS[network](CLASSES)
        _initialise(model)
        state = torch.get_rng_state()
        snapshot = _snapshot(model, probe, 0, [])
    generator = torch.Generator().manual_seed(schedule.seed)
    optimiser = torch.optim.AdamW(
        model.parameters(), lr=schedule.learning_rate, weight_decay=schedule.weight_decay
    )
    context = keeping(model, optimiser)
    falls = [round(part * schedule.steps) for part in schedule.drops]
    shown = set(schedule.shown_after())
    losses: list[float] = []
    order = torch.zeros(0, dtype=torch.int64)
    yield snapshot
    for step in range(1, schedule.steps + 1):
        # The caller runs between two snapshots. Its random numbers and its threads must not matter here.
        with reproducible(state):
            for group in optimiser.param_groups:
                group["lr"] = schedule.learning_rate * 0.1 ** sum(step > fall for fall in falls)
            if len(order) < schedule.batch:
                order = torch.randperm(TRAINING_IMAGES, generator=generator)
            batch, order = order[: schedule.batch], order[schedule.batch :]
            inputs = _augmented(images[batch], generator)
            with context:
                loss = torch.nn.functional.cross_entropy(model(inputs), classes[batch])
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 2.0)
            optimiser.step()
            losses.append(float(loss.detach()))
            state = torch.get_rng_state()
            if step in shown:
                accuracy = _accuracy(model, images, classes) if step == schedule.steps else None
                snapshot = _snapshot(model, probe, step, losses, accuracy)
        if step in shown:
            yield snapshot
            losses.clear()


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

    down, right = torch.randint(-4, 5, (2,), generator=generator).tolist()
    noise = torch.randn(images.shape, generator=generator)
    return torch.roll(images, (down, right), (2, 3)) + 0.1 * noise


def _accuracy(model: torch.nn.Module, images: torch.Tensor, classes: torch.Tensor) -> float:
    import torch

    model.eval()
    with torch.no_grad():
        right = model(images[TRAINING_IMAGES:]).argmax(1) == classes[TRAINING_IMAGES:]
    model.train()
    return float(right.float().mean())


def _snapshot(
    model: torch.nn.Module,
    images: torch.Tensor,
    step: int,
    losses: list[float],
    accuracy: float | None = None,
) -> Snapshot:
    """Runs the images through the network in training mode, and leaves the network as it was."""
    import torch

    activations: dict[str, NDArray[np.float32]] = {}
    watched = {
        name: "pool" if isinstance(module, torch.nn.MaxPool2d) else "relu"
        for name, module in model.named_modules()
        if isinstance(module, torch.nn.MaxPool2d | torch.nn.ReLU)
    }
    hooks = [
        model.get_submodule(name).register_forward_hook(
            lambda module, inputs, output, name=name: activations.update({name: output.numpy().copy()})
        )
        for name in watched
    ]
    # Batch normalisation learns in a forward pass as well, so its averages are restored.
    buffers = {name: buffer.clone() for name, buffer in model.named_buffers()}
    model.train()
    with torch.no_grad():
        model(images)
        for name, buffer in model.named_buffers():
            buffer.copy_(buffers[name])
    for hook in hooks:
        hook.remove()
    kinds = {name: watched[name] for name in activations}
    return Snapshot(step, float(np.mean(losses)) if losses else float("nan"), activations, kinds, accuracy)
