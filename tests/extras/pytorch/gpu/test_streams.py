"""Streams of the GPU are those of the golden model, and come back, for every kind of format and tensor."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tests.extras.pytorch.interpreted import Stray, Waits, interpreter, torch

# isort: split
import cdma
from cdma.gpu import chain, checksum
from cdma.gpu import decoder as decompress
from cdma.gpu.checksum import crc_kernel
from cdma.gpu.decoder import unpack_kernel
from cdma.gpu.encoder import FLOCK, compress, count_kernel, pack_kernel, waiting
from cdma.gpu.layout import INDEX_COLUMNS, block_count
from cdma.gpu.plans import arguments
from cdma.gpu.tensors import analyse
from cdma.hdl.spec.format import PRESETS
from cdma.sim.codec import model
from cdma.sim.codec.container import crc32c
from cdma.sim.codec.stimuli import SHAPES as ALL_SHAPES
from cdma.sim.codec.stimuli import draw, draw_words
from cdma.sim.codec.words import word_dtype


def covering(shapes):
    """Some of the shapes, so that every two parameters have all of their values that go together."""

    def pairs(shape):
        return set(itertools.combinations(enumerate(shape), 2))

    missing = set().union(*map(pairs, shapes))
    while missing:
        yield (best := max(shapes, key=lambda shape: len(pairs(shape) & missing)))
        missing -= pairs(best)


#: Formats of users: bits of a word, window, bits of a code, bits of the field and alignment.
SHAPES = [*covering([shape for shape in ALL_SHAPES if shape[1] >= 32]), (16, 8, 4, 8, 1)]


@pytest.fixture(autouse=True)
def _without_the_model(monkeypatch):
    """A stream that is right must not need the model, which would hide a kernel that is wrong."""
    monkeypatch.setattr(decompress, "by_model", lambda *_: pytest.fail("the kernels refuse a good stream"))
    # Streams of a few windows have several segments, and more functions than one program composes.
    monkeypatch.setattr(chain, "_SHARE", 1)
    monkeypatch.setattr(chain, "_FAN", 2)


def there_and_back(format, words):
    """Compares the stream of words, and the words that come back with its index and without one."""
    expected = model.compress(words, format)
    packed = compress(torch.from_numpy(words), format)
    assert packed.stream.numpy().tobytes() == expected
    assert packed.data.numel() == len(expected)
    for index in (packed.index, None):
        back = decompress.decompress(packed.data, len(words), format, index=index)
        assert np.array_equal(back.numpy(), words)


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_kind_of_format(shape):
    rng = np.random.default_rng(sum(shape))
    format, words = draw(rng, shape)
    # The last window is partial, and there are others.
    while len(words) < format.window or not len(words) % format.window:
        words = draw_words(rng, format)
    there_and_back(format, words)


@pytest.mark.slow
@pytest.mark.parametrize("name", PRESETS)
def test_every_preset(name):
    format = cdma.Format.preset(name)
    there_and_back(format, draw_words(np.random.default_rng(5), format))


@pytest.mark.parametrize("name", ["zvc32", "bf16"])
def test_several_blocks(name):
    format = cdma.Format.preset(name)
    rng = np.random.default_rng(8)
    words = rng.integers(0, 1 << format.word_bits, 40_000 // (format.word_bits // 8) + 3)
    words[rng.random(len(words)) < 0.4] = 0
    words = words.astype(word_dtype(format))
    packed = compress(torch.from_numpy(words), format)
    assert packed.index.shape == (3, INDEX_COLUMNS)
    assert packed.stream.numpy().tobytes() == model.compress(words, format)
    back = decompress.decompress(packed.stream, len(words), format, index=packed.index)
    assert np.array_equal(back.numpy(), words)


def test_the_index_is_half_a_percent_of_the_raw_data():
    for name in PRESETS:
        format = cdma.Format.preset(name)
        words = (1 << 30) * 8 // format.word_bits
        assert block_count(words, format) * INDEX_COLUMNS * 8 <= 0.005 * (1 << 30)


@pytest.mark.parametrize(
    "tensor",
    [
        torch.arange(240, dtype=torch.float32).reshape(8, 30)[::2, ::3],
        torch.arange(200, dtype=torch.int64).reshape(10, 20).T,
        torch.arange(50, dtype=torch.float64)[1:].requires_grad_(),
        torch.complex(torch.arange(40.0), torch.ones(40)).conj(),
        torch.tensor(3.5),
    ],
    ids=["strided", "transposed", "with a gradient", "conjugated", "a scalar"],
)
def test_views_and_elements_of_several_words(tensor):
    format = cdma.Format()
    array = tensor.detach().resolve_conj().numpy()
    assert compress(tensor, format).stream.numpy().tobytes() == model.compress(array, format)


def test_types_that_numpy_lacks():
    tensor = torch.arange(-20, 20).to(torch.bfloat16)
    format = cdma.Format.preset("bf16")
    assert compress(tensor, format).stream.numpy().tobytes() == model.compress(tensor, format)


def test_a_stream_that_begins_within_a_word_and_one_with_gaps():
    words = np.arange(70, dtype=np.uint32)
    stream = compress(torch.from_numpy(words), cdma.Format()).stream
    for buffer in (torch.cat([stream[:1], stream])[1:], stream.repeat_interleave(2)[::2]):
        back = decompress.decompress(buffer, 70, cdma.Format())
        assert np.array_equal(back.numpy(), words)


def test_space_that_the_caller_gives():
    words, format = np.arange(50, dtype=np.uint32), cdma.Format()
    expected = model.compress(words, format)
    tensor = torch.from_numpy(words)
    roomy = compress(tensor, format, capacity=1000)
    assert roomy.data.numel() == 1000
    assert roomy.stream.numpy().tobytes() == expected
    out = torch.full((len(expected) + 40,), 7, dtype=torch.uint8)
    assert compress(tensor, format, out=out).stream.data_ptr() == out.data_ptr()
    assert bytes(out.tolist()) == expected + bytes([7] * 40)
    back = torch.zeros(60, dtype=torch.float32)
    got = decompress.decompress(roomy.data, 50, format, index=roomy.index, length=roomy.length, out=back)
    assert got.data_ptr() == back.data_ptr()
    assert np.array_equal(back.numpy().view("u4"), [*words, *[0] * 10])


def test_few_calls_wait_for_the_card():
    tensor, format = torch.arange(50, dtype=torch.int32), cdma.Format()
    for options, waits in ({"capacity": 1000}, 0), ({"capacity": 1000, "crc": True}, 0), ({}, 1):
        with Waits() as seen:
            packed = compress(tensor, format, **options)
        assert seen.count == waits
    with Waits() as seen:
        decompress.decompress(packed.data, 50, format, index=packed.index)
    assert seen.count == 1


@pytest.mark.parametrize("shape", SHAPES[:3], ids=str)
def test_counts_of_an_analysis(shape):
    format, words = draw(np.random.default_rng(3), shape)
    assert analyse(torch.from_numpy(words), format) == model.analyse(words, format)


@pytest.mark.parametrize("size", [0, 1, 66_001])
def test_the_crc_is_that_of_the_engine(size):
    data = np.random.default_rng(size).integers(0, 256, size, np.uint8)
    assert int(checksum.checksum(torch.from_numpy(data))) == crc32c(data.tobytes())


def test_a_stretch_that_many_others_follow():
    """Only lengths that nothing here could interpret have so many."""
    data = np.random.default_rng(2).integers(0, 256, 512 * 128, np.uint8)
    alone = crc32c(data.tobytes()) ^ checksum._times(0xFFFFFFFF, checksum._power(8 * len(data))) ^ 0xFFFFFFFF
    programs = 0x20304
    total = torch.zeros((), dtype=torch.int32)
    words = torch.from_numpy(data).view(torch.uint32)
    tables = checksum._tables(words.device)
    crc_kernel[(1,)](words, *tables, total, len(words) * programs, programs, WORD=4, ROW=128, ROWS=128)
    moved = checksum._times(alone, checksum._power(8 * len(data) * (programs - 1)))
    assert int(total) & 0xFFFFFFFF == moved


@pytest.mark.slow
def test_positions_above_two_to_the_31(monkeypatch):
    """The last program of a tensor of more words than 31 bits count, behind blocks of which every word is stored."""
    format = cdma.Format(8, window=64)
    device = torch.device("cpu")
    before = (1 << 31) // 16384 + 3
    words, blocks = before * 16384 + 100, before + 1
    # Memory that nobody writes to takes none; PyTorch's zeros are written.
    source = torch.from_numpy(np.zeros(words, np.uint8))
    source[-100:] = torch.arange(100)
    index, length = torch.zeros(blocks, INDEX_COLUMNS, dtype=torch.int64), torch.zeros((), dtype=torch.int64)
    tail = model.compress(source[-100:].numpy(), format)
    stream = torch.empty(before * 18432 + len(tail), dtype=torch.uint8)
    back, fault = torch.empty_like(source), torch.zeros(1, dtype=torch.int32)
    # All blocks but the last have begun, and the one before it has ended.
    waits = waiting(blocks, device)
    waits[0] = before - 1
    waits[before // FLOCK] = 2 * (before // FLOCK * FLOCK * 18432) + 1
    waits[1 - (-blocks // FLOCK) :] = 18432 << 32 | 18432
    builder = interpreter.InterpreterBuilder
    build = builder.create_get_program_id

    def of_many(handle, number):
        return type(handle)(handle.data * 0 + number, handle.dtype)

    monkeypatch.setattr(
        builder, "create_get_num_programs", lambda self, axis: of_many(build(self, axis), blocks)
    )
    pack_kernel[(1,)](
        source, index, waits, stream, length, words, len(stream), **arguments("pack", format, device)
    )
    assert int(length) == len(stream)
    assert stream[-len(tail) :].numpy().tobytes() == tail
    behind = torch.empty(-(-words // 64), dtype=torch.int16)
    monkeypatch.setattr(
        builder, "create_get_program_id", lambda self, axis: of_many(build(self, axis), before)
    )
    options = arguments("unpack", format, device)
    unpack_kernel[(1,)](stream, index, length, behind, back, fault, words, len(stream), **options)
    assert not int(fault)
    assert back[-100:].tolist() == list(range(100))


def test_an_address_outside_of_the_tensors_is_noticed():
    totals, words = torch.zeros(2, dtype=torch.int64), torch.zeros(10, dtype=torch.uint32)
    with pytest.raises(Exception, match="in no tensor of the kernel") as raised:
        count_kernel[(1,)](words, totals, 11, **arguments("count", cdma.Format(), torch.device("cpu")))
    assert Stray.__name__ in str(raised.value)
