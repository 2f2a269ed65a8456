"""Trains small networks and shows their activations on the way (needs the ``torch`` extra).

The data are the 1797 handwritten digits that come with scikit-learn, so nothing is downloaded. Training is
seeded and runs in one thread with deterministic kernels: the same versions on the same kind of machine give
the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cdma.hdl.spec.errors import CdmaError, ParameterError

if TYPE_CHECKING:
    import torch

__all__ = ["NETWORKS", "MissingTorch", "Schedule", "Snapshot", "digits", "train", "versions"]

#: The networks that :func:`train` knows.
NETWORKS = ("alexnet", "vgg", "squeezenet", "resnet")

_TRAINING_IMAGES = 1500
_CLASSES = 10
_SIDE = 32


class MissingTorch(CdmaError, ImportError):
    """Training was asked for, and the extra that it needs is not installed."""

    def __init__(self, package: str) -> None:
        super().__init__(f"training needs the package {package}: pip install 'cdma[torch]'")


@dataclass(frozen=True)
class Schedule:
    """How a network is trained and how often it is looked at."""

    #: Passes over the training images.
    epochs: int = 24
    #: Images of a step.
    batch: int = 64
    #: AdamW's step size; it falls to a tenth at each of ``drops``, parts of the training.
    learning_rate: float = 2e-3
    drops: tuple[float, ...] = (0.5, 0.8)
    weight_decay: float = 1e-2
    seed: int = 1
    #: Training images whose activations are shown.
    probe: int = 32
    #: Times they are shown: before the first step, after the last, more often early in between.
    points: int = 21

    def __post_init__(self) -> None:
        for name in ("epochs", "batch", "probe", "points"):
            value = getattr(self, name)
            least = 2 if name == "points" else 1
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise ParameterError(f"{name} is {value!r}; it must be a whole number, {least} or more")
        for name in ("batch", "probe"):
            if getattr(self, name) > _TRAINING_IMAGES:
                raise ParameterError(
                    f"{name} is {getattr(self, name)}; there are {_TRAINING_IMAGES} training images"
                )
        if not self.learning_rate > 0:
            raise ParameterError(f"learning_rate is {self.learning_rate!r}; it must be more than 0")

    @property
    def steps(self) -> int:
        """Steps of the whole training; the images that do not fill a batch wait for the next epoch."""
        return self.epochs * (_TRAINING_IMAGES // self.batch)

    def shown_after(self) -> tuple[int, ...]:
        """The numbers of steps after which activations are shown, rising, quadratic in time."""
        places = np.linspace(0, 1, self.points) ** 2 * self.steps
        return tuple(sorted({round(place) for place in places.tolist()}))

    def as_dict(self) -> dict[str, Any]:
        """The settings, for a record of where numbers come from."""
        return asdict(self)


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
    #: Part of the images kept from training that are recognised; only in the last snapshot.
    accuracy: float | None = field(default=None)


def versions() -> dict[str, str]:
    """The versions of what the numbers depend on."""
    torch = _torch()
    sklearn = _import("sklearn", "scikit-learn")
    return {
        "torch": str(torch.__version__),
        "scikit-learn": str(sklearn.__version__),
        "numpy": np.__version__,
    }


def digits() -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """The digits as (images, 1, 32, 32), of mean 0 and deviation 1, and their classes."""
    datasets = _import("sklearn.datasets", "scikit-learn")
    data = datasets.load_digits()
    small = data.images.astype(np.float64)
    along = (np.arange(_SIDE) + 0.5) * small.shape[1] / _SIDE - 0.5
    weights = np.maximum(0, 1 - np.abs(np.clip(along, 0, 7)[:, None] - np.arange(8)[None, :]))
    images = weights @ small @ weights.T
    kept = images[:_TRAINING_IMAGES]
    scaled = (images - kept.mean()) / kept.std()
    return scaled[:, None].astype(np.float32), data.target.astype(np.int64)


def train(network: str, schedule: Schedule | None = None) -> Iterator[Snapshot]:
    """Trains ``network`` and yields its activations after each of ``schedule.shown_after()`` steps.

    The training images are shifted by up to 4 pixels and get noise, afresh in each step. Activations are
    those of the network in training mode, as offloading would find them, on images neither shifted nor noisy.
    """
    if network not in NETWORKS:
        raise ParameterError(f"network is {network!r}; it must be one of {', '.join(NETWORKS)}")
    torch = _torch()
    from .networks import BUILDERS

    schedule = schedule or Schedule()
    images, classes = (torch.from_numpy(array) for array in digits())
    with _reproducible(schedule.seed):
        model = BUILDERS[network](_CLASSES)
        _initialise(model)
        state = torch.get_rng_state()
        snapshot = _snapshot(model, images[: schedule.probe], 0, [])
    generator = torch.Generator().manual_seed(schedule.seed)
    optimiser = torch.optim.AdamW(
        model.parameters(), lr=schedule.learning_rate, weight_decay=schedule.weight_decay
    )
    falls = [round(part * schedule.steps) for part in schedule.drops]
    shown = set(schedule.shown_after())
    losses: list[float] = []
    order = torch.zeros(0, dtype=torch.int64)
    yield snapshot
    for step in range(1, schedule.steps + 1):
        # The caller runs between two snapshots: neither its random numbers nor its threads may matter here.
        with _reproducible(state):
            for group in optimiser.param_groups:
                group["lr"] = schedule.learning_rate * 0.1 ** sum(step > fall for fall in falls)
            if len(order) < schedule.batch:
                order = torch.randperm(_TRAINING_IMAGES, generator=generator)
            batch, order = order[: schedule.batch], order[schedule.batch :]
            loss = torch.nn.functional.cross_entropy(
                model(_augmented(images[batch], generator)), classes[batch]
            )
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 2.0)
            optimiser.step()
            losses.append(float(loss.detach()))
            state = torch.get_rng_state()
            if step in shown:
                accuracy = _accuracy(model, images, classes) if step == schedule.steps else None
                snapshot = _snapshot(model, images[: schedule.probe], step, losses, accuracy)
        if step in shown:
            yield snapshot
            losses.clear()


class _reproducible:
    """Within it torch computes deterministically, in one thread, and starts from given random numbers."""

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


def _import(module: str, package: str) -> Any:
    from importlib import import_module

    try:
        return import_module(module)
    except ImportError:
        raise MissingTorch(package) from None


def _torch() -> Any:
    return _import("torch", "torch")


def _initialise(model: torch.nn.Module) -> None:
    """He's initialisation, without which the deeper networks do not begin to learn."""
    import torch

    for module in model.modules():
        if isinstance(module, torch.nn.Conv2d | torch.nn.Linear):
            torch.nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
            if module.bias is not None:
                torch.nn.init.zeros_(module.bias)


