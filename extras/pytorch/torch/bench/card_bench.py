"""The codecs of the comparison on a GPU, with its own link: what a tensor takes to leave and come back.

Run lengths and sparse rows are made of PyTorch's operations, which wait for sizes; the streams are those of
:mod:`cdma.gpu.peers.codecs`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from statistics import median
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from cdma.gpu.layout import where
from cdma.gpu.measure import Timing, own, peers, require_cuda, seconds_of
from cdma.gpu.peers.codecs import COLUMNS
from cdma.hdl.spec.format import Format

from .kernel_bench import KernelBench, Way, WrongRoundTrip, drawn, rows_of

#: From words of 32 bits to the parts of a stream, and from these to so many words.
Coder = tuple[Callable[[Tensor], Sequence[Tensor]], Callable[[Sequence[Tensor], int], Tensor]]


def _runs_of(words: Tensor) -> list[Tensor]:
    zero = words == 0
    padded = pad(zero, (1, 1)).to(torch.int8)
    edges = padded.diff()
    starts, ends = (edges == 1).nonzero()[:, 0], (edges == -1).nonzero()[:, 0]
    taken = (~zero).long()
    taken[starts] = 2
    places = taken.cumsum(0) - taken
    stream = words.new_zeros(int(taken.sum()))
    stream[places[~zero]] = words[~zero]
    stream[places[starts] + 1] = (ends - starts).to(words.dtype)
    return [stream]


def _words_of_runs(parts: Sequence[Tensor], count: int) -> Tensor:
    (stream,) = parts
    zero = stream == 0
    token = ~pad(zero, (1, 0))[:-1]
    lengths = torch.where(zero, pad(stream, (0, 1))[1:], 1)
    return torch.repeat_interleave(stream[token], lengths[token], output_size=count)


def _rows_of(words: Tensor) -> list[Tensor]:
    rows = pad(words, (0, -words.numel() % COLUMNS)).view(-1, COLUMNS)
    literal = rows != 0
    pointers = pad(literal.sum(1).cumsum(0), (1, 0)).to(torch.int32)
    columns = literal.nonzero()[:, 1].to(torch.uint8)
    return [pointers, pad(columns, (0, -columns.numel() % words.itemsize)), rows[literal]]


def _words_of_rows(parts: Sequence[Tensor], count: int) -> Tensor:
    pointers, columns, literals = parts
    rows = torch.arange(len(pointers) - 1, device=pointers.device)
    row = torch.repeat_interleave(rows, pointers.diff(), output_size=len(literals))
    words = literals.new_zeros(len(rows) * COLUMNS)
    words[row * COLUMNS + columns[: len(literals)]] = literals
    return words[:count]


#: The codecs of which there is no kernel.
CODERS: dict[str, Coder] = {"rl": (_runs_of, _words_of_runs), "csr": (_rows_of, _words_of_rows)}


def card_rows(
    density: float, bench: KernelBench, left_out: Callable[[str], object]
) -> Iterator[dict[str, Any]]:
    """Rows of the codecs on a GPU; zero-value compression is the kernel, LZ4 nvCOMP's, or ``left_out`` gets a sentence."""
    require_cuda()
    words = torch.from_numpy(drawn(bench.size // 4, density, bench.seed).view("i4")).cuda()
    timings = {"zv": own(words, Format(), bench.rounds)}
    timings |= {name: _timed(name, words, bench.rounds) for name in CODERS}
    timings |= dict(zip(("lz4",), peers(words, bench.rounds, left_out, ["LZ4"]), strict=False))
    ways = [Way("raw", words.nbytes, 0.0, 0.0, *_copies(words.nbytes, bench.rounds))]
    for name, each in timings.items():
        there, back = median(each.compress), median(each.decompress)
        ways.append(Way(name, each.stream, there, back, *_copies(each.stream, bench.rounds)))
    for row in rows_of(torch.cuda.get_device_name(), density, words.nbytes, ways):
        yield {**row, "tools": where(True)["tools"]}


def _timed(name: str, words: Tensor, rounds: int) -> Timing:
    there, back = CODERS[name]
    stream = there(words)
    if not torch.equal(back(stream, len(words)), words):
        raise WrongRoundTrip(f"{name} did not give back what it was given")
    compressing = seconds_of(lambda: there(words), rounds)
    size = sum(part.nbytes for part in stream)
    return Timing(name, size, compressing, seconds_of(lambda: back(stream, len(words)), rounds))


def _copies(size: int, rounds: int) -> tuple[float, float]:
    """The seconds of so many bytes to pinned memory and back."""
    card = torch.empty(size, dtype=torch.uint8, device="cuda")
    host = torch.empty(size, dtype=torch.uint8, pin_memory=True)
    out = seconds_of(lambda: host.copy_(card, non_blocking=True), rounds)
    return median(out), median(seconds_of(lambda: card.copy_(host, non_blocking=True), rounds))
