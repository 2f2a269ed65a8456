"""Host memory in pages, as ``docs/options/pages.md`` says them."""

from __future__ import annotations

from dataclasses import dataclass

from .bench import Bench, Transfer

PAGE = 4096


@dataclass
class Paged:
    """A transfer whose host memory has been put into pages.

    ``made``
        The transfer, with its host memory in one run of ``count`` bytes at ``whole``.
    ``descriptor``
        Says the pages instead.
    ``runs``
        Addresses and bytes.
    """

    made: Transfer
    descriptor: dict[str, int]
    field: str
    whole: int
    count: int
    runs: list[tuple[int, int]]
    list_at: int

    def gather(self, bench: Bench) -> None:
        """Puts what was written into pages back into one run, and objects to anything else in them."""
        memory, found = bench.memory["host"], b""
        for address, count in self.runs:
            page = address // PAGE * PAGE
            there = memory.load(page, PAGE)
            before = address - page
            found += there[before : before + count]
            around = there[:before] + there[before + count :]
            assert around == bytes([0xA5]) * len(around), f"{address:#x}: written around a page"
            memory.allowed.remove(range(address, address + count))
        memory.allowed.append(range(self.whole, self.whole + self.count))
        memory.store(self.whole, found)


def in_pages(bench: Bench, channel: str, made: Transfer) -> Paged:
    """Puts the host memory of a transfer into pages that lie anywhere, from some beat of the first one on."""
    rng, memory = bench.rng, bench.memory["host"]
    field = "destination" if channel == "offload" else "source"
    whole = made.descriptor[field]
    count = made.descriptor["capacity"] if channel == "offload" else made.bytes_read
    beat = 1 << bench.ports["host"]["align_log2"]
    first = rng.choice((0, rng.randrange(0, PAGE, beat), PAGE - beat))
    sizes = [min(count, PAGE - first)]
    while sum(sizes) < count:
        sizes.append(min(count - sum(sizes), PAGE))
    pages = []
    for _ in range(len(sizes) + 1):
        at = -(-bench.place("host", 2 * PAGE) // PAGE) * PAGE
        memory.store(at, bytes([0xA5]) * PAGE)
        pages.append(at)
    rng.shuffle(pages)
    list_at, start, *further = pages
    runs = list(zip((start + first, *further), sizes, strict=True))
    if channel == "offload":
        memory.allowed.remove(range(whole, whole + count))
        memory.allowed += [range(address, address + size) for address, size in runs]
    else:
        data = memory.load(whole, count)
        for address, size in runs:
            memory.store(address, data[:size])
            data = data[size:]
    memory.store(list_at, b"".join(page.to_bytes(8, "little") for page in further))
    said = {field: start + first, "pages_low": list_at & 0xFFFFFFFF, "pages_high": list_at >> 32}
    return Paged(made, made.descriptor | said, field, whole, count, runs, list_at)
