"""Words and streams as they lie in memory."""

import numpy as np
import pytest

from cdma.sim.codec.packed import from_memory, to_memory


@pytest.mark.parametrize(
    ("bits", "words", "data"),
    [
        (4, [1, 2, 15], "21 0f"),
        (4, [1, 2, 15, 8], "21 8f"),
        (4, [], ""),
        (8, [1, 255], "01 ff"),
        (16, [0x1234], "34 12"),
        (32, [0x12345678], "78 56 34 12"),
    ],
)
def test_the_low_word_comes_first(bits, words, data):
    array = np.array(words, f"u{max(8, bits) // 8}")
    assert to_memory(array, bits) == bytes.fromhex(data)
    assert from_memory(bytes.fromhex(data), bits)[: len(words)].tolist() == words


def test_a_word_that_is_not_whole_is_ignored():
    assert from_memory(b"\1\2\3", 16).tolist() == [0x0201]
