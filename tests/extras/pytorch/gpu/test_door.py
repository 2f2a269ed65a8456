"""The public functions take tensors on a GPU, and refuse in one sentence what cannot be done there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.extras.pytorch.interpreted import torch

# isort: split
import cdma
from cdma import gpu
from cdma.base.errors import ToolError
from cdma.gpu import door, layout
from cdma.sim.codec import model
from cdma.sim.codec.fit import fit as fit_on_host

FORMAT = cdma.Format()


@pytest.fixture
def _on_card(monkeypatch):
    """Takes every tensor for one on a GPU; the interpreter has kernels for it."""
    monkeypatch.setattr(door, "takes", lambda array: isinstance(array, torch.Tensor))


def test_a_tensor_of_the_host_has_bytes():
    assert cdma.compress(torch.ones(3), FORMAT) == model.compress(np.ones(3, "f4"), FORMAT)


@pytest.mark.usefixtures("_on_card")
def test_a_tensor_on_a_card_has_a_tensor():
    tensor = torch.relu(torch.linspace(-1, 1, 70))
    stream = cdma.compress(tensor, FORMAT)
    assert stream.numpy().tobytes() == model.compress(tensor, FORMAT)
    assert torch.equal(cdma.decompress(stream, 70, FORMAT).view(torch.float32), tensor)
    assert cdma.analyse(tensor, FORMAT) == model.analyse(tensor, FORMAT)
    out = torch.zeros(FORMAT.bound_bytes(70), dtype=torch.uint8)
    assert cdma.compress(tensor, FORMAT, out=out).data_ptr() == out.data_ptr()
    with pytest.raises(cdma.ParameterError, match="out has 10 bytes; the stream of 70 words can have 292"):
        cdma.compress(tensor, FORMAT, out=out[:10])


@pytest.mark.usefixtures("_on_card")
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize(
    "format",
    [
        cdma.Format.preset("bf16"),
        cdma.Format(32, code_bits=3),
        cdma.Format(16, code_bits=2, field_bits=8, rotate=1),
    ],
    ids=["bf16", "fvc32", "no zero"],
)
def test_the_table_is_that_of_the_host(format, whole):
    words = np.random.default_rng(1).integers(0, 12, 1_100_000).astype(f"u{format.word_bits // 8}") << 6
    expected = fit_on_host(words, format, whole=whole)
    assert cdma.fit(torch.from_numpy(words), format, whole=whole) == expected


@pytest.mark.usefixtures("_on_card")
def test_a_table_of_no_words_stays():
    format = cdma.Format.preset("bf16")
    assert cdma.fit(torch.zeros(9, dtype=torch.bfloat16), format) == format


def test_the_import_needs_neither(monkeypatch):
    assert not door.takes(np.zeros(3))
    assert not door.takes(torch.zeros(3))
    assert door.takes(torch.zeros(3, device="meta"))


@pytest.mark.parametrize(
    ("use", "says"),
    [
        (
            lambda t, p: gpu.compress(t.to("meta")),
            "on a device of the type meta; there are kernels for cuda alone",
        ),
        (lambda t, p: gpu.compress(t.to_sparse()), "the tensor is sparse, nested or quantised"),
        (
            lambda t, p: gpu.compress(t.to(torch.int8)),
            "holds int8, 8 bits; that is not a whole number of words of 32",
        ),
        (lambda t, p: gpu.compress(t, cdma.Format(4)), "word_bits is 4"),
        (lambda t, p: gpu.compress(t, out=p.data, capacity=9), "out and capacity are both given"),
        (lambda t, p: gpu.compress(t, capacity=-1), "capacity is -1"),
        (lambda t, p: gpu.compress(t, out=p.data.to("meta")), "out is on meta and the tensor on cpu"),
        (lambda t, p: gpu.compress(t, out=torch.zeros(9)), "out must be a contiguous tensor of uint8"),
        (lambda t, p: gpu.compress(t, out=p.data[1:]), "out begins within a word"),
        (lambda t, p: gpu.compress(t, out=t.view(torch.uint8)), "out is a part of the tensor"),
        (lambda t, p: decode(p, index=p.index.to("meta")), "the index is on meta and the stream on cpu"),
        (lambda t, p: decode(p, index=p.index[:0]), r"no contiguous tensor of int64 with the shape \(1, 9\)"),
        (lambda t, p: decode(p, out=t[:9]), "out must be a contiguous tensor of at least 160 bytes"),
        (lambda t, p: decode(p, out=torch.zeros(40, device="meta")), "out is on meta and the stream on cpu"),
        (lambda t, p: decode(p, out=p.data[:160]), "out is a part of the stream"),
        (lambda t, p: cdma.decompress(t.to("meta"), 3), "on a device of the type meta"),
    ],
)
def test_refusals(use, says):
    tensor = torch.arange(40, dtype=torch.float32) + 1
    packed = gpu.compress(tensor)
    with pytest.raises(cdma.ParameterError, match=says):
        use(tensor, packed)


def decode(packed, **options):
    return door.kernels_in("decoder").decompress(packed.data, 40, FORMAT, **options)


def test_a_tensor_of_the_host_without_the_interpreter(monkeypatch):
    import triton

    monkeypatch.setattr(triton.knobs.runtime, "interpret", False)
    with pytest.raises(
        cdma.ParameterError, match="on the CPU; it must be on a GPU, or TRITON_INTERPRET must be 1"
    ):
        gpu.compress(torch.ones(3))


def test_a_triton_that_is_missing_or_too_old(monkeypatch):
    import triton

    monkeypatch.setattr(triton, "__version__", "3.1.0")
    with pytest.raises(
        ToolError, match=r"triton is 3.1.0; the codec on the GPU needs 3.6 or newer: pip install"
    ):
        gpu.compress(torch.ones(3))
    for package in ("torch", "triton"):

        def missing(name, *rest, package=package):
            if name == package:
                raise ImportError(name)

        monkeypatch.setattr(door, "import_module", missing)
        with pytest.raises(gpu.MissingTriton, match=f"needs the package {package}: pip install"):
            gpu.compress(torch.ones(3))


def test_a_card_that_is_too_old(monkeypatch):
    monkeypatch.setattr(layout, "_capability", lambda device: (7, 0))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "an old GPU")
    with pytest.raises(
        cdma.ParameterError, match="an old GPU has the architecture sm_70; the kernels need sm_75"
    ):
        layout.require_card(torch.device("cuda"))


#: Calls with what is no tensor, and what the error says of each.
NO_TENSORS = {
    "tensor": (lambda packed: gpu.compress(np.ones(3)), "the tensor is ndarray"),
    "stream": (lambda packed: gpu.decompress(packed.data), "packed is Tensor"),
    "index": (lambda packed: gpu.decompress(replace(packed, index=b"")), "the index is bytes"),
    "length": (lambda packed: gpu.decompress(replace(packed, length=160)), "the length is int"),
    "short length": (
        lambda packed: gpu.decompress(replace(packed, length=packed.length.int())),
        "the length must be one number of int64 on cpu",
    ),
    "space": (lambda packed: gpu.compress(torch.ones(3), out=bytearray(40)), "out is bytearray"),
    "words": (lambda packed: gpu.decompress(packed, out=np.empty(40, "u4")), "out is ndarray"),
    "generator": (lambda packed: gpu.compress_many(torch.ones(3) for _ in range(2)), "tensors is generator"),
    "one tensor": (lambda packed: gpu.compress_many(torch.ones(3)), "tensors is Tensor"),
    "one of many": (lambda packed: gpu.compress_many([torch.ones(3), 3]), "one of the tensors is int"),
    "one packed": (lambda packed: gpu.decompress_many(packed), "packed is Packed; it must be a list"),
    "many": (lambda packed: gpu.decompress_many([packed, packed.data]), "packed is Tensor"),
}


@pytest.mark.parametrize("call", NO_TENSORS)
def test_what_is_no_tensor_is_refused_by_its_name(call):
    make, said = NO_TENSORS[call]
    with pytest.raises(cdma.ParameterError, match=said):
        make(gpu.compress(torch.arange(40, dtype=torch.float32)))


@pytest.mark.parametrize("format", [FORMAT, cdma.Format(16), cdma.Format(8)])
def test_single_elements_and_none_come_back_as_their_type(format):
    for tensor in (torch.zeros(4)[::2][:1], torch.ones(4, 4)[::2, :1][:1], torch.zeros(0), torch.zeros(0, 3)):
        packed = gpu.compress(tensor, format)
        many = gpu.decompress_many(gpu.compress_many([tensor, torch.ones(5)], format))[0]
        for words in (gpu.decompress(packed), many, gpu.decompress(packed, out=torch.ones(1))):
            assert torch.equal(words.view(torch.float32).reshape(tensor.shape), tensor)


@pytest.mark.usefixtures("_on_card")
@pytest.mark.parametrize("format", ["zvc32", None, cdma.Format])
def test_what_is_no_format_is_refused_by_what_one_is(format):
    words = torch.zeros(4)
    for refused in (
        lambda: cdma.compress(words, format),
        lambda: cdma.compress(np.zeros(4), format),
        lambda: cdma.decompress(b"", 0, format),
        lambda: cdma.analyse(words, format),
        lambda: cdma.fit(np.zeros(4), format),
        lambda: gpu.compress(words, format),
        lambda: gpu.compress_many([words], format),
    ):
        with pytest.raises(cdma.ParameterError, match=r"format is .*; it must be a cdma\.Format, such as"):
            refused()
