"""The model's network for one that a bench trains: from its table, or a small one as PyTorch traces it."""

from __future__ import annotations

from cdma.study.system.measured import modelled_name
from cdma.study.system.networks import Network, load_network
from cdma.study.system.traced import trace
from cdma.torch.networks import NETWORKS

#: One image of digits, and the classes.
_SHAPE, _CLASSES = (1, 32, 32), 10


def network_for(name: str) -> Network | None:
    """None of what the model has neither a table nor a module for."""
    if name in NETWORKS:
        from cdma.torch.networks.networks import BUILDERS

        return trace(BUILDERS[name](_CLASSES), _SHAPE, False, 1, name, name)
    table = modelled_name(name)
    return None if table is None else load_network(table)
