"""The contexts of :mod:`cdma.torch`: the device, the way to it and the settings, from what their user gives."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from cdma.base.errors import ParameterError, ToolError
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.settings import check_range

from .coded import Codec
from .context import Saved
from .policies import Lossless, Policy
from .streaming.cache import Cache
from .streaming.context import Stream
from .streaming.depot import Depot
from .streaming.states import States
from .swapping.context import Offload, Settings
from .swapping.policies import Cdma, SwapPolicy
from .transport import Transport

if TYPE_CHECKING:
    from cdma.torch.hugging_face import Contexts, TransformersCache

    from .swapping.driven import Driven

_MOST = 1 << 60
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(i?)B", re.IGNORECASE)
#: The part of the free memory that ``"auto"`` leaves to gradients and to what kernels take.
_LEFT = 4


def bytes_of(name: str, value: object, device: torch.device | None = None, there: int = 0) -> int:
    """The bytes of a setting.

    ``device``: The GPU of which ``"auto"`` has three quarters of the free memory, and what is ``there`` already of what
        is bounded.
    """
    if value == "auto" and device is not None:
        if device.type != "cuda":
            raise ParameterError(
                f"{name} is 'auto', which asks a GPU; what is bounded is on {device}: give bytes"
            )
        cached = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        free = torch.cuda.mem_get_info(device)[0] + cached
        return free - free // _LEFT + there
    if isinstance(value, str):
        found = _SIZE.fullmatch(value.strip())
        if found is None:
            auto = "" if device is None else ", or 'auto'"
            raise ParameterError(
                f"{name} is {value!r}; it must be bytes, or a size such as '8GiB' or '500MB'{auto}"
            )
        number, prefix, binary = found.groups()
        value = int(float(number) * (1024 if binary else 1000) ** " KMGT".index(prefix.upper() or " "))
    check_range(name, value, 0, _MOST, "bytes")
    assert isinstance(value, int)
    return value


def saved(model: nn.Module, policy: Policy | None = None) -> Saved:
    """A context in which what autograd keeps for the backward pass of ``model`` is compressed, and given back there.

    Forward passes go into the block, on its thread; backward passes may be in it or behind it. Parameters and buffers of the
    model, and views of them, are not touched; a tensor that is kept several times is compressed once. A tensor that was
    written to after it was kept is refused with PyTorch's error. What is not floating point, is computed outside the model
    (such as a loss), is double precision, or has NaN or infinite numbers, is without loss under every policy.

    ``policy``: What error a tensor may have: :class:`Lossless`, the default, :class:`Bound`, :class:`Comet` or
        :class:`AcGc`.
    """
    return Saved(model, policy or Lossless())


def offload(
    model: nn.Module,
    policy: SwapPolicy | None = None,
    *,
    backend: str | None = None,
    host_bytes: int | str | None = None,
    device_bytes: int | str | None = None,
    ahead: int | str = 64 << 20,
    debug: bool = False,
    trace: bool = False,
    transport: Transport | None = None,
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
    ``transport``: The way to the host; without it that of the model's device.
    """
    if backend is not None:
        from .swapping.driven import Driven

        given = {"policy": policy, "host_bytes": host_bytes, "device_bytes": device_bytes}
        if useless := [name for name, value in given.items() if value is not None]:
            raise ParameterError(
                f"{useless[0]} is given with a backend, which moves everything by its own link"
            )
        return Driven(model, backend)
    if not isinstance(model, nn.Module):
        raise ParameterError(f"the model is {type(model).__name__}; it must be a torch.nn.Module")
    device = device_of(model)
    host = None if host_bytes is None else bytes_of("host_bytes", host_bytes)
    most = None if device_bytes is None else bytes_of("device_bytes", device_bytes, device)
    settings = Settings(host, most, bytes_of("ahead", ahead), debug, trace)
    return Offload(model, policy or Cdma(), transport or Transport(device), settings)


def device_of(model: nn.Module) -> torch.device:
    """The one device that a model is on."""
    devices = {parameter.device for parameter in model.parameters()}
    if len(devices) > 1:
        found = ", ".join(sorted(map(str, devices)))
        raise ParameterError(f"the model is on {found}; an offload is for one device")
    return devices.pop() if devices else torch.device("cpu")


