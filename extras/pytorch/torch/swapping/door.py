"""The link and the settings of an offload, from what its user gives."""

from __future__ import annotations

import torch
from torch import nn

from cdma.base.errors import ParameterError
from cdma.torch.sizes import bytes_of

from .context import Offload, Settings
from .link import CardLink, Link, PacedLink
from .policies import SwapPolicy


def offload(
    model: nn.Module,
    policy: SwapPolicy,
    *,
    link: float | tuple[float, float] | None = None,
    host_bytes: int | str | None = None,
    device_bytes: int | str | None = None,
    ahead: int | str = 64 << 20,
    debug: bool = False,
    trace: bool = False,
) -> Offload:
    """See :func:`cdma.torch.offload`."""
    if not isinstance(model, nn.Module):
        raise ParameterError(f"the model is {type(model).__name__}; it must be a torch.nn.Module")
    device = next((weight.device for weight in model.parameters()), torch.device("cpu"))
    settings = Settings(
        None if host_bytes is None else bytes_of("host_bytes", host_bytes),
        None if device_bytes is None else bytes_of("device_bytes", device_bytes, device),
        bytes_of("ahead", ahead),
        debug,
        trace,
    )
    return Offload(model, policy, link_of(model, link), settings)


def link_of(model: nn.Module, rates: float | tuple[float, float] | None) -> Link:
    """The link of the device that a model is on; on the processor one of these bytes per second."""
    devices = {parameter.device for parameter in model.parameters()}
    if len(devices) > 1:
        found = ", ".join(sorted(map(str, devices)))
        raise ParameterError(f"the model is on {found}; an offload is for one device")
    device = devices.pop() if devices else torch.device("cpu")
    if device.type == "cpu":
        return PacedLink(*_checked(float("inf") if rates is None else rates))
    if device.type != "cuda":
        raise ParameterError(f"the model is on {device}; an offload is for a CUDA GPU or the processor")
    if rates is not None:
        raise ParameterError(
            f"the model is on {device}, whose link is what it is; link is for models on the processor"
        )
    return CardLink(device)


def _checked(rates: float | tuple[float, float]) -> tuple[float, float]:
    both = rates if isinstance(rates, tuple) else (rates, rates)
    if len(both) != 2 or not all(isinstance(rate, (int, float)) and rate > 0 for rate in both):
        raise ParameterError(
            f"link is {rates!r}; it must be bytes per second, more than 0, or a pair of them"
        )
    return float(both[0]), float(both[1])
