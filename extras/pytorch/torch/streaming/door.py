"""The device, the link and the settings of a stream, from what its user gives."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from cdma.base.errors import ParameterError
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.settings import check_range
from cdma.torch.sizes import bytes_of
from cdma.torch.swapping.link import CardLink, Link, PacedLink

from .cache import Cache
from .codecs import CardCodec, Codec, HostCodec
from .context import Settings, Stream
from .depot import CardLane, Depot, Lane, PacedLane
from .states import States

if TYPE_CHECKING:
    from .transformers_cache import TransformersCache


def stream(
    model: nn.Module | Optimizer,
    *,
    device_bytes: int | str,
    ahead: int = 2,
    format: Format | None = None,
    raw: bool = False,
    link: float | None = None,
    device: torch.device | str | None = None,
) -> Stream | States:
    """See :func:`cdma.torch.stream`."""
    if not isinstance(model, (nn.Module, Optimizer)):
        raise ParameterError(
            f"the model is {type(model).__name__}; it must be a torch.nn.Module or a torch.optim.Optimizer"
        )
    _check(ahead, format)
    if isinstance(model, Optimizer):
        return _states(model, device_bytes, ahead, format, raw, link, device)
    where = _device(model, device, link)
    lane: Lane
    codec: Codec
    if where.type == "cpu":
        rate = _rate(link)
        lane, codec = PacedLane(rate, rate), HostCodec()
    else:
        lane, codec = CardLane(where), CardCodec(where)
    size = bytes_of(
        "device_bytes", device_bytes, where, _there([*model.parameters(), *model.buffers()], where)
    )
    return Stream(model, where, lane, codec, Settings(size, ahead, format, raw))


def cache(
    *,
    device_bytes: int | str,
    ahead: int = 2,
    block: int = 256,
    format: Format | None = None,
    raw: bool = False,
    link: float | None = None,
) -> Cache | TransformersCache:
    """See :func:`cdma.torch.cache`."""
    _check(ahead, format)
    if device_bytes != "auto":
        bytes_of("device_bytes", device_bytes, torch.device("cpu"))
    check_range("block", block, 1, 1 << 20, "tokens of a block")
    _rate(link)

    def depot(device: torch.device) -> tuple[Depot, int]:
        size = bytes_of("device_bytes", device_bytes, device)
        return _depot(device, ahead, format, raw, link)[0], size

    tokens = Cache(depot, ahead, block)
    if "transformers" in sys.modules:
        from .transformers_cache import TransformersCache

        return TransformersCache(tokens)
    return tokens


def _states(
    optimizer: Optimizer,
    device_bytes: int | str,
    ahead: int,
    format: Format | None,
    raw: bool,
    link: float | None,
    device: torch.device | str | None,
) -> States:
    """A stream of an optimiser's states."""
    if device is not None:
        raise ParameterError("the device is given, but an optimiser computes where its parameters are")
    places = {weight.device for group in optimizer.param_groups for weight in group["params"]}
    if len(places) != 1:
        raise ParameterError(
            f"the optimiser has parameters on {len(places)} devices; its states are streamed to one"
        )
    place = places.pop()
    states = [
        state for each in optimizer.state.values() for state in each.values() if isinstance(state, Tensor)
    ]
    size = bytes_of("device_bytes", device_bytes, place, _there(states, place))
    depot, least_bytes = _depot(place, ahead, format, raw, link)
    return States(optimizer, depot, size, ahead, least_bytes)


def _depot(
    device: torch.device, ahead: int, format: Format | None, raw: bool, link: float | None
) -> tuple[Depot, int]:
    """The way from a device to the host and back, and of how many bytes a tensor is worth it."""
    _check_device(device, link)
    way: Link
    codec: Codec
    if device.type == "cpu":
        rate = _rate(link)
        way, codec = PacedLink(rate, rate), HostCodec()
    else:
        way, codec = CardLink(device), CardCodec(device)
    return Depot(device, way, codec, ahead, format, raw=raw), way.least_bytes


def _there(tensors: Sequence[Tensor], device: torch.device) -> int:
    """Bytes of tensors that are on a device."""
    return sum(tensor.nbytes for tensor in tensors if tensor.device == device)


def _check(ahead: int, format: Format | None) -> None:
    check_range("ahead", ahead, 1, 1024, "units on their way")
    if format is not None and not isinstance(format, Format):
        raise ParameterError(f"the format is {format!r}; it must be a cdma.Format")


def _device(model: nn.Module, device: torch.device | str | None, link: float | None) -> torch.device:
    """Where the model computes: what is asked for, or where its weights are, or a GPU that has room for them by turns."""
    if device is not None:
        found = torch.device(device)
    else:
        found = next((weight.device for weight in model.parameters()), torch.device("cpu"))
        if found.type == "cpu" and link is None and torch.cuda.is_available():
            found = torch.device("cuda")
    _check_device(found, link)
    if found.type == "cuda" and found.index is None:
        found = torch.device("cuda", torch.cuda.current_device())
    return found


def _check_device(found: torch.device, link: float | None) -> None:
    if found.type not in ("cpu", "cuda"):
        raise ParameterError(f"the device is {found}; tensors are streamed to a CUDA GPU or to the processor")
    if found.type == "cuda":
        if link is not None:
            raise ParameterError(
                f"the device is {found}, whose link is what it is; link is for the processor"
            )
        if not torch.cuda.is_available():
            raise ParameterError(f"the device is {found}; there is no GPU here that PyTorch can use")


def _rate(link: float | None) -> float:
    if link is None:
        return float("inf")
    if not isinstance(link, (int, float)) or not link > 0:
        raise ParameterError(f"link is {link!r}; it must be bytes per second, more than 0")
    return float(link)
