"""What designs are evaluated for, by names: it is small, and can be sent to another process or machine."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from .assumptions import load_assumptions
from .density_table import load_densities, with_transformer
from .designs import Design, Evaluation, Trainer
from .machine import load_link, load_machine
from .model import Model
from .networks import load_network

__all__ = ["Question"]


@dataclass(frozen=True)
class Question:
    """How a network trains on a machine, with a ``link`` in the place of the machine's if one is named."""

    network: str
    machine: str
    link: str | None = None

    def __call__(self, design: Design) -> Evaluation | None:
        """Evaluates a design; what does not depend on it is made once in a process."""
        return _trainer(self)(design)

    def model(self) -> Model:
        """The network on the machine."""
        machine = load_machine(self.machine)
        if self.link is not None:
            machine = machine.with_link(load_link(self.link))
        densities = with_transformer(load_densities())
        return Model(load_network(self.network), machine, load_assumptions(), densities)


@lru_cache(maxsize=4)
def _trainer(question: Question) -> Trainer:
    return Trainer(question.model())
