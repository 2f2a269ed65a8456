"""The recorded activations and ratios, and what they say of codecs."""

import json
import math

import pytest

from cdma.base.toml_table import TableError
from cdma.gpu.peers.codecs import available
from cdma.study.compare.comparison import compare, summarise
from cdma.study.system.density_table import load_densities
from cdma.study.training.ratios import load_ratios
from tests.support.paths import DATA
from tests.support.samples import load_samples


@pytest.fixture
def table():
    return load_densities()


@pytest.fixture
def rows():
    return load_ratios()


class TestRecords:
    def test_every_network_from_untrained_to_trained(self, table):
        assert set(table.networks) == {"alexnet", "vgg", "squeezenet", "resnet"}
        for layers in table.networks.values():
            for layer in layers:
                assert (layer.progress[0], layer.progress[-1]) == (0, 1)
                assert len(layer.progress) >= 20
                assert layer.shape

        record = json.loads((DATA / "densities.json").read_text(encoding="utf-8"))
        assert all(network["accuracy"] > 0.9 for network in record["networks"].values())
        assert (record["schedule"]["seed"], record["source"]) == (1, "cdma study characterise --train")

    def test_ratios_agree_with_densities_after_training(self, table, rows):
        for network, layers in table.networks.items():
            for layer in layers:
                row = next(
                    row
                    for row in rows
                    if (row.network, row.layer, row.number_type, row.layout)
                    == (network, layer.name, "float32", "NCHW")
                )
                assert row.density == pytest.approx(layer.density[-1], rel=1e-4)
                assert layer.fraction["zv"] == pytest.approx(1 / 32 + layer.density, rel=1e-3)
                assert row.ratio["rl"] == pytest.approx(1 / layer.fraction["rl"][-1], rel=1e-4)
                assert row.words == 32 * math.prod(layer.shape)

    def test_a_sample_is_the_recorded_layer(self, rows):
        # All 32 images of this layer are in the samples: every number on it can be computed again.
        tensor = load_samples()["vgg.head.relu0"]
        assert tensor.shape[0] == 32
        recorded = {
            (row.number_type, row.layout): row
            for row in rows
            if (row.network, row.layer) == ("vgg", "head.relu0")
        }
        names = [name for name in available() if name not in ("zl", "lz4")]
        computed = list(compare(tensor, network="vgg", layer="head.relu0", kind="fc", names=names))
        assert len(computed) == len(recorded) == 15
        for row in computed:
            other = recorded[row.number_type, row.layout]
            assert row.ratio == {name: pytest.approx(other.ratio[name], rel=1e-4) for name in names}
            assert row.bound == {name: pytest.approx(value, rel=1e-4) for name, value in other.bound.items()}

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda record: record.update(codecs="zv"), "codecs = 'zv'; it must be a list of names"),
            (lambda record: record["rows"].__setitem__(0, [1]), r"row 1 is \[1\]; it must be a list of 18"),
            (lambda record: record["rows"][1].__setitem__(6, 2), "row 2 has density = 2"),
            (lambda record: record["rows"][1].__setitem__(7, 0), "row 2 has zv = 0"),
        ],
    )
    def test_damaged_ratios_are_refused(self, tmp_path, change, message):
        record = json.loads((DATA / "ratios.json").read_text(encoding="utf-8"))
        change(record)
        path = tmp_path / "ratios.json"
        path.write_text(json.dumps(record), encoding="utf-8")
        with pytest.raises(TableError, match=message):
            load_ratios(path)


class TestCodecsOnActivations:
    """What the comparison says, on the records."""

    @pytest.fixture
    def average(self, rows):
        return {(one.number_type, one.layout): one.average for one in summarise(rows)}

    def test_zero_value_compression_does_not_depend_on_layout_and_beats_run_lengths_of_floats(self, average):
        for number_type in ("float32", "float16", "bfloat16", "int8"):
            nchw, nhwc, chwn = (average[number_type, layout] for layout in ("NCHW", "NHWC", "CHWN"))
            assert nchw["zv"] == pytest.approx(nhwc["zv"], rel=1e-3) == pytest.approx(chwn["zv"], rel=1e-3)
            assert nchw["rl"] > 1.1 * chwn["rl"] > 1.2 * nhwc["rl"]
            assert nchw["zv"] > nchw["rl"] or number_type == "int8"

    def test_a_zero_point_needs_a_learnt_table(self, average):
        assert average["int8-affine", "NCHW"]["zv"] < 1
        assert average["int8-affine", "NCHW"]["fvc1"] == pytest.approx(
            average["int8", "NCHW"]["zv"], rel=0.02
        )

    def test_counted_codecs_stay_below_their_bounds(self, rows):
        for row in rows:
            assert row.ratio["fvc1"] <= row.bound["mask"] * 1.0001
            assert row.ratio["fvc4"] <= row.bound["table"] * 1.0001
