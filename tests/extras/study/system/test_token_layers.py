"""Layers of transformers: shapes, multiplications, what is kept, densities, number types."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cdma.base.errors import ParameterError
from cdma.base.toml_table import Table, TableError
from cdma.study.system.compression import Compression
from cdma.study.system.density_table import with_transformer
from cdma.study.system.feature_maps import FeatureMap, feature_maps
from cdma.study.system.machine import load_machine
from cdma.study.system.model import Model
from cdma.study.system.networks import Network, load_network, read_network
from cdma.study.system.roofline import backward, forward
from tests.extras.study.small_networks import BASE, QUICK, RECORDED

ALL = with_transformer(RECORDED)

EMBEDDING = {"name": "e", "kind": "embedding", "vocabulary": 100, "positions": 16, "width": 32}
PARTS = [{"name": name, "kind": "linear", "from": "e", "units": 32} for name in ("q", "k", "v")]
ATTENTION = {"name": "a", "kind": "attention", "from": ["q", "k", "v"], "heads": 4}


def tokens(*rows: dict[str, object], **changes: object) -> Network:
    """A transformer of those rows over 16 tokens."""
    table = {"name": "t", "input": [1, 1, 16], "batch": 2, "densities": "transformer", "layers": list(rows)}
    return read_network(Table("tokens", {**table, **changes}))


def attention(**changes: object) -> Network:
    return tokens(EMBEDDING, *PARTS, {**ATTENTION, **changes}, {"name": "o", "kind": "linear", "units": 32})


def kept(network: Network) -> dict[str, FeatureMap]:
    return {item.name: item for item in feature_maps(network) if item.kept}


def test_attention_keeps_squares_unless_it_is_fused() -> None:
    plain = attention(dropout=0.1)
    assert plain.layer("a/scores").shape == (4, 16, 16)
    assert plain.layer("a/scores").macs == plain.layer("a").macs == 16 * 16 * 32
    assert set(kept(plain)) == {"input", "e", "q", "k", "v", "a/softmax", "a/dropout", "a"} - {"input"}
    fused = attention(fused=True)
    assert set(kept(fused)) == {"e", "q", "k", "v", "a"}
    assert fused.layer("a").macs == 2 * 16 * 16 * 32
    assert attention(fused=True, causal=True).layer("a").macs == 16 * 16 * 32


def test_the_future_is_zero_after_a_causal_softmax() -> None:
    def density(network: Network, name: str) -> float:
        return Compression(network, ALL, "zv", ALL).density(kept(network)[name], 0.5)

    assert density(attention(causal=True), "a/softmax") == pytest.approx(17 / 32)
    assert density(attention(), "a/softmax") == 1
    assert density(attention(causal=True, dropout=0.1), "a/dropout") == pytest.approx(0.9 * 17 / 32)


def test_heads_may_share_keys_and_values() -> None:
    few = [PARTS[0], *({**part, "units": 8} for part in PARTS[1:])]
    network = tokens(EMBEDDING, *few, ATTENTION)
    assert network.layer("a").shape == (32, 1, 16)
    for heads in (5, 3):
        with pytest.raises(TableError, match="heads"):
            tokens(EMBEDDING, *few, {**ATTENTION, "heads": heads})


def test_codes_of_fields_as_recorded() -> None:
    network = attention(fused=True)
    layers = tuple(replace(layer, number_type="bf16") for layer in network.layers)
    half = replace(network, layers=layers, number_type="bf16")
    for name, kind in (("k", "keys"), ("v", "values"), ("e", "residual")):
        ratio = ALL.look_up("transformer", kind, 0.0, 0.5, quantity="fields")
        assert Compression(half, ALL, "fields", ALL).fraction(kept(half)[name], 0.5) == ratio
        # Of fp32 each word has two bytes more, and all are sent.
        assert Compression(network, ALL, "fields", ALL).fraction(kept(network)[name], 0.5) == (ratio + 1) / 2
        assert Compression(half, ALL, "zv", ALL).fraction(kept(half)[name], 0.5) == pytest.approx(1 / 16 + 1)
        assert 0.65 < ratio < 0.8
    # docs/study/formats.md measures 1.41 for dense activations: the line that ReLU layers lie on ends there.
    base, slope = ALL.line("fields")
    assert 1 / (base + slope) == pytest.approx(1.41, rel=0.05)
    whole = replace(network, number_type="int8")
    with pytest.raises(ParameterError, match="int8"):
        Compression(whole, ALL, "fields", ALL).fraction(feature_maps(whole)[0], 0.5)


def test_number_types_scale_bytes_and_arithmetic() -> None:
    single = attention()
    half = tokens(EMBEDDING, *PARTS, ATTENTION, type="bf16")
    assert half.bytes_of("q") == single.bytes_of("q") // 2
    mixed = tokens(EMBEDDING, *PARTS, {**ATTENTION, "type": "fp32"}, type="bf16")
    assert mixed.bytes_of("a/softmax") == 2 * half.bytes_of("a/softmax")
    gpu = load_machine("v100").gpu
    free = replace(BASE.compute, launch_us=0.0)
    slow = replace(gpu, half_flops=None, dram_bytes_per_s=1e18)
    fast = replace(slow, half_flops=125e12)
    layer = half.layer("q")
    times = [forward(half, layer, one, free).seconds for one in (slow, fast)]
    assert times[0] / times[1] == pytest.approx(125 / 15.7)
    # Going back, rows of the embedding are read, added to and written.
    moved = backward(single, single.layer("e"), gpu, free).dram_bytes
    assert moved == 3 * single.bytes_of("e") * single.batch


def test_repetitions() -> None:
    row = {"name": "b", "kind": "repeat", "times": 3}
    inner = [
        {"name": "x", "kind": "linear", "units": 32},
        {"name": "y", "kind": "add", "from": ["x", "before"]},
    ]
    network = tokens(EMBEDDING, {**row, "layers": inner})
    assert [layer.name for layer in network.layers[1:]] == ["b0/x", "b0/y", "b1/x", "b1/y", "b2/x", "b2/y"]
    assert network.layer("b1/y").inputs == ("b1/x", "b0/y")
    with pytest.raises(TableError, match="within another"):
        tokens(EMBEDDING, {**row, "layers": [{**row, "layers": inner}]})
    with pytest.raises(TableError, match="'before', which no layer"):
        tokens(EMBEDDING, {"name": "z", "kind": "linear", "from": "before", "units": 2})


@pytest.mark.parametrize(("name", "squares"), [("bert_base", 1.1), ("gpt2", 1.5), ("llama1b", 1.0)])
def test_zeros_buy_little_and_exponents_more(name: str, squares: float) -> None:
    """Zeros are what dropout and the causal softmax leave of squares; a fused attention keeps none."""
    model = Model(load_network(name), load_machine("a100"), QUICK, ALL, ALL)
    zeros, fields = (model.evaluate("cdma", algorithm) for algorithm in ("zv", "fields"))
    assert zeros.ratio < squares
    assert fields.ratio > max(1.3, zeros.ratio)
    assert fields.step_s < zeros.step_s
