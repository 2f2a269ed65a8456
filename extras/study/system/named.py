"""A network on a machine by their names, and the evaluation of engines for it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from .assumptions import load_assumptions
from .density_table import load_densities, with_transformer
from .designs import Design, Evaluation, Trainer
from .machine import load_link, load_machine
from .model import Model
from .networks import load_network


def load_model(network: str, machine: str = "titan_xp", link: str | None = None) -> Model:
    """Returns the model of a network on a machine, with a ``link`` in the place of the machine's if one is named.

    Networks and machines are those that come with the package, or TOML files. Densities and assumptions are the package's.
    """
    place = load_machine(machine)
    if link is not None:
        place = place.with_link(load_link(link))
    return Model(load_network(network), place, load_assumptions(), with_transformer(load_densities()))


@dataclass(frozen=True)
class NamedTrainer:
    """A :class:`Trainer` of a model by names: it is small, and can be sent to another process or machine."""

    network: str
    machine: str
    link: str | None = None

    def __call__(self, design: Design) -> Evaluation | None:
        """Evaluates a design; what does not depend on it is made once in a process."""
        return _trainer(self)(design)

    def model(self) -> Model:
        """The network on the machine."""
        return load_model(self.network, self.machine, self.link)


@lru_cache(maxsize=4)
def _trainer(named: NamedTrainer) -> Trainer:
    return Trainer(named.model())
