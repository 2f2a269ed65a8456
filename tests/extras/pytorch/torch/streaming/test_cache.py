"""Keys and values in ``cdma.torch.cache``: those of a plain cache, bit for bit, and what comes and goes when."""

from __future__ import annotations

import pytest
import torch

from cdma.base.errors import ParameterError
from cdma.torch import cache

pytestmark = pytest.mark.usefixtures("one_thread")

LAYERS, FIRST, BLOCK = 3, 70, 32
#: Bytes of keys and values of a block of a layer.
BYTES = 2 * 2 * 4 * BLOCK * 64


class Plain:
    """What Hugging Face's cache does."""

    def __init__(self) -> None:
        self.layers = {}

    def update(self, keys, values, layer):
        if layer in self.layers:
            before = self.layers[layer]
            keys, values = torch.cat([before[0], keys], -2), torch.cat([before[1], values], -2)
        self.layers[layer] = keys, values
        return keys, values


def decoded(made, tokens: int = 40):
    """What each layer computes with, token after token; first come many."""
    source, found = torch.Generator().manual_seed(1), []
    for token in range(tokens):
        for layer in range(LAYERS):
            shape = (1, FIRST if token == 0 else 1, 4, 64)
            keys, values = (
                torch.randn(shape, generator=source).to(torch.bfloat16).transpose(1, 2) for _ in range(2)
            )
            found += [each.clone() for each in made.update(keys, values, layer)]
    return found


def are_equal(one, other):
    return len(one) == len(other) and all(
        torch.equal(a, b) and a.stride() == b.stride() for a, b in zip(one, other, strict=True)
    )


@pytest.mark.parametrize("raw", [False, True], ids=["compressed", "raw"])
@pytest.mark.parametrize("room", [0, 4, 8], ids=["none", "what comes", "some"])
def test_all_tokens_are_those_of_a_plain_cache(raw, room):
    held = cache(device_bytes=room * BYTES, ahead=1, block=BLOCK, raw=raw)
    assert held.get_seq_length() == 0
    assert are_equal(decoded(held), decoded(Plain()))
    report = held.report
    assert held.get_seq_length() == held.get_seq_length(2) == FIRST + 39
    assert report.raw == LAYERS * 2 * 2 * 4 * 64 * (FIRST + 39)
    assert report.cold > 0
    assert (report.ratio > 1.3) is not raw
    assert report.left == report.held
    assert (report.late > 100) is (room == 0)
    assert report.passes == 39
    if room:
        assert report.device <= room * BYTES


def test_what_has_room_stays():
    held = cache(device_bytes=1 << 30)
    assert are_equal(decoded(held, 3), decoded(Plain(), 3))
    assert (held.report.cold, held.report.fetches, held.report.left) == (0, 0, 0)


def test_keys_that_the_caller_writes_to_are_kept_as_they_were():
    held = cache(device_bytes=1 << 30)
    keys, values = torch.ones(1, 1, 2, 8), torch.ones(1, 1, 2, 8)
    held.update(keys, values, 0)[0].zero_()
    assert held.update(keys, values, 0)[0].sum() == 16


def test_what_cannot_be_is_refused():
    held = cache(device_bytes=0)
    keys = torch.ones(1, 1, 2, 8, requires_grad=True)
    with pytest.raises(ParameterError, match="a cache on the host is for inference"):
        held.update(keys, keys, 0)
    with pytest.raises(ParameterError, match="block is 0"):
        cache(device_bytes=0, block=0)
    held.update(keys.detach(), keys.detach(), 0)
    with pytest.raises(ParameterError, match="keys are on meta and values on cpu; the cache is on cpu alone"):
        held.update(keys.detach().to("meta"), keys.detach(), 0)
