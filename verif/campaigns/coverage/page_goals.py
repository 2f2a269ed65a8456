"""The situations of host memory in pages that the regression of an engine must bring up."""

from __future__ import annotations

from collections.abc import Iterator

from cdma.hdl.spec.pages import PAGE_BYTES
from cdma.verif.engine.bench import CHANNELS
from cdma.verif.simulator.design import Design

from .goals import Goal, Sample, cross

__all__ = ["PAGE_GOALS"]

_PAGES = ("one page", "two pages", "more pages")
_ENDS = (
    *cross(("offload",), ("with the last page", "before the last page", "no room in its pages")),
    *cross(("prefetch",), ("with the last page", "STREAM_TRUNCATED", "STREAM_TRAILING")),
)


def _with_pages(design: Design) -> bool:
    return bool(design.config.pages)


def _list(sample: Sample) -> int:
    """Where the list of a transfer is; 0 if it has none."""
    return int(sample.get("pages_low", 0) | sample.get("pages_high", 0) << 32)


def _room(sample: Sample) -> tuple[int, int]:
    """Where the pages of a transfer begin, and the bytes that they have for it."""
    if sample["channel"] == "offload":
        return sample["destination"], sample["capacity"]
    return sample["source"], sample["compressed_length"] or sample["length"]


def _sizes(design: Design) -> list[str]:
    ends = ("a byte", "part", "all") if design.config.tail_bits else ("a beat", "part", "all")
    return [
        *cross(CHANNELS, _PAGES),
        *cross(CHANNELS, ("first page",), ("a beat", "part", "all")),
        *cross(CHANNELS, ("last page",), ends),
    ]


def _size(sample: Sample, design: Design) -> Iterator[str]:
    if sample.get("status") != "OK" or not _list(sample):
        return
    channel, (start, count) = sample["channel"], _room(sample)
    inside = start % PAGE_BYTES
    further = (inside + count - 1) // PAGE_BYTES
    yield f"{channel}, {_PAGES[min(further, 2)]}"
    if further:
        beat = design.config.host_data_bits // 8
        yield f"{channel}, first page, {_part(PAGE_BYTES - inside, beat)}"
        last = (inside + count - 1) % PAGE_BYTES + 1
        yield f"{channel}, last page, {_part(last, beat)}"
        if last == 1:
            yield f"{channel}, last page, a byte"


def _part(count: int, beat: int) -> str:
    """How much so many bytes are of a page."""
    return "a beat" if count <= beat else "all" if count == PAGE_BYTES else "part"


def _end(sample: Sample, design: Design) -> Iterator[str]:
    if not _list(sample):
        return
    channel, status, (start, count) = sample["channel"], sample["status"], _room(sample)
    further = (start % PAGE_BYTES + count - 1) // PAGE_BYTES
    if status == "OK":
        yield f"{channel}, {'before' if _leaves_pages(sample) else 'with'} the last page"
    if channel == "offload" and status == "CAPACITY" and sample["bytes_written"]:
        yield f"{channel}, no room in its pages"
    if channel == "prefetch" and further:
        yield f"{channel}, {status}"


def _leaves_pages(sample: Sample) -> bool:
    """Whether an offload without an error has pages that its stream did not need."""
    if sample["channel"] != "offload" or sample["status"] != "OK" or not _list(sample):
        return False
    inside = sample["destination"] % PAGE_BYTES
    last, used = ((inside + sample[name] - 1) // PAGE_BYTES for name in ("capacity", "bytes_written"))
    return bool(used < last)


def _faults(design: Design) -> list[str]:
    return [
        *cross(("offload",), ("WRITE_SLVERR", "WRITE_DECERR"), ("list", "page")),
        *cross(("prefetch",), ("READ_SLVERR", "READ_DECERR"), ("list", "page")),
    ]


def _fault(sample: Sample, design: Design) -> Iterator[str]:
    if not _list(sample):
        return
    of_list = sample["address"] // PAGE_BYTES == _list(sample) // PAGE_BYTES
    yield f"{sample['channel']}, {sample['status']}, {'list' if of_list else 'page'}"


def _faults_after(design: Design) -> list[str]:
    return cross(("offload",), ("WRITE_SLVERR", "WRITE_DECERR"), ("list", "page"))


def _fault_after(sample: Sample, design: Design) -> Iterator[str]:
    before = sample.get("before")
    if before and _leaves_pages(before):
        yield from _fault(sample, design)


PAGE_GOALS = (
    Goal(
        "channel by pages",
        "transfers with a list of pages without an error: how many they are, and what is in the first and the last one",
        _sizes,
        _size,
        _with_pages,
    ),
    Goal(
        "channel by end of pages",
        "transfers with a list of pages: whether the stream ends in the last one, before, or not in its pages",
        lambda design: _ENDS,
        _end,
        _with_pages,
    ),
    Goal(
        "channel by fault of pages",
        "transfers with a list of pages: errors of the list, and of pages that it names",
        _faults,
        _fault,
        _with_pages,
    ),
    Goal(
        "fault of pages after pages left over",
        "offloads with a list of pages directly after one whose stream left pages over: errors of the list, and "
        "of pages that it names",
        _faults_after,
        _fault_after,
        _with_pages,
    ),
)
