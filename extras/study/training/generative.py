"""A transformer small enough to be trained many times, and how many pixels it guesses (needs the ``torch`` extra)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cdma.torch.extras import require
from cdma.torch.networks.digits import GREY_VALUES, TRAINING_IMAGES, grey_values

from .reproducible import reproducible

if TYPE_CHECKING:
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
