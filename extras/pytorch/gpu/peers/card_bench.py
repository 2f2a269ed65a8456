"""The codecs of the comparison as kernels on a GPU, with its own link: what a tensor takes to leave and come back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

import torch
from torch import Tensor

from cdma.gpu.decoder import restored
from cdma.gpu.encoder import compress
from cdma.gpu.layout import where
from cdma.gpu.measure import peers, require_cuda, seconds_of
from cdma.hdl.spec.format import Format

from . import csr_card, rl_card
from .csr import CsrFormat
from .kernel_bench import KernelBench, Way, WrongRoundTrip, drawn, rows_of
from .rl import RunFormat

#: Makes a stream in memory that is given, and the words of that stream again.
Coder = tuple[Callable[[Tensor, Tensor], Any], Callable[[Any, Tensor], Tensor], int]


def coders(count: int) -> dict[str, Coder]:
    """The codecs of which there are kernels, and the most bytes of their streams of so many words of 32 bits."""
    zv, rl, csr = Format(), RunFormat(), CsrFormat()
    return {
        "zv": (lambda words, out: compress(words, zv, out=out), restored, zv.bound_bytes(count)),
        "rl": (
            lambda words, out: rl_card.compress(words, rl, out=out),
            lambda stream, fault: rl_card.restored(stream, rl, fault),
            4 * rl.bound(count),
        ),
        "csr": (
            lambda words, out: csr_card.compress(words, csr, out=out),
            lambda stream, fault: csr_card.restored(stream, csr, fault),
            4 * csr.bound(count),
        ),
    }


def card_rows(
    density: float, bench: KernelBench, left_out: Callable[[str], object]
) -> Iterator[dict[str, Any]]:
    """Rows of the codecs on a GPU; LZ4 is nvCOMP's, or ``left_out`` gets a sentence."""
    require_cuda()
    words = torch.from_numpy(drawn(bench.size // 4, density, bench.seed)).cuda()
    rounds, raw = bench.rounds, words.nbytes
    ways = [Way("raw", raw, 0.0, 0.0, *_copies(raw, rounds))]
    for name, coder in coders(words.numel()).items():
        ways.append(_timed(name, coder, words, rounds))
    for lz4 in peers(words, rounds, left_out, ["LZ4"]):
        compressing, decompressing = median(lz4.compress), median(lz4.decompress)
        ways.append(Way("lz4", lz4.stream, compressing, decompressing, *_copies(lz4.stream, rounds)))
    for row in rows_of(torch.cuda.get_device_name(), density, raw, ways):
        yield {**row, "tools": where(True)["tools"]}


def _timed(name: str, coder: Coder, words: Tensor, rounds: int) -> Way:
    there, back, most = coder
    out = torch.empty(-(-most // 4) * 4, dtype=torch.uint8, device=words.device)
    fault = torch.zeros(1, dtype=torch.int32, device=words.device)
    stream = there(words, out)
    if not torch.equal(back(stream, fault).view(torch.uint8), words.view(torch.uint8)) or int(fault):
        raise WrongRoundTrip(f"{name} did not give back what it was given")
    size = int(stream.length)
    compressing = median(seconds_of(lambda: there(words, out), rounds))
    decompressing = median(seconds_of(lambda: back(stream, fault), rounds))
    return Way(name, size, compressing, decompressing, *_copies(size, rounds))


def _copies(size: int, rounds: int) -> tuple[float, float]:
    """The seconds of so many bytes to pinned memory and back."""
    card = torch.empty(size, dtype=torch.uint8, device="cuda")
    host = torch.empty(size, dtype=torch.uint8, pin_memory=True)
    out = seconds_of(lambda: host.copy_(card, non_blocking=True), rounds)
    return median(out), median(seconds_of(lambda: card.copy_(host, non_blocking=True), rounds))