def _augmented(images: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """The images, all shifted alike by up to 4 pixels each way, with noise."""
    import torch

    down, right = torch.randint(-4, 5, (2,), generator=generator).tolist()
    noise = torch.randn(images.shape, generator=generator)
    return torch.roll(images, (down, right), (2, 3)) + 0.1 * noise


def _accuracy(model: torch.nn.Module, images: torch.Tensor, classes: torch.Tensor) -> float:
    import torch

    model.eval()
    with torch.no_grad():
        guessed = model(images[_TRAINING_IMAGES:]).argmax(1)
    model.train()
    return float((guessed == classes[_TRAINING_IMAGES:]).float().mean())


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
    kinds: dict[str, str] = {}
    handles = []

    def watch(name: str, kind: str) -> Any:
        def keep(module: Any, inputs: Any, output: torch.Tensor) -> None:
            activations[name] = output.numpy(force=True).copy()
            kinds[name] = kind

        return keep

    for name, module in model.named_modules():
        kind = {torch.nn.ReLU: "relu", torch.nn.MaxPool2d: "pool"}.get(type(module))
        if kind is not None:
            handles.append(module.register_forward_hook(watch(name, kind)))
    # Batch normalisation also learns in a forward pass: its averages are put back.
    buffers = {name: buffer.clone() for name, buffer in model.named_buffers()}
    try:
        model.train()
        with torch.no_grad():
            model(images)
            for name, buffer in model.named_buffers():
                buffer.copy_(buffers[name])
    finally:
        for handle in handles:
            handle.remove()
    return Snapshot(step, float(np.mean(losses)) if losses else float("nan"), activations, kinds, accuracy)
