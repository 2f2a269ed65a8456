"""The device, the link and the settings of a stream of weights, from what its user gives."""

from __future__ import annotations

import torch
from torch import nn

from cdma.base.errors import ParameterError
from cdma.hdl.spec.checks import check_range
from cdma.hdl.spec.format import Format

from .codecs import CardCodec, Codec, HostCodec
from .context import Settings, Stream
from .lanes import CardLane, Lane, PacedLane

__all__ = ["stream"]

_MOST = 1 << 60


def stream(
    model: nn.Module,
    *,
    device_bytes: int,
    ahead: int = 2,
    format: Format | None = None,
    raw: bool = False,
    link: float | None = None,
    device: torch.device | str | None = None,
) -> Stream:
    """See :func:`cdma.torch.stream`."""
    if not isinstance(model, nn.Module):
        raise ParameterError(f"the model is {type(model).__name__}; it must be a torch.nn.Module")
    check_range("device_bytes", device_bytes, 0, _MOST, "bytes of the device")
    check_range("ahead", ahead, 1, 1024, "units on their way")
    if format is not None and not isinstance(format, Format):
        raise ParameterError(f"the format is {format!r}; it must be a cdma.Format")
    where = _device(model, device, link)
    lane: Lane
    codec: Codec
    if where.type == "cpu":
        rate = _rate(link)
        lane, codec = PacedLane(rate, rate), HostCodec()
    else:
        lane, codec = CardLane(where), CardCodec(where)
    return Stream(model, where, lane, codec, Settings(device_bytes, ahead, format, raw))


def _device(model: nn.Module, device: torch.device | str | None, link: float | None) -> torch.device:
    """Where the model computes: what is asked for, or where its weights are, or a card that has room for them by turns."""
    if device is not None:
        found = torch.device(device)
    else:
        found = next((weight.device for weight in model.parameters()), torch.device("cpu"))
        if found.type == "cpu" and link is None and torch.cuda.is_available():
            found = torch.device("cuda")
    if found.type not in ("cpu", "cuda"):
        raise ParameterError(
            f"the device is {found}; weights are streamed to a CUDA card or to the processor"
        )
    if found.type == "cuda":
        if link is not None:
            raise ParameterError(
                f"the device is {found}, whose link is what it is; link is for the processor"
            )
        if not torch.cuda.is_available():
            raise ParameterError(f"the device is {found}; there is no card here that PyTorch can use")
        if found.index is None:
            found = torch.device("cuda", torch.cuda.current_device())
    return found


def _rate(link: float | None) -> float:
    if link is None:
        return float("inf")
    if not isinstance(link, (int, float)) or not link > 0:
        raise ParameterError(f"link is {link!r}; it must be bytes per second, more than 0")
    return float(link)
