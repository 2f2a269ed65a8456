"""Streams of states, made on a GPU, for which Triton's interpreter stands: nothing waits once their length is known."""

from __future__ import annotations

from tests.extras.pytorch.interpreted import torch

# isort: split
from cdma.hdl.spec.format import Format
from cdma.torch.streaming.codecs import CardCodec, Part, chosen
from tests.extras.pytorch.waits import Waits


def test_a_stream_whose_length_is_known_waits_for_nothing():
    codec, flat = CardCodec(torch.device("cpu")), torch.randn(9000)
    flat[::3] = 0
    found = chosen(codec, flat, Format())
    assert found.format == Format()
    memory = [torch.zeros(size, dtype=torch.uint8) for size in (found.nbytes, found.beside)]
    part, back = Part(9000, found.format, *memory), torch.empty(36000, dtype=torch.uint8)
    with Waits() as waits:
        codec.pack(flat, part)
        codec.expand(part, back)
    assert waits.count == 0
    assert torch.equal(back.view(torch.float32), flat)
    codec.check(part)
    assert codec.verdict().tolist() == [0]
