"""Sizes of memory as a user writes them: bytes, ``"8GiB"``, or what a GPU has free."""

from __future__ import annotations

import re

import torch

from cdma.base.errors import ParameterError
from cdma.hdl.spec.settings import check_range

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
