"""The device, the way to it and the settings of what moves tensors, from what its user gives."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from cdma.base.errors import ParameterError
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.settings import check_range

from .coded import Codec
from .streaming.cache import Cache
from .streaming.context import Stream
from .streaming.depot import Depot
from .streaming.states import States
from .swapping.context import Offload, Settings
from .swapping.policies import SwapPolicy
from .transport import Transport

if TYPE_CHECKING:
    from .streaming.transformers_cache import TransformersCache

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


def offload(
    model: nn.Module,
    policy: SwapPolicy,
    transport: Transport | None = None,
    host_bytes: int | str | None = None,
    device_bytes: int | str | None = None,
    ahead: int | str = 64 << 20,
    **flags: bool,
) -> Offload:
    """See :func:`cdma.torch.offload`."""
    if not isinstance(model, nn.Module):
        raise ParameterError(f"the model is {type(model).__name__}; it must be a torch.nn.Module")
    device = device_of(model)
    host = None if host_bytes is None else bytes_of("host_bytes", host_bytes)
    most = None if device_bytes is None else bytes_of("device_bytes", device_bytes, device)
    settings = Settings(host, most, bytes_of("ahead", ahead), **flags)
    return Offload(model, policy, transport or Transport(device), settings)


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
    """See :func:`cdma.torch.stream`."""
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
    size = bytes_of("device_bytes", device_bytes, where, _there(tensors, where))
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
    """See :func:`cdma.torch.cache`."""
    _check(ahead, format)
    if device_bytes != "auto":
        bytes_of("device_bytes", device_bytes, torch.device("cpu"))
    check_range("block", block, 1, 1 << 20, "tokens of a block")

    def depot(device: torch.device) -> tuple[Depot, int]:
        size = bytes_of("device_bytes", device_bytes, device)
        return _depot(transport or Transport(device), ahead, format, raw), size

    tokens = Cache(depot, ahead, block)
    if "transformers" in sys.modules:
        from .streaming.transformers_cache import TransformersCache

        return TransformersCache(tokens)
    return tokens


def _depot(transport: Transport, ahead: int, format: Format | None, raw: bool) -> Depot:
    return Depot(transport, Codec(transport.device), ahead, format, raw=raw)


def _there(tensors: Sequence[Tensor], device: torch.device) -> int:
    """Bytes of tensors that are on a device."""
    return sum(tensor.nbytes for tensor in tensors if tensor.device == device)


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
