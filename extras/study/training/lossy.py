"""What training makes of errors: networks trained while what autograd keeps is compressed, by policy and by seed.

Each training is a row of its own; rows of the same network and policy are put together to one with means and spreads.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

from cdma.base.errors import CdmaError, ParameterError
from cdma.torch.extras import require
from cdma.torch.networks import NETWORKS
from cdma.torch.networks.digits import GREY_VALUES, TRAINING_IMAGES, grey_values
from cdma.torch.policies import AcGc, Bound, Comet, Lossless, Policy

from .train import Schedule, reproducible, train

if TYPE_CHECKING:
    from cdma.torch.context import Saved

    from .train import Keeping

_BATCH = 50
_LEARNING_RATE = 3e-3
#: Numbers of a token, heads of the attention, blocks.
_WIDTH, _HEADS, _BLOCKS = 32, 2, 2


def train_small(seed: int, epochs: int, keeping: Keeping) -> float:
    """Trains it, and returns which part of the pixels of other images it guesses from the pixels before them.

    ``keeping`` gives for the network and its optimiser a context in which the forward pass of each step runs.
    """
    torch = require("torch", "torch")
    from .transformer_model import Transformer

    pixels = torch.from_numpy(grey_values())
    steps = epochs * (TRAINING_IMAGES // _BATCH)
    with reproducible(seed):
        model = Transformer(GREY_VALUES, pixels.shape[1], _WIDTH, _HEADS, _BLOCKS)
        optimiser = torch.optim.AdamW(model.parameters(), lr=_LEARNING_RATE)
        context = keeping(model, optimiser)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, _LEARNING_RATE, total_steps=steps)
        for _ in range(epochs):
            order = torch.randperm(TRAINING_IMAGES)
            for begin in range(0, TRAINING_IMAGES, _BATCH):
                batch = pixels[order[begin : begin + _BATCH]]
                with context:
                    guessed = model(batch).flatten(0, 1)
                    loss = torch.nn.functional.cross_entropy(guessed, batch.flatten())
                optimiser.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimiser.step()
                schedule.step()
        with torch.no_grad():
            unseen = pixels[TRAINING_IMAGES:]
            return float((model(unseen).argmax(2) == unseen).float().mean())


#: The networks of the characterisation, and the transformer.
ALL = (*NETWORKS, "transformer")

#: Passes over the training images, by default.
EPOCHS = 8

#: For what neither a convolution, a linear layer nor a ReLU reads, such as the inputs of normalisations.
_OTHERS = Bound(relative=-6)

#: COMET's rule with the momentum of the training's optimiser.
_MOMENTUM = "momentum"

#: The policies that are compared. The first is what the others' accuracy is compared with.
POLICIES: dict[str, Policy] = {
    "lossless": Lossless(),
    "bound": Bound(relative=-3),
    "comet": Comet(part=0.03, refresh=10, others=_OTHERS),
    _MOMENTUM: Comet(part=0.01, refresh=10, others=_OTHERS),
    "acgc": AcGc(tightness=4, refresh=10, others=_OTHERS),
}


class BadRows(CdmaError, ValueError):
    """A file does not hold trainings that can be continued."""


@dataclass(frozen=True)
class Training:
    """One training.

    ``ratio_conv``, ``ratio``: Bytes per held byte of what convolutions read, and of all that autograd keeps; streams,
        tables and what is kept as it is count. ``ratio_conv`` is None without convolutions.
    ``accuracy``: The part of what is asked of unseen images that is right: their classes, or the transformer's pixels.
    ``peak_ratio``: The ratio of the memory that autograd needs at once, in the pass that needs most; the first is
        without loss.
    """

    network: str
    policy: str
    seed: int
    epochs: int
    ratio_conv: float | None
    ratio: float
    peak_ratio: float
    accuracy: float
    out_of_range: int
    seconds: float
    seconds_back: float


@dataclass(frozen=True)
class Row:
    """All trainings of a network under a policy. Spreads are standard deviations over the seeds; None for a single one.

    ``difference``: Mean of the accuracy less that without loss, seed by seed, with its standard error.
    """

    network: str
    policy: str
    ratio_conv: float | None
    ratio: float
    accuracy: float
    accuracy_spread: float | None
    accuracy_lossless: float
    difference: float
    difference_error: float | None
    seeds: int
    epochs: int


def trainings(
    networks: Sequence[str], seeds: int, epochs: int, done: Path | None = None
) -> Iterator[Training]:
    """Yields all trainings, the first seed of every network first.

    ``done`` is a file of trainings, a line of JSON each: those in it are not repeated, and new ones are added to it.
    """
    for network in networks:
        if network not in ALL:
            raise ParameterError(f"network is {network!r}; it must be one of {', '.join(ALL)}")
    for name, value in (("seeds", seeds), ("epochs", epochs)):
        if value < 1:
            raise ParameterError(f"{name} is {value}; it must be a whole number, 1 or more")
    before = {(one.network, one.policy, one.seed, one.epochs): one for one in _load(done)}
    for seed in range(1, seeds + 1):
        for network in networks:
            for policy in POLICIES:
                found = before.get((network, policy, seed, epochs))
                if found is None:
                    found = _train(network, policy, seed, epochs)
                    if done is not None:
                        with done.open("a", encoding="utf-8") as file:
                            file.write(json.dumps(asdict(found)) + "\n")
                yield found


def rows(found: Sequence[Training]) -> list[Row]:
    """One row for each network and policy, in the order of the trainings."""
    groups: dict[tuple[str, str], list[Training]] = {}
    for one in found:
        groups.setdefault((one.network, one.policy), []).append(one)
    return [_row(group, groups[group[0].network, "lossless"]) for group in groups.values()]


def _row(group: Sequence[Training], lossless: Sequence[Training]) -> Row:
    exact = {one.seed: one.accuracy for one in lossless}
    differences = [one.accuracy - exact[one.seed] for one in group]
    several, first = len(group) > 1, group[0]
    convolutions = [one.ratio_conv for one in group if one.ratio_conv is not None]
    return Row(
        first.network,
        first.policy,
        fmean(convolutions) if convolutions else None,
        fmean(one.ratio for one in group),
        fmean(one.accuracy for one in group),
        stdev(one.accuracy for one in group) if several else None,
        fmean(exact[one.seed] for one in group),
        fmean(differences),
        stdev(differences) / math.sqrt(len(group)) if several else None,
        len(group),
        first.epochs,
    )


def _train(network: str, policy: str, seed: int, epochs: int) -> Training:
    contexts: list[Saved] = []

    def keeping(model: Any, optimiser: Any) -> Saved:
        from cdma.torch.context import Saved

        chosen = POLICIES[policy]
        if policy == _MOMENTUM:
            chosen = replace(chosen, momentum=optimiser)  # type: ignore[call-arg]
        contexts.append(Saved(model, chosen))
        return contexts[0]

    if network == "transformer":
        accuracy = train_small(seed, epochs, keeping)
    else:
        # The last snapshot has the accuracy.
        *_, last = train(network, Schedule(epochs=epochs, seed=seed, points=2), keeping)
        assert last.accuracy is not None
        accuracy = last.accuracy
    report = contexts[0].report
    return Training(
        network,
        policy,
        seed,
        epochs,
        report.ratio_conv if report.conv_held else None,
        report.ratio,
        report.peak_ratio,
        accuracy,
        report.out_of_range,
        report.seconds,
        report.seconds_back,
    )


def _load(path: Path | None) -> list[Training]:
    if path is None or not path.exists():
        return []
    try:
        return [Training(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError, TypeError) as error:
        raise BadRows(f"{path} does not hold trainings, a line of JSON each: {error}") from None
