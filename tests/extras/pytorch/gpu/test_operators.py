"""Decompressing without waiting, and the operators of PyTorch, which are traced with fake tensors."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.extras.pytorch.interpreted import Waits, torch

# isort: split
import cdma
from cdma import gpu
from cdma.gpu import operators

FORMATS = [cdma.Format(), cdma.Format(16), cdma.Format.preset("bf16")]


def numbers(count: int = 3000) -> torch.Tensor:
    torch.manual_seed(0)
    return torch.relu(torch.randn(count))


@pytest.mark.parametrize("format", FORMATS, ids=["zvc32", "zvc16", "bf16"])
@pytest.mark.parametrize("crc", [False, True])
@pytest.mark.parametrize("count", [3000, 1, 0])
def test_nothing_waits_and_the_verdict_is_on_the_gpu(format, crc, count):
    tensor = numbers(count)
    packed = gpu.compress(tensor, format, crc=crc)
    with Waits() as waits:
        words, verdict = gpu.decompress(packed, wait=False)
    assert waits.count == 0
    assert (verdict.dtype, verdict.tolist()) == (torch.int32, [0])
    assert torch.equal(words.view(torch.float32), tensor)
    out = torch.empty(count, dtype=torch.float32)
    assert gpu.decompress(packed, out=out, index=False, wait=False)[1].tolist() == [0]
    assert torch.equal(out, tensor)


def test_the_verdict_says_what_is_wrong():
    packed = gpu.compress(numbers(), cdma.Format(), crc=True)
    damaged = packed.data.clone()
    damaged[: 4 * 8] ^= 0x5A
    empty = gpu.compress(numbers(0), cdma.Format())
    for wrong in (
        replace(packed, data=damaged),
        replace(packed, length=packed.length + 1),
        replace(packed, length=packed.length - 4),
        replace(packed, crc=packed.crc ^ 1),
        replace(packed, index=packed.index + 1),
        replace(empty, data=damaged, length=packed.length),
    ):
        assert gpu.decompress(wrong, wait=False)[1].tolist() == [1]


@pytest.mark.parametrize("format", FORMATS, ids=["zvc32", "zvc16", "bf16"])
def test_operators_are_what_pytorch_asks_of_one(format):
    text, tensor = operators.text_of(format), numbers(300)
    count = tensor.numel() * 32 // format.word_bits
    stream = cdma.compress(tensor.numpy(), format)
    # Of more space the rest is what it was, which no two runs have alike.
    made = torch.ops.cdma.compress(tensor, text, len(stream))
    torch.library.opcheck(torch.ops.cdma.compress.default, (tensor, text, len(stream)))
    torch.library.opcheck(torch.ops.cdma.decompress.default, (*made, count, text))
    assert made[0].numpy().tobytes() == stream
    assert int(made[1]) == len(stream)


def test_a_graph_is_traced_whole():
    text = operators.text_of(cdma.Format())

    def there_and_back(tensor):
        data, length, index = torch.ops.cdma.compress(tensor * 2, text, 20_000)
        words, verdict = torch.ops.cdma.decompress(data, length, index, tensor.numel(), text)
        return words.view(torch.float32) + 1, verdict

    compiled = torch.compile(there_and_back, backend="aot_eager", fullgraph=True)
    found, verdict = compiled(tensor := numbers())
    assert torch.equal(found, tensor * 2 + 1)
    assert verdict.tolist() == [0]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_a_cuda_graph_captures_both():
    text, tensor = operators.text_of(cdma.Format()), numbers().cuda()

    def there_and_back():
        made = torch.ops.cdma.compress(tensor, text, 20_000)
        return torch.ops.cdma.decompress(*made, tensor.numel(), text)

    there_and_back()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        words, verdict = there_and_back()
    tensor.copy_(numbers().flip(0))
    graph.replay()
    assert torch.equal(words.view(torch.float32), tensor)
    assert verdict.tolist() == [0]
