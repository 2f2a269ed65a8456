"""Whatever bytes, index and length a decoder on the GPU gets, it ends with the verdict of the golden model."""

from __future__ import annotations

import numpy as np
import pytest

from tests.extras.pytorch.interpreted import torch

# isort: split
import cdma
from cdma.gpu import chain
from cdma.gpu import decoder as decompress
from cdma.gpu.encoder import compress
from cdma.sim.codec import model
from cdma.torch.bench import hostile


@pytest.fixture(autouse=True)
def _small_segments(monkeypatch):
    monkeypatch.setattr(chain, "_SHARE", 1)
    monkeypatch.setattr(chain, "_FAN", 2)


def verdict(decode, data, words, format, **options):
    """The words, or what is wrong."""
    try:
        return decode(data, words, format, **options).tolist()
    except cdma.CorruptStream as error:
        return error.kind, error.word, str(error)


def as_tensor(data):
    return torch.frombuffer(bytearray(data), dtype=torch.uint8) if data else torch.empty(0, dtype=torch.uint8)


#: The streams that docs/format.md refuses, each with its format, its words and the kind of its error.
_ZVC = cdma.Format()
_PADDED = cdma.Format(8, align=4)
_FIELD = cdma.Format(16, window=8, code_bits=4, field_bits=8, rotate=1, zero=True, values=(127, 126))
REFUSED = [
    (_ZVC, 5, "15000000 07000000 09000000", "truncated"),
    (_ZVC, 4, "05000000 07000000 09000000 01000000", "trailing"),
    (_ZVC, 4, "05000000 07000000 09000000 01", "trailing"),
    (cdma.Format(16, code_bits=2, values=(0, 0x3C00)), 32, "0000080000000000", "code"),
    (_ZVC, 5, "20000000 07000000", "code"),
    (_PADDED, 2, "01000000 07000100", "padding"),
    (_PADDED, 2, "01000000 0700", "truncated"),
    (_FIELD, 2, "23000000 0080", "code"),
    (_FIELD, 2, "f2000000 0080", "truncated"),
    (_ZVC, 0, "00", "trailing"),
    (_ZVC, 1, "", "truncated"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("format", "words", "stream", "kind"), REFUSED)
def test_the_kernel_itself_refuses(format, words, stream, kind, monkeypatch):
    data = bytes.fromhex(stream)
    expected = verdict(model.decompress, data, words, format)
    assert expected[0] == kind
    assert verdict(decompress.decompress, as_tensor(data), words, format) == expected
    # Without the model the kernel alone must have said so.
    monkeypatch.setattr(decompress, "by_model", lambda *_: "refused")
    assert decompress.decompress(as_tensor(data), words, format) == "refused"


@pytest.mark.slow
def test_hostile_streams_of_every_kind_have_the_verdicts_of_the_model(monkeypatch):
    """Of ten formats: presets, and shapes that are drawn."""
    monkeypatch.setattr(hostile, "_OF_A_FORMAT", 5)
    row = hostile.hostile(50, 3, lambda: None)
    assert row["differing"] == []
    assert set(row["verdicts"]) == {"code", "no space", "padding", "trailing", "truncated", "whole"}
    assert row["same"] == 100


def test_a_verdict_that_differs_is_seen(monkeypatch):
    monkeypatch.setattr(decompress, "by_model", lambda *_: torch.zeros(1, dtype=torch.uint8))
    row = hostile.hostile(10, 1, lambda: None)
    assert row["differing"]
    assert row["same"] == 20 - len(row["differing"])


@pytest.mark.parametrize("length", [-1, 65])
def test_a_length_that_no_stream_has_there_is_refused(length):
    with pytest.raises(cdma.ParameterError, match=f"the stream has {length} bytes; there was space for 64"):
        decompress.decompress(torch.zeros(64, dtype=torch.uint8), 9, _ZVC, length=torch.tensor(length))


def test_a_good_stream_with_a_bad_index_comes_back(monkeypatch):
    words = np.arange(2200, dtype=np.uint32) % 7
    packed = compress(torch.from_numpy(words), _ZVC)
    monkeypatch.setattr(decompress, "by_model", lambda *_: pytest.fail("the kernels refuse a good stream"))
    monkeypatch.setattr(chain, "_SHARE", 16)
    for index in (packed.index.flip(0).contiguous(), packed.index + 1):
        back = decompress.decompress(packed.stream, len(words), _ZVC, index=index)
        assert np.array_equal(back.numpy(), words)


def test_bytes_behind_a_stream_are_untouched_and_unread():
    """The buffers of a GPU are often larger than what is in them."""
    words = np.arange(100, dtype=np.uint32) % 3
    stream = compress(torch.from_numpy(words), _ZVC).stream
    buffer = torch.full((stream.numel() + 64,), 255, dtype=torch.uint8)
    buffer[: stream.numel()] = stream
    back = torch.full((132,), 9, dtype=torch.uint32)
    length = torch.tensor(stream.numel())
    decompress.decompress(buffer, 100, _ZVC, length=length, out=back[16:116])
    assert back.tolist() == [9] * 16 + words.tolist() + [9] * 16


def test_a_stream_that_did_not_fit_is_not_there():
    words = torch.arange(100, dtype=torch.int32)
    out = torch.full((64,), 5, dtype=torch.uint8)
    packed = compress(words, _ZVC, out=out)
    assert out.tolist() == [5] * 64
    assert int(packed.length) == len(model.compress(words.numpy(), _ZVC))
    for use in (
        lambda: packed.stream,
        lambda: decompress.decompress(packed.data, 100, _ZVC, index=packed.index, length=packed.length),
    ):
        with pytest.raises(cdma.ParameterError, match="the stream has 412 bytes; there was space for 64"):
            use()


def test_words_with_another_crc():
    words = torch.arange(100, dtype=torch.int32)
    packed = compress(words, _ZVC, crc=True)
    for index in (packed.index, None):
        decompress.decompress(packed.data, 100, _ZVC, index=index, crc=packed.crc)
    with pytest.raises(decompress.WrongChecksum, match="the words have the CRC-32C 0x"):
        decompress.decompress(packed.data, 100, _ZVC, crc=int(packed.crc) ^ 1)
