"""The ``.cdma`` file of several tensors: what a safetensors file holds, each tensor in a format of its own.

``docs/format.md`` describes it byte by byte. The file that it was made from comes back byte for byte.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from typing import Any, BinaryIO
from zlib import crc32

from cdma.hdl.spec.format import StreamFormat
from cdma.sim.codec.files import NotATensor, Part, Safetensors, Tensor

from .container import (
    VERSIONS,
    BadFile,
    Progress,
    container_from,
    pack_tensor,
    read_checked,
    read_description,
    unpack_tensor,
    write_description,
)

_CRC_BYTES = 4
_MOST_HEAD_BYTES = 1 << 27


@dataclass(frozen=True)
class Bundle:
    """The description of a file: the safetensors bytes before its data, the bytes of its data, and the number of tensors
    with elements."""

    head_bytes: int
    data_bytes: int
    tensors: int


def bundle_from(description: Any) -> Bundle:
    """The bundle that a description is about."""
    try:
        bundle = Bundle(*(description[field.name] for field in fields(Bundle)))
    except (KeyError, TypeError) as error:
        raise BadFile(f"its header makes no sense: {error}") from None
    if any(type(number) is not int or number < 0 for number in asdict(bundle).values()):
        raise BadFile(f"its header makes no sense: it says {bundle}")
    if bundle.head_bytes > _MOST_HEAD_BYTES:
        raise BadFile(f"its header makes no sense: head_bytes is more than {_MOST_HEAD_BYTES}")
    return bundle


def data_order(described: Safetensors, size: int) -> list[Part]:
    """The tensors with elements in the order of their data; they must be all of the data of a file of ``size`` bytes."""
    parts = sorted((part for part in described.parts if part.begin < part.end), key=lambda part: part.begin)
    at = len(described.head)
    for part in parts:
        if part.begin != at:
            what = "is left out" if part.begin > at else "is shared"
            raise NotATensor(
                f"the data before its tensor {part.name!r} {what}, which the format does not allow"
            )
        at = part.end
    if at != size:
        raise NotATensor(f"{size - at} bytes follow the data of its last tensor")
    return parts


def pack_bundle(
    source: BinaryIO,
    described: Safetensors,
    size: int,
    target: BinaryIO,
    format_of: Callable[[Part], StreamFormat],
    progress: Progress,
) -> int:
    """Compresses the tensors of a file of ``size`` bytes, read up to its data, and returns the bytes written."""
    parts = data_order(described, size)
    head = described.head
    written = write_description(
        target, VERSIONS[1], {"head_bytes": len(head), "data_bytes": size - len(head), "tensors": len(parts)}
    )
    target.write(head + crc32(head).to_bytes(_CRC_BYTES, "little"))
    written += len(head) + _CRC_BYTES
    for part in parts:
        source.seek(part.begin)
        tensor = Tensor(part.shape, part.dtype)
        try:
            written += pack_tensor(source, tensor, target, format_of(part), progress)
        except NotATensor as error:
            raise NotATensor(f"in its tensor {part.name!r} {error}") from None
    return written


def unpack_bundle(source: BinaryIO, bundle: Bundle, target: BinaryIO, progress: Progress) -> None:
    """Restores the safetensors file from what follows the description."""
    head = read_checked(source, bundle.head_bytes, "the head of the safetensors file")
    target.write(head)
    left = bundle.data_bytes
    for number in range(1, bundle.tensors + 1):
        version, description = read_description(source)
        if version == VERSIONS[1]:
            raise BadFile(f"it is damaged: tensor {number} of {bundle.tensors} is a file of several tensors")
        container = container_from(description)
        left -= container.tensor.nbytes
        if left < 0:
            break
        unpack_tensor(source, container, target, progress)
    if left:
        raise BadFile(
            f"it is damaged: its tensors do not have the {bundle.data_bytes} bytes that its header claims"
        )
    if source.read(1):
        raise BadFile("it is damaged: there is something after its last tensor")
