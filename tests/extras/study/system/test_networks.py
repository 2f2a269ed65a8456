"""The layer tables: published parameter counts, multiplications and shapes; nonsense is refused. Layers of transformers:
shapes, multiplications, what is kept, densities, number types.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from cdma.base.toml_table import Table, TableError
from cdma.study.system.feature_maps import FeatureMap, feature_maps
from cdma.study.system.networks import Network, load_network, network_names, read_network

#: Parameters and multiplications (10^9, one image) as published or as common implementations count them.
PUBLISHED = {
    "alexnet": (60_965_224, 0.72),
    "bert_base": (109_514_298, 60.6),
    "googlenet": (6_998_552, 1.58),
    "gpt2": (124_439_808, 145.8),
    "llama1b": (1_235_814_400, 2668),
    "mobilenet": (4_231_976, 0.57),
    "nin": (7_595_176, 1.10),
    "overfeat": (145_920_872, 2.80),
    "resnet50": (25_557_032, 3.86),
    "smollm2": (134_515_008, 347.9),
    "squeezenet": (1_248_424, 0.82),
    "vgg16": (138_357_544, 15.47),
    "vgg19": (143_667_240, 19.63),
}


@pytest.mark.parametrize("name", network_names())
def test_published_counts(name: str) -> None:
    network = load_network(name)
    parameters, macs = PUBLISHED[name]
    assert network.parameters == parameters
    assert network.macs == pytest.approx(macs * 1e9, rel=0.01)


#: As published, one layer behind each kind of shape: strides, ceilings, joins and averages.
SHAPES = {
    ("alexnet", "conv0"): (96, 55, 55),
    ("alexnet", "pool4"): (256, 6, 6),
    ("overfeat", "pool4"): (1024, 6, 6),
    ("nin", "pool3"): (1000, 1, 1),
    ("vgg16", "conv1/relu"): (64, 224, 224),
    ("squeezenet", "fire9"): (512, 13, 13),
    ("googlenet", "inception5b"): (1024, 7, 7),
    ("resnet50", "stage3/2/relu"): (2048, 7, 7),
}


def test_published_shapes() -> None:
    found = {(network, layer): load_network(network).layer(layer).shape for network, layer in SHAPES}
    assert found == SHAPES
    # ReLU layers as CSWAP counts them.
    for name, count in (("alexnet", 7), ("squeezenet", 26)):
        assert sum(layer.kind == "relu" for layer in load_network(name).layers) == count


def network(*layers: dict[str, object], **changes: object) -> Table:
    return Table(
        "mine.toml", {"name": "mine", "input": [3, 8, 8], "batch": 2, "layers": list(layers), **changes}
    )


CONV = {"name": "c", "kind": "conv", "filters": 4, "kernel": 3}


def test_rows_become_layers() -> None:
    result = read_network(
        network(
            {**CONV, "padding": 1, "batchnorm": True, "relu": True, "dropout": 0.25},
            {
                "name": "around",
                "kind": "conv",
                "from": "input",
                "filters": 4,
                "kernel": [1, 1],
                "bias": False,
            },
            {"name": "sum", "kind": "add", "from": ["c", "around"], "relu": True, "density": 0.5},
            {"name": "both", "kind": "concat", "from": ["sum", "c"]},
            {"name": "p", "kind": "pool", "kernel": 3, "stride": 2, "ceil": True},
        )
    )
    names = ["c", "c/batchnorm", "c/relu", "c/dropout", "around", "sum", "sum/relu", "both", "p"]
    assert [layer.name for layer in result.layers] == names
    assert result.layer("sum").inputs == ("c/dropout", "around")
    assert result.layer("c").parameters == 4 * 3 * 9
    assert result.layer("around").parameters == 4 * 3
    assert result.layer("sum/relu").density == 0.5
    assert result.layer("both").inputs == ("sum/relu", "c/dropout")
    assert result.layer("p").shape == (8, 4, 4)


def test_a_window_begins_within_the_image_or_its_first_margin() -> None:
    """As in Caffe: of 5 values with a margin of 1, windows begin at -1 and 2; at 5 is padding only."""
    rows = {"name": "p", "kind": "pool", "kernel": 1, "stride": 3, "padding": 1, "ceil": True}
    assert read_network(network(rows, input=[1, 5, 5])).layer("p").shape == (1, 2, 2)
    assert read_network(network({**rows, "ceil": False}, input=[1, 5, 5])).layer("p").shape == (1, 3, 3)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (network(), "has layers = []; it must be a list of at least one table"),
        (network(CONV, input=[3, 8]), "has input = [3, 8]; it must be a list of channels, height and width"),
        (network(CONV, colour="red"), "has the unknown key 'colour'; it may have batch"),
        (network({**CONV, "kind": "convolution"}), "has kind = 'convolution'; it must be one of conv, pool"),
        (network({**CONV, "kernel": 9}), "slides a kernel of 9 over 8 values with 0 of padding on each side"),
        (network({**CONV, "stride": 0}), "has stride = 0; it must be whole numbers, 1 or more"),
        (network({**CONV, "groups": 2}), "has groups = 2; it must divide 3 channels in and 4 filters"),
        (network({**CONV, "from": "d"}), "reads 'd', which no layer before it is called"),
        (network(CONV, CONV), "is called like an earlier layer; a name may occur once"),
        (network({**CONV, "dropout": 1.0}), "drops 1.0 of the values; it must be more than 0 and less"),
        (network(CONV, {"name": "s", "kind": "add", "from": ["c", "input"]}), "adds (4, 6, 6), (3, 8, 8)"),
        (network(CONV, {"name": "s", "kind": "concat", "from": ["c", "input"]}), "different height or width"),
        (network(CONV, {"name": "f", "kind": "fc", "units": 2, "from": ["c", "c"]}), "this kind reads one"),
    ],
)
def test_refused(table: Table, message: str) -> None:
    with pytest.raises(TableError) as caught:
        read_network(table)
    assert message in str(caught.value)
    assert str(caught.value).startswith("mine.toml")


def test_neither_name_nor_file(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="network is 'vgg'; it must be a TOML file or one of alexnet"):
        load_network("vgg")
    with pytest.raises(TableError, match=r"cannot read .*none\.toml: No such file or directory"):
        load_network(str(tmp_path / "none.toml"))


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


def test_heads_may_share_keys_and_values() -> None:
    few = [PARTS[0], *({**part, "units": 8} for part in PARTS[1:])]
    network = tokens(EMBEDDING, *few, ATTENTION)
    assert network.layer("a").shape == (32, 1, 16)
    for heads in (5, 3):
        with pytest.raises(TableError, match="heads"):
            tokens(EMBEDDING, *few, {**ATTENTION, "heads": heads})


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
