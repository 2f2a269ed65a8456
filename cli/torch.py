"""cDMA in PyTorch programs: training in less memory, with the bits of this hardware (needs the ``torch`` extra).

Two lines do it::

    with cdma.torch.saved(model) as kept:
        loss = loss_of(model(images), classes)
    loss.backward()
    print(kept.report)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cdma.sim.torch.extras import require
from cdma.sim.torch.policies import AcGc, Bound, Comet, Lossless, Policy

if TYPE_CHECKING:
    import torch

    from cdma.sim.torch.context import Saved

__all__ = ["AcGc", "Bound", "Comet", "Lossless", "Policy", "saved"]


def saved(model: torch.nn.Module, policy: Policy | None = None) -> Saved:
    """A context in which what autograd keeps for the backward pass of ``model`` is compressed, and given back there.

    Forward passes go into the block, on its thread; backward passes may be in it or behind it. Parameters and buffers of the
    model, and views of them, are not touched; a tensor that is kept several times is compressed once. A tensor that was
    written to after it was kept is refused with PyTorch's error. What is not floating point, is computed outside the model
    (such as a loss), is double precision, or has NaN or infinite numbers, is without loss under every policy.

    ``policy``
        What error a tensor may have: :class:`Lossless`, the default, :class:`Bound`, :class:`Comet` or :class:`AcGc`.
    """
    require("torch", "torch")
    from cdma.sim.torch.context import Saved

    return Saved(model, policy or Lossless())
