"""Many tensors in one launch: each has the stream that it has by itself, and comes back. Where a block begins, if
several warps have the same lanes: each loads by itself, so they see different moments.
"""

from __future__ import annotations

import operator
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from tests.extras.pytorch.interpreted import Waits, torch

# isort: split
import cdma
from cdma.gpu import decoder as decompress
from cdma.gpu import encoder
from cdma.gpu.encoder import FLOCK, compress
from cdma.gpu.many import compress_many, decompress_many
from cdma.sim.codec import model
from cdma.sim.codec.words import word_dtype

_ZVC = cdma.Format()


def some(format, sizes, seed=1):
    """Arrays of so many words, of which some are zero."""
    rng = np.random.default_rng(seed)
    made = [rng.integers(0, 1 << format.word_bits, size).astype(word_dtype(format)) for size in sizes]
    for words in made:
        words[rng.random(len(words)) < 0.5] = 0
    return made


@pytest.mark.parametrize("name", ["zvc32", "bf16"])
def test_each_has_the_stream_of_one_by_itself(name, monkeypatch):
    monkeypatch.setattr(decompress, "by_model", lambda *_: pytest.fail("the kernels refuse a good stream"))
    format = cdma.Format.preset(name)
    arrays = some(format, [0, 5, 16384 // (format.word_bits // 8), 1, 5000, 0])
    packed = compress_many([torch.from_numpy(each) for each in arrays], format)
    for one, words in zip(packed, arrays, strict=True):
        alone = compress(torch.from_numpy(words), format)
        assert one.stream.numpy().tobytes() == model.compress(words, format)
        assert torch.equal(one.index, alone.index)
    monkeypatch.undo()
    for back, words in zip(decompress_many(packed), arrays, strict=True):
        assert np.array_equal(back.numpy(), words)


def test_flocks_of_blocks_are_of_a_tensor_each(monkeypatch):
    """Tensors of as many blocks as a flock has, one more, and one less, behind others that move their begin."""
    from cdma.gpu import encoder
    from cdma.gpu import encoder as single

    monkeypatch.setattr(encoder, "_FLOCK", type(encoder._FLOCK)(2))
    monkeypatch.setattr(single, "FLOCK", 2)
    format = cdma.Format(window=64)
    arrays = some(format, [4096 * blocks - 10 for blocks in (1, 2, 3, 1)])
    made, full = [], torch.full
    monkeypatch.setattr(torch, "full", lambda *how, **more: made.append(full(*how, **more)) or made[-1])
    packed = compress_many([torch.from_numpy(each) for each in arrays], format)
    for one, words in zip(packed, arrays, strict=True):
        assert one.stream.numpy().tobytes() == model.compress(words, format)
    # Of seven blocks two flocks are full. No other tensor has said what they take.
    assert [int(state) >= 0 for state in made[-1][1:5]].count(True) == 2


def test_tensors_of_several_types_and_strides():
    tensors = [torch.arange(240.0).reshape(8, 30)[::2, ::3], torch.arange(9), torch.tensor(2.5)]
    packed = compress_many(tensors, _ZVC)
    assert [one.stream.numpy().tobytes() for one in packed] == [
        model.compress(each.numpy(), _ZVC) for each in tensors
    ]


def test_space_that_the_caller_gives_and_what_waits():
    arrays = some(_ZVC, [40, 300, 7])
    tensors = [torch.from_numpy(each) for each in arrays]
    with Waits() as seen:
        packed = compress_many(tensors, _ZVC, capacities=[500, 64, 33])
    assert seen.count == 0
    assert [one.data.numel() for one in packed] == [500, 64, 33]
    assert [int(one.length) for one in packed] == [len(model.compress(each, _ZVC)) for each in arrays]
    assert packed[0].stream.numpy().tobytes() == model.compress(arrays[0], _ZVC)
    # The second has no room, and the others are as if it had.
    with pytest.raises(cdma.ParameterError, match="there was space for 64"):
        decompress_many(packed)
    assert [each.tolist() for each in decompress_many([packed[0], packed[2]])] == [
        arrays[0].tolist(),
        arrays[2].tolist(),
    ]


def test_one_that_is_not_whole_has_the_verdict_of_the_model():
    packed = compress_many([torch.from_numpy(each) for each in some(_ZVC, [40, 50])], _ZVC)
    damaged = packed[1].data.clone()
    damaged[0] ^= 1
    with pytest.raises(cdma.CorruptStream) as raised:
        decompress_many([packed[0], replace(packed[1], data=damaged)])
    with pytest.raises(cdma.CorruptStream) as by_model:
        model.decompress(damaged.numpy().tobytes(), 50, _ZVC)
    assert str(raised.value) == str(by_model.value)
    # A wrong index costs time and nothing else.
    back = decompress_many([packed[0], replace(packed[1], index=packed[1].index + 1)])
    assert [len(each) for each in back] == [40, 50]


def test_the_checksum_of_each_is_compared():
    one = compress(torch.arange(100, dtype=torch.int32), _ZVC, crc=True)
    assert decompress_many([one])[0].tolist() == [*range(100)]
    with pytest.raises(decompress.WrongChecksum):
        decompress_many([one, replace(one, crc=one.crc ^ 1)])


def test_invalid_arguments_are_refused():
    packed = compress_many([torch.zeros(5)], _ZVC)
    with pytest.raises(cdma.ParameterError, match="there are 1 capacities for 2 tensors"):
        compress_many([torch.zeros(5)] * 2, _ZVC, capacities=[40])
    with pytest.raises(cdma.ParameterError, match="capacity is -1"):
        compress_many([torch.zeros(5)], _ZVC, capacities=[-1])
    with pytest.raises(cdma.ParameterError, match="one tensor is on cpu and another on meta"):
        compress_many([torch.zeros(5), torch.zeros(5, device="meta")], _ZVC)
    with pytest.raises(cdma.ParameterError, match="all must have the same"):
        decompress_many([*packed, *compress_many([torch.zeros(5)], cdma.Format(window=64))])
    with pytest.raises(cdma.ParameterError, match="the index is no contiguous tensor"):
        decompress_many([replace(packed[0], words=6000)])
    assert compress_many([], _ZVC) == decompress_many([]) == []


def test_the_bench_compares_the_same_streams(monkeypatch):
    from cdma.gpu import measure

    monkeypatch.setattr(measure, "seconds_of", lambda work, rounds: [work() is None] * rounds)
    tensors = torch.from_numpy(some(_ZVC, [96])[0]).chunk(3)
    alone, together = measure._several(tensors, _ZVC, 2)
    assert alone.stream == together.stream == sum(len(model.compress(each.numpy(), _ZVC)) for each in tensors)
    assert (alone.codec, together.codec) == ("cDMA, a launch for each", "cDMA, a launch for all")


#: Where the flocks lie in memory; the blocks lie at 0.
FLOCKS_AT = 1 << 13


class Seen:
    """A tensor, as each of two warps has it."""

    def __init__(self, *each):
        self.each = each

    def to(self, kind):
        return self

    def __bool__(self):
        first, second = self.each
        assert first == second
        return bool(first)


def _by_warp(operation):
    def apply(self, other):
        others = other.each if isinstance(other, Seen) else (other, other)
        return Seen(*map(operation, self.each, others))

    return apply


for name in ("add", "sub", "mul", "and_", "rshift", "lt", "le", "ge", "eq", "ne"):
    setattr(Seen, f"__{name.strip('_')}__", _by_warp(getattr(operator, name)))
Seen.__radd__ = Seen.__add__
Seen.__rsub__ = _by_warp(lambda mine, other: other - mine)


class Card:
    """Memory in which other programs say what they know while two warps read it."""

    def __init__(self, rng, takes):
        self.rng, self.takes = rng, takes
        flocks = len(takes) // FLOCK
        whole = takes[: flocks * FLOCK].reshape(flocks, FLOCK).sum(axis=1)
        self.memory = np.full(FLOCKS_AT + flocks + 1, -1)
        # What each place will say at first, and then for ever.
        self.places = np.concatenate([np.arange(len(takes)), FLOCKS_AT + np.arange(flocks)])
        self.first = np.concatenate([takes, 2 * whole])
        self.last = np.concatenate([takes, 2 * whole.cumsum() + 1])

    def _goes_on(self):
        known = self.memory[self.places] >= 0
        going = self.rng.random(len(known)) < 0.3
        self.memory[self.places[going]] = np.where(known, self.last, self.first)[going]

    def load(self, pointer, mask, other, volatile):
        found = []
        for place, inside in zip(pointer.each, mask.each, strict=True):
            self._goes_on()
            found.append(np.where(inside, self.memory[np.where(inside, place, 0)], other))
        return Seen(*found)

    def one_of(self, reduce):
        """Warps with the same lanes write the same place of shared memory, and all read what is there."""

        def reduced(seen, axis):
            value = reduce(seen.each[self.rng.integers(2)])
            return Seen(value, value)

        return reduced

    def language(self):
        return SimpleNamespace(
            int64=None,
            arange=lambda begin, end: Seen(*[np.arange(begin, end)] * 2),
            where=lambda *these: Seen(
                *(
                    np.where(*(one.each[warp] if isinstance(one, Seen) else one for one in these))
                    for warp in (0, 1)
                )
            ),
            min=self.one_of(np.min),
            sum=self.one_of(np.sum),
            load=self.load,
            atomic_xchg=lambda *_, **__: None,
        )


@pytest.mark.parametrize("block", [FLOCK - 1, 3 * FLOCK, 5 * FLOCK + 7, 70 * FLOCK - 1])
def test_what_is_added_up_is_what_was_decided(block, monkeypatch):
    rng = np.random.default_rng(block)
    for name, value in vars(encoder).copy().items():
        if name.startswith("_") and hasattr(value, "value"):
            monkeypatch.setattr(encoder, name, value.value)
        elif name in ("_begin_of", "_taken_before"):
            monkeypatch.setattr(encoder, name, value.fn)
    for _ in range(100):
        takes = rng.integers(1, 9217, block + 1)
        monkeypatch.setattr(encoder, "tl", Card(rng, takes[:-1]).language())
        begin = encoder._begin_of(0, FLOCKS_AT, block, takes[-1])
        assert (begin == takes[:-1].sum()).each == (True, True)
