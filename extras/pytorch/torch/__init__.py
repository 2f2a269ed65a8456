"""cDMA in PyTorch programs: training in less memory, with the bits of this hardware (needs the ``torch`` extra).

Two lines do it::

    with cdma.torch.saved(model) as kept:
        loss = loss_of(model(images), classes)
    loss.backward()
    print(kept.report)

What they save has room for more images, and :func:`largest_batch` finds for how many.

What has no room on the device even so goes to the host and comes back, by the papers' policies::

    with cdma.torch.offload(model, cdma.torch.Cdma()) as swapped:
        loss_of(model(images), classes).backward()
    print(swapped.report)

Weights that have no room there come from the host while an inference runs::

    with cdma.torch.stream(model, device_bytes="8GiB") as streamed:
        model.generate(tokens)
    print(streamed.report)

An optimiser's states are another thing to stream, and so are, by :func:`cache`, a decoder's keys and values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cdma.base.lazy import names_of

from .extras import require

if TYPE_CHECKING:
    from cdma.torch.door import cache, offload, saved, stream, trainer_callback
    from cdma.torch.growing import largest_batch
    from cdma.torch.policies import AcGc, Bound, Comet, Lossless, Policy
    from cdma.torch.swapping.policies import Cdma, Cswap, Lms, Recompute, SwapPolicy, Vdnn, VdnnPlusPlus

# Commands that need none of them are quick to begin.
_HOMES = {
    ".door": "cache offload saved stream trainer_callback",
    ".growing": "largest_batch",
    ".policies": "AcGc Bound Comet Lossless Policy",
    ".swapping.policies": "Cdma Cswap Lms Recompute SwapPolicy Vdnn VdnnPlusPlus",
}

__all__ = [
    "AcGc",
    "Bound",
    "Cdma",
    "Comet",
    "Cswap",
    "Lms",
    "Lossless",
    "Policy",
    "Recompute",
    "SwapPolicy",
    "Vdnn",
    "VdnnPlusPlus",
    "cache",
    "largest_batch",
    "offload",
    "saved",
    "stream",
    "trainer_callback",
]

_named = names_of(__name__, _HOMES)


def __getattr__(name: str) -> Any:
    if name in __all__ and name.islower():
        # A function, and all of these compute with it.
        require("torch", "torch")
    return _named(name)
