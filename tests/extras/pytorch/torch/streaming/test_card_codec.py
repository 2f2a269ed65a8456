"""Streams of states, made on a GPU, for which Triton's interpreter stands: nothing waits once their length is known."""

from __future__ import annotations

from tests.extras.pytorch.interpreted import torch

# isort: split
from cdma.hdl.spec.format import Format
from cdma.torch.codec import Codec
from cdma.torch.streaming.units import bundled, fitted
from tests.extras.pytorch.waits import Waits


def test_a_stream_whose_length_is_known_waits_for_nothing():
    codec, flat = Codec(torch.device("cpu"), kernels=True), torch.randn(9000)
    flat[::3] = 0
    found = fitted(codec, flat, Format())
    assert found.format == Format()
    bundle = bundled([flat], [found], codec, exact=True)
    block, back = torch.zeros(bundle.held, dtype=torch.uint8), torch.empty(36000, dtype=torch.uint8)
    with Waits() as waits:
        (length,) = bundle.pack([flat], codec, block)
        bundle.expand(codec, block, back)
    assert waits.count == 0
    assert int(length) == found.length
    assert torch.equal(back.view(torch.float32), flat)
    bundle.check(codec, block)
    assert codec.verdict().tolist() == [0]
