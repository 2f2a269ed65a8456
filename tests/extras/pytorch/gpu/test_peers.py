"""The codecs of nvCOMP beside ours, with a module that stands for its package."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from tests.extras.pytorch.interpreted import torch

# isort: split
from cdma.gpu import measure


class _Encoded:
    def __init__(self, data):
        self.data, self.buffer_size = data, len(data) // 2


class _Codec:
    """Gives back what it was given; LZ4 fails, and Zstd is wrong."""

    made: list[tuple[str, str]]

    def __init__(self, algorithm, data_type=""):
        if algorithm == "LZ4":
            raise ValueError("unknown algorithm\nand more")
        self.made.append((algorithm, data_type))
        self.wrong = algorithm == "Zstd"

    def encode(self, source):
        return _Encoded(source)

    def decode(self, encoded):
        return encoded.data + self.wrong


@pytest.fixture
def _with_nvcomp(monkeypatch):
    module = ModuleType("nvidia.nvcomp")
    module.Codec, module.as_array = _Codec, lambda tensor: tensor
    _Codec.made = []
    monkeypatch.setitem(sys.modules, "nvidia", ModuleType("nvidia"))
    monkeypatch.setitem(sys.modules, "nvidia.nvcomp", module)
    monkeypatch.setattr(measure, "seconds_of", lambda work, rounds: [0.5] * rounds)


@pytest.mark.usefixtures("_with_nvcomp")
def test_what_fails_is_left_out_with_a_sentence():
    said = []
    rows = list(measure.peers(torch.arange(64, dtype=torch.int32), 3, said.append))
    assert [(each.codec, each.stream, each.compress) for each in rows] == [
        (f"nvCOMP {name}", 128, [0.5] * 3) for name in ("ANS", "Bitcomp", "Cascaded")
    ]
    assert said == [
        "nvCOMP's LZ4 is left out: unknown algorithm",
        "nvCOMP's Zstd is left out: it did not give back what it was given",
    ]


@pytest.mark.usefixtures("_with_nvcomp")
@pytest.mark.parametrize(("word", "named"), [("uint8", "|u1"), ("uint16", "<u2"), ("uint32", "<u4")])
def test_words_are_those_of_the_tensor(word, named):
    list(measure.peers(torch.zeros(64, dtype=getattr(torch, word)), 1, lambda said: None))
    assert _Codec.made == [("ANS", "<f2"), ("Bitcomp", named), ("Cascaded", named), ("Zstd", "")]


def test_without_the_package_one_sentence_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "nvidia.nvcomp", None)
    said = []
    assert not list(measure.peers(torch.zeros(64, dtype=torch.int32), 1, said.append))
    assert said == ["nvCOMP is left out: its package nvidia.nvcomp is not installed"]
