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

from typing import TYPE_CHECKING

from cdma.base.errors import ParameterError, ToolError
from cdma.base.lazy import names_of

from .extras import require

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    import torch

    from cdma.hdl.spec.format import Format
    from cdma.torch.context import Saved
    from cdma.torch.growing import Largest
    from cdma.torch.policies import AcGc, Bound, Comet, Lossless, Policy
    from cdma.torch.streaming.cache import Cache
    from cdma.torch.streaming.context import Stream
    from cdma.torch.streaming.states import States
    from cdma.torch.streaming.transformers_cache import TransformersCache
    from cdma.torch.swapping.context import Offload
    from cdma.torch.swapping.driven import Driven
    from cdma.torch.swapping.policies import Cdma, Cswap, Lms, Recompute, SwapPolicy, Vdnn, VdnnPlusPlus
    from cdma.torch.trainer import Contexts

# Commands that need none of them are quick to begin.
_HOMES = {
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

__getattr__ = names_of(__name__, _HOMES)


def saved(model: torch.nn.Module, policy: Policy | None = None) -> Saved:
    """A context in which what autograd keeps for the backward pass of ``model`` is compressed, and given back there.

    Forward passes go into the block, on its thread; backward passes may be in it or behind it. Parameters and buffers of the
    model, and views of them, are not touched; a tensor that is kept several times is compressed once. A tensor that was
    written to after it was kept is refused with PyTorch's error. What is not floating point, is computed outside the model
    (such as a loss), is double precision, or has NaN or infinite numbers, is without loss under every policy.

    ``policy``: What error a tensor may have: :class:`Lossless`, the default, :class:`Bound`, :class:`Comet` or
        :class:`AcGc`.
    """
    require("torch", "torch")
    from .context import Saved
    from .policies import Lossless

    return Saved(model, policy or Lossless())


def offload(
    model: torch.nn.Module,
    policy: SwapPolicy | None = None,
    *,
    backend: str | None = None,
    host_bytes: int | str | None = None,
    device_bytes: int | str | None = None,
    ahead: int | str = 64 << 20,
    debug: bool = False,
    trace: bool = False,
) -> Offload | Driven:
    """A context in which what autograd keeps of ``model`` goes to the host, and comes back before backward needs it.

    It is entered as :func:`saved` is, and leaves alone what that does. Copies run beside what computes, each behind what
    it needs; loss and gradients are those of plain PyTorch, bit for bit. Tensors of a GPU go over its link, through pinned
    memory. Those of the processor go by way of threads, which is a way to see what happens.

    ``policy``: What moves, and how: :class:`Cdma`, the default, :class:`Vdnn`, :class:`VdnnPlusPlus`, :class:`Lms`,
        :class:`Cswap` or :class:`Recompute`.
    ``backend``: An engine of the driver for Linux, such as ``cdma0``. It moves everything, compressed by its own
        hardware, by way of the accelerator's memory; the model is on the processor, and what else may be given has no
        use.
    ``host_bytes``: The most memory of the host, in bytes or as ``"8GiB"``. A tensor without room stays on the device,
        and is counted.
    ``device_bytes``: The most bytes that are held on the device for the backward pass, or ``"8GiB"``, or ``"auto"``:
        three quarters of what the GPU has free now. Copies that leave are waited for, and fewer come back ahead; what a
        policy would keep moves. ``Vdnn("dynamic")`` and :class:`Lms` need it.
    ``ahead``: How many bytes are on their way back before they are needed.
    ``debug``: Whether each tensor's CRC is compared when it comes back, and memory overwritten that nobody may read.
    ``trace``: Whether the report notes what happened when; see :meth:`.SwapReport.trace`.
    """
    require("torch", "torch")
    from . import door
    from .swapping.policies import Cdma

    if backend is not None:
        from cdma.torch.swapping.driven import Driven

        given = {"policy": policy, "host_bytes": host_bytes, "device_bytes": device_bytes}
        if useless := [name for name, value in given.items() if value is not None]:
            raise ParameterError(
                f"{useless[0]} is given with a backend, which moves everything by its own link"
            )
        return Driven(model, backend)
    return door.offload(
        model, policy or Cdma(), None, host_bytes, device_bytes, ahead, debug=debug, trace=trace
    )


def stream(
    model: torch.nn.Module | torch.optim.Optimizer,
    *,
    device_bytes: int | str,
    ahead: int = 2,
    format: Format | None = None,
    raw: bool = False,
    device: torch.device | str | None = None,
) -> Stream | States:
    """A context in which weights of ``model`` that have no room on the device wait on the host, compressed, and come
    unit by unit before a module needs them; or, of an optimiser, the states.

    A unit is a block of an ``nn.ModuleList``, or a module outside of these. Outputs are those of the plain model, bit for
    bit. The context is for inference, from one thread at a time; it computes no gradients. Behind it all weights are where
    they were. A weight has its shape, type and device while none of its modules runs; reading its elements is an error.

    States of an optimiser come before the step of their parameters and leave behind it, those of a few parameters at a
    time; ``optimizer.step()`` does that in the block, and parameters become what they are in plain training, bit for bit.
    The optimiser must treat each parameter by itself, as those of ``torch.optim`` that need no closure do.

    ``device_bytes``: The most bytes of the device for weights, buffers and memory through which weights come; for
        states and memory through which they come and go; as :func:`offload` has them. What is computed has its own. The
        more, the more stays.
    ``ahead``: How many units, or blocks of states, are on their way while another one computes.
    ``format``: The format of all tensors; without it each has one that is fitted to it, or goes as it is.
    ``raw``: Whether tensors are held as they are.
    ``device``: Where the model computes: by default where its weights are, or, if they are on the processor, on a GPU
        that is there.
    """
    require("torch", "torch")
    from . import door

    return door.stream(model, device_bytes=device_bytes, ahead=ahead, format=format, raw=raw, device=device)


def cache(
    *,
    device_bytes: int | str,
    ahead: int = 2,
    block: int = 256,
    format: Format | None = None,
    raw: bool = False,
) -> Cache | TransformersCache:
    """Keys and values of a decoder's layers that have no room on the device wait on the host, compressed, and come layer
    by layer before they are needed.

    ``cache.update(keys, values, layer)`` has new ones put behind those of the layer, and gives all of them, as the caches of
    Hugging Face do, bit for bit; they are on the device of the keys. It is for inference, from one thread at a time. Where
    ``transformers`` is imported, it is one of its caches: ``model.generate(tokens, past_key_values=cache)``.

    ``device_bytes``: The most bytes of the device for what stays and what is on its way, as :func:`offload` has them.
        What a layer computes with has its own, and so have the tokens behind its last block.
    ``ahead``: Of how many layers keys and values are on their way while another one computes.
    ``block``: How many tokens of a layer leave together.
    ``format``, ``raw``: As :func:`stream` has them.
    """
    require("torch", "torch")
    from . import door

    return door.cache(device_bytes=device_bytes, ahead=ahead, block=block, format=format, raw=raw)


def largest_batch(
    step: Callable[[int], int | None],
    memory: int | None = None,
    *,
    multiple: int = 1,
    passes: int = 2,
    most: int | None = None,
) -> Largest:
    """The largest batch whose step fits a memory, with ``batch``, ``peak`` and everything that was ``tried``.

    Batches double until one does not fit, and then the gap is halved. With :func:`saved` in the step, the batch grows into
    the memory that is saved.

    ``step``: Trains one step with a batch of so many images. It returns the bytes that it took at most, or None to have
        the GPU asked.
    ``memory``: The bytes that there are; by default all of the GPU. A GPU gives no more while this runs.
    ``multiple``: What the batch is a multiple of.
    ``passes``: Steps of each batch, the last of which counts: policies learn from the ones before.
    ``most``: The largest batch that is tried.
    """
    require("torch", "torch")
    from cdma.torch import growing

    return growing.largest_batch(step, memory, multiple=multiple, passes=passes, most=most)


def trainer_callback(
    model: Callable[[torch.nn.Module], AbstractContextManager[object]] | None = None,
    optimizer: Callable[[torch.optim.Optimizer], AbstractContextManager[object]] | None = None,
) -> Contexts:
    """A callback with which a ``Trainer`` of Hugging Face's ``transformers`` trains in contexts of this module::

        Trainer(model, arguments, callbacks=[cdma.torch.trainer_callback(cdma.torch.saved)])

    ``model``: Makes a context of the model, such as :func:`saved` or :func:`offload`.
    ``optimizer``: Makes one of the optimiser, such as a :func:`stream` with its ``device_bytes``. States can't be saved
        within it: checkpoints have the model alone (``save_only_model=True``).
    """
    require("torch", "torch")
    try:
        from .trainer import Contexts
    except ImportError:
        raise ToolError("a callback needs the package transformers: pip install transformers") from None

    return Contexts(model, optimizer)
