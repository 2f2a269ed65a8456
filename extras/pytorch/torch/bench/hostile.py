"""Hostile streams on a GPU: whatever bytes, index and length a decoder gets, its verdict is that of the golden model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
import triton
from torch import Tensor

from cdma.base.errors import ParameterError
from cdma.gpu.decoder import decompress
from cdma.gpu.encoder import compress
from cdma.gpu.layout import INDEX_COLUMNS, Packed, block_count
from cdma.gpu.measure import require_cuda
from cdma.hdl.spec.format import PRESETS, Format
from cdma.sim.codec import model
from cdma.sim.codec.model import CorruptStream
from cdma.sim.codec.stimuli import SHAPES, damaged, draw, draw_words

#: Streams of one format, for which kernels are compiled.
_OF_A_FORMAT = 25
#: Windows of a packet: few, or on a GPU, which is quick, at times those of several blocks.
_FEW, _MANY = 6, 600


def hostile(streams: int, seed: int, advance: Callable[[], object]) -> dict[str, Any]:
    """A row of so many streams, drawn by the ``seed``: how many verdicts are those of the golden model.

    Each is made on the GPU, too, in space that may be too small. In Triton's interpreter the GPU is the CPU.
    """
    device = torch.device("cpu")
    if not triton.knobs.runtime.interpret:
        require_cuda()
        device = torch.device("cuda")
    rng, verdicts, differing = np.random.default_rng(seed), Counter[str](), []
    for number in range(streams):
        group, within = divmod(number, _OF_A_FORMAT)
        if not within:
            format = _format(rng, group)
        windows = _MANY if device.type == "cuda" and rng.random() < 0.3 else _FEW
        for what, expected, found in _case(rng, format, windows, device):
            verdicts[str(expected[0])] += 1
            if found != expected:
                differing.append(f"{what}: {found[:2]}, where {expected[:2]} is right")
        advance()
    return {
        "card": torch.cuda.get_device_name() if device.type == "cuda" else "Triton's interpreter",
        "seed": seed,
        "streams": streams,
        "verdicts": dict(sorted(verdicts.items())),
        "same": verdicts.total() - len(differing),
        "differing": differing,
    }


Verdict = tuple[object, ...]


def _format(rng: np.random.Generator, group: int) -> Format:
    """Presets and drawn shapes by turns."""
    if group % 2:
        return draw(rng, SHAPES[int(rng.integers(len(SHAPES)))])[0]
    return Format.preset([*PRESETS][group // 2 % len(PRESETS)])


def _case(
    rng: np.random.Generator, format: Format, windows: int, device: torch.device
) -> Iterator[tuple[str, Verdict, Verdict]]:
    """What was tried, with the verdict that is right and the GPU's: words there, and a hostile stream back."""
    words = draw_words(rng, format, windows)
    stream = model.compress(words, format)
    what = f"{format}, {len(words)} words"
    space = len(stream)
    if rng.random() < 0.3:
        space = int(rng.integers(0, 2 * len(stream) + 1))
    packed = compress(torch.from_numpy(words).to(device), format, capacity=space)
    fits = _short(len(stream), space) if space < len(stream) else ("whole", stream)
    yield f"{what} into {space} bytes", fits, _verdict(lambda: packed.stream)

    data, count = damaged(rng, stream), len(words)
    if rng.random() < 0.1:
        data = rng.bytes(int(rng.integers(0, 2 * len(stream) + 9)))
    if rng.random() < 0.2:
        count = int(rng.integers(0, 2 * count + 2))
    length = len(data)
    if rng.random() < 0.2:
        length = int(rng.choice([rng.integers(0, len(data) + 1), len(data) + rng.integers(1, 1 << 40), -1]))
    index = _index(rng, packed, count)
    if 0 <= length <= len(data):
        expected = _verdict(lambda: model.decompress(data[:length], count, format))
    else:
        expected = _short(length, len(data))
    found = _verdict(
        lambda: decompress(
            torch.from_numpy(np.frombuffer(data, np.uint8).copy()).to(device),
            count,
            format,
            index=index,
            length=torch.tensor(length, device=device),
        )
    )
    kind = "no index" if index is None else "an index"
    yield f"{what}, {length} bytes of {data.hex()} to {count} words with {kind}", expected, found


def _index(rng: np.random.Generator, packed: Packed, words: int) -> Tensor | None:
    """No index, one of random numbers, or that of a stream, whole or with a bit that is wrong."""
    rows = block_count(words, packed.format)
    if rng.random() < 0.3:
        return None
    if len(packed.index) != rows or rng.random() < 0.2:
        numbers = rng.integers(-(1 << 63), (1 << 63) - 1, (rows, INDEX_COLUMNS))
        return torch.from_numpy(numbers).to(packed.index.device)
    index = packed.index.clone()
    if rows and rng.random() < 0.5:
        octets = index.view(torch.uint8)
        octets[int(rng.integers(rows)), int(rng.integers(octets.shape[1]))] ^= 1 << int(rng.integers(8))
    return index


def _verdict(decode: Callable[[], Any]) -> Verdict:
    """What it makes, or what is wrong."""
    try:
        made = decode()
    except CorruptStream as error:
        return error.kind, error.word, str(error)
    except ParameterError as error:
        return "no space", str(error)
    return "whole", (made.cpu().numpy() if isinstance(made, Tensor) else made).tobytes()


def _short(length: int, space: int) -> Verdict:
    return "no space", f"the stream has {length} bytes; there was space for {space}"