def stream(
    model: nn.Module | Optimizer,
    *,
    device_bytes: int | str,
    ahead: int = 2,
    format: Format | None = None,
    raw: bool = False,
    device: torch.device | str | None = None,
    transport: Transport | None = None,
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
    ``transport``: As :func:`offload` has it.
    """
    _check(ahead, format)
    if isinstance(model, Optimizer):
        if device is not None:
            raise ParameterError("the device is given, but an optimiser computes where its parameters are")
        places = {weight.device for group in model.param_groups for weight in group["params"]}
        if len(places) != 1:
            raise ParameterError(
                f"the optimiser has parameters on {len(places)} devices; its states are streamed to one"
            )
        where = places.pop()
        found = (state for each in model.state.values() for state in each.values())
        tensors = [state for state in found if isinstance(state, Tensor)]
    elif isinstance(model, nn.Module):
        where = _computes(model, device)
        tensors = [*model.parameters(), *model.buffers()]
    else:
        raise ParameterError(
            f"the model is {type(model).__name__}; it must be a torch.nn.Module or a torch.optim.Optimizer"
        )
    depot = _depot(transport or Transport(where), ahead, format, raw)
    on_device = sum(tensor.nbytes for tensor in tensors if tensor.device == where)
    size = bytes_of("device_bytes", device_bytes, where, on_device)
    return (States if isinstance(model, Optimizer) else Stream)(model, depot, size, ahead)


def cache(
    *,
    device_bytes: int | str,
    ahead: int = 2,
    block: int = 256,
    format: Format | None = None,
    raw: bool = False,
    transport: Transport | None = None,
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
    ``format``, ``raw``, ``transport``: As :func:`stream` has them.
    """
    _check(ahead, format)
    if device_bytes != "auto":
        bytes_of("device_bytes", device_bytes, torch.device("cpu"))
    check_range("block", block, 1, 1 << 20, "tokens of a block")

    def depot(device: torch.device) -> tuple[Depot, int]:
        size = bytes_of("device_bytes", device_bytes, device)
        return _depot(transport or Transport(device), ahead, format, raw), size

    tokens = Cache(depot, ahead, block)
    if "transformers" in sys.modules:
        from cdma.torch.hugging_face import TransformersCache

        return TransformersCache(tokens)
    return tokens


def _depot(transport: Transport, ahead: int, format: Format | None, raw: bool) -> Depot:
    return Depot(transport, Codec(transport.device), ahead, format, raw=raw)


def _check(ahead: int, format: Format | None) -> None:
    check_range("ahead", ahead, 1, 1024, "units on their way")
    if format is not None and not isinstance(format, Format):
        raise ParameterError(f"the format is {format!r}; it must be a cdma.Format")


def _computes(model: nn.Module, device: torch.device | str | None) -> torch.device:
    """Where the model computes: what is asked for, or where its weights are, or a GPU that has room for them by turns."""
    if device is not None:
        found = torch.device(device)
    else:
        found = next((weight.device for weight in model.parameters()), torch.device("cpu"))
        if found.type == "cpu" and torch.cuda.is_available():
            found = torch.device("cuda")
    if found.type == "cuda" and found.index is None and torch.cuda.is_available():
        found = torch.device("cuda", torch.cuda.current_device())
    return found


def trainer_callback(
    model: Callable[[nn.Module], AbstractContextManager[object]] | None = None,
    optimizer: Callable[[Optimizer], AbstractContextManager[object]] | None = None,
) -> Contexts:
    """A callback with which a ``Trainer`` of Hugging Face's ``transformers`` trains in contexts of this module::

        Trainer(model, arguments, callbacks=[cdma.torch.trainer_callback(cdma.torch.saved)])

    ``model``: Makes a context of the model, such as :func:`saved` or :func:`offload`.
    ``optimizer``: Makes one of the optimiser, such as a :func:`stream` with its ``device_bytes``. States can't be saved
        within it: checkpoints have the model alone (``save_only_model=True``).
    """
    try:
        from cdma.torch.hugging_face import Contexts
    except ImportError:
        raise ToolError("a callback needs the package transformers: pip install transformers") from None

    return Contexts(model, optimizer)
