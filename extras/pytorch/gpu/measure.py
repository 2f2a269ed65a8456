"""The codec timed on a GPU, beside a copy there and the codecs of nvCOMP."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from statistics import median
from typing import Any

import torch
from torch import Tensor

from cdma.base.errors import CdmaError, ToolError
from cdma.hdl.spec.format import Format

from .decoder import decompress, restored
from .encoder import compress
from .layout import UNSIGNED, where
from .many import compress_many, decompress_many
from .tensors import fit

#: The words of a tensor by their bytes, as nvCOMP's package names them.
_OWN = {1: "|u1", 2: "<u2", 4: "<u4"}
#: The algorithms of nvCOMP that are measured, and the words that they work on; None stands for bytes.
_PEERS: dict[str, str | dict[int, str] | None] = {
    "ANS": "<f2",
    "Bitcomp": _OWN,
    "Cascaded": _OWN,
    "LZ4": None,
    "Zstd": None,
}
_WARM_UP = 3


class WrongRoundTrip(CdmaError):
    """A codec on the GPU did not restore the data that it compressed."""


@dataclass(frozen=True)
class Timing:
    """The seconds of each round of a codec, and the bytes of its stream."""

    codec: str
    stream: int
    compress: Sequence[float]
    decompress: Sequence[float]


def row(card: str, data: str, raw: int, timing: Timing, copy: Sequence[float]) -> dict[str, Any]:
    """A row of the table, from times of ``raw`` bytes; rates are in bytes of raw data per second.

    A ``copy`` of the raw data reads and writes all of them, and so says how many bytes the memory moves in a second. The
    codec must read or write the raw data and the stream at least once: the share is the time that these take at that rate,
    of the time that the codec takes.
    """
    moved = 2 * raw / median(copy)
    there, back = median(timing.compress), median(timing.decompress)
    limit = (raw + timing.stream) / moved
    return {
        "card": card,
        "data": data,
        "codec": timing.codec,
        "ratio": raw / timing.stream,
        "compress": raw / there,
        "decompress": raw / back,
        "share": {"compress": limit / there, "decompress": limit / back},
    }


def copy_row(card: str, data: str, raw: int, copy: Sequence[float]) -> dict[str, Any]:
    """The row of the copy itself, which is all of what is possible."""
    return row(card, data, raw, Timing("copy", raw, copy, copy), copy)


def require_cuda() -> None:
    """Refuses a machine without a GPU."""
    if not torch.cuda.is_available():
        raise ToolError("there is no GPU here that PyTorch can use; the bench measures on one")


def measure(
    name: str,
    format: Format,
    density: float,
    size: int,
    tensors: int,
    rounds: int,
    seed: int,
    left_out: Callable[[str], object],
) -> Iterator[dict[str, Any]]:
    """Rows for ``tensors`` of ``size`` bytes of numbers of which a ``density`` is not zero.

    They are the copy of all together, the codec, and of one tensor what nvCOMP has; ``left_out`` gets a sentence for what
    it lacks.
    """
    require_cuda()
    card, data = torch.cuda.get_device_name(), f"{name}, density {density:g}"
    tensor = numbers(format, density, size * tensors, seed)
    raw = tensor.numel() * tensor.element_size()
    if format.field_bits:
        format = fit(tensor, format)
    target = torch.empty_like(tensor)
    copy = seconds_of(lambda: target.copy_(tensor), rounds)
    yield {**copy_row(card, data, raw, copy), "tools": where(True)["tools"]}
    if tensors > 1:
        yield from (
            row(card, data, raw, each, copy) for each in _several(tensor.chunk(tensors), format, rounds)
        )
        return
    yield row(card, data, raw, own(tensor, format, rounds), copy)
    yield from (row(card, data, raw, each, copy) for each in peers(tensor, rounds, left_out))


def own(tensor: Tensor, format: Format, rounds: int) -> Timing:
    """The codec itself, once it has given back what it was given."""
    out = torch.empty(format.bound_bytes(tensor.numel()), dtype=torch.uint8, device=tensor.device)
    fault = torch.zeros(1, dtype=torch.int32, device=tensor.device)
    packed = compress(tensor, format, out=out)
    if not torch.equal(_bytes(restored(packed, fault)), _bytes(tensor)) or int(fault):
        raise WrongRoundTrip("cDMA did not give back what it was given")
    there = seconds_of(lambda: compress(tensor, format, out=out), rounds)
    return Timing("cDMA", packed.stream.numel(), there, seconds_of(lambda: restored(packed, fault), rounds))


def _several(tensors: Sequence[Tensor], format: Format, rounds: int) -> Iterator[Timing]:
    """Tensors in one launch for each, and in one for all."""
    bounds = [format.bound_bytes(each.numel()) for each in tensors]
    packed = compress_many(tensors, format, capacities=bounds)
    if any(
        not torch.equal(_bytes(back), _bytes(each))
        for back, each in zip(decompress_many(packed), tensors, strict=True)
    ):
        raise WrongRoundTrip("cDMA did not give back what it was given")
    stream = sum(each.stream.numel() for each in packed)

    def each_by_itself() -> None:
        for one, bound in zip(tensors, bounds, strict=True):
            compress(one, format, capacity=bound)

    def each_back() -> None:
        for one in packed:
            decompress(one.data, one.words, format, index=one.index, length=one.length)

    for codec, there, back in (
        ("cDMA, a launch for each", each_by_itself, each_back),
        (
            "cDMA, a launch for all",
            lambda: compress_many(tensors, format, capacities=bounds),
            lambda: decompress_many(packed),
        ),
    ):
        yield Timing(codec, stream, seconds_of(there, rounds), seconds_of(back, rounds))


def peers(
    tensor: Tensor, rounds: int, left_out: Callable[[str], object], algorithms: Iterable[str] = tuple(_PEERS)
) -> Iterator[Timing]:
    """The algorithms of nvCOMP; ``left_out`` gets a sentence for each that is not here or does not work."""
    try:
        nvcomp = import_module("nvidia.nvcomp")
    except ImportError:
        left_out("nvCOMP is left out: its package nvidia.nvcomp is not installed")
        return
    for algorithm in algorithms:
        try:
            yield _peer(nvcomp, algorithm, tensor, rounds)
        except Exception as error:  # the package documents no type of its errors
            left_out(
                f"nvCOMP's {algorithm} is left out: {str(error) or type(error).__name__}".splitlines()[0]
            )


def _peer(nvcomp: Any, algorithm: str, tensor: Tensor, rounds: int) -> Timing:
    kind = _PEERS[algorithm]
    if isinstance(kind, dict):
        kind = kind[tensor.element_size()]
    codec = nvcomp.Codec(algorithm=algorithm, **({"data_type": kind} if kind else {}))
    source = nvcomp.as_array(_bytes(tensor))
    encoded = codec.encode(source)
    if not torch.equal(
        torch.as_tensor(codec.decode(encoded), device=tensor.device).view(torch.uint8), _bytes(tensor)
    ):
        raise WrongRoundTrip("it did not give back what it was given")
    there = seconds_of(lambda: codec.encode(source), rounds)
    return Timing(
        f"nvCOMP {algorithm}", encoded.buffer_size, there, seconds_of(lambda: codec.decode(encoded), rounds)
    )


def _bytes(tensor: Tensor) -> Tensor:
    return tensor.view(torch.uint8).reshape(-1)


def numbers(format: Format, density: float, size: int, seed: int) -> Tensor:
    """Normally distributed numbers in the type of the format's words, or their bytes; the others are zero."""
    made = torch.Generator("cuda").manual_seed(seed)
    count = size * 8 // format.word_bits
    numbers = torch.randn(count, device="cuda", generator=made)
    kept = torch.rand(count, device="cuda", generator=made) < density
    if format.word_bits == 8:
        numbers = numbers.mul_(32).clamp_(-127, 127).to(torch.int8)
        numbers[numbers == 0] = 1
    elif format.word_bits == 16:
        numbers = numbers.to(torch.bfloat16)
    # A product would have negative zeros, which are no zeros.
    return torch.where(kept, numbers, 0).view(UNSIGNED[format.word_bits // 8])


def seconds_of(work: Callable[[], object], rounds: int) -> list[float]:
    """The seconds of each round, by events on the GPU, after rounds that do not count."""
    for _ in range(_WARM_UP):
        work()
    events = [torch.cuda.Event(enable_timing=True) for _ in range(rounds + 1)]
    torch.cuda.synchronize()
    events[0].record()
    for event in events[1:]:
        work()
        event.record()
    torch.cuda.synchronize()
    return [begin.elapsed_time(end) / 1e3 for begin, end in pairwise(events)]
