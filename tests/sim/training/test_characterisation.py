"""The recorded activations, the observations on them, and what is printed and drawn of them."""

import json
import math
import re
from xml.etree import ElementTree

import numpy as np
import pytest

from cdma.app import main
from cdma.sim.compare.codecs import available, make
from cdma.sim.compare.comparison import compare, summarise
from cdma.sim.support.svg import Line, bar_chart, line_chart
from cdma.sim.support.toml_table import TableError
from cdma.sim.system.density_table import DensityTable, LayerRecord, load_densities
from cdma.sim.training.characterise import RECORDS, load_ratios, load_samples
from cdma.sim.training.figures import figures, over_training
from cdma.sim.training.observations import findings
from tests.support.paths import DATA, DOCS


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

    def test_the_networks_learnt_something(self):
        record = json.loads((DATA / "densities.json").read_text(encoding="utf-8"))
        assert all(network["accuracy"] > 0.9 for network in record["networks"].values())
        assert record["schedule"]["seed"] == 1
        assert record["source"] == "cdma characterise --train"

    def test_zero_value_ratios_follow_from_densities(self, table):
        for layers in table.networks.values():
            for layer in layers:
                expected = 1 / 32 + layer.density
                assert layer.fraction["zv"] == pytest.approx(expected, rel=1e-3)

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

    def test_samples_go_through_every_codec(self):
        for tensor in load_samples().values():
            words = tensor.reshape(-1).view(np.uint32)
            assert tensor.min() == 0
            for name in available():
                codec = make(name, 32, words)
                assert (codec.decompress(codec.compress(words), len(words)) == words).all()

    def test_records_are_small(self):
        assert sum((DATA / name).stat().st_size for name in RECORDS) < 300_000

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda record: record.update(codecs="zv"), "codecs = 'zv'; it must be a list of names"),
            (
                lambda record: record["rows"].__setitem__(0, [1]),
                r"row 1 is \[1\]; it must be a list of 18 values",
            ),
            (lambda record: record["rows"][1].__setitem__(6, 2), "row 2 has density = 2"),
            (lambda record: record["rows"][1].__setitem__(7, 0), "row 2 has zv = 0"),
            (lambda record: record["rows"][1].__setitem__(5, "x"), "row 2 has words = 'x'"),
        ],
    )
    def test_damaged_ratios_are_refused(self, tmp_path, change, message):
        record = json.loads((DATA / "ratios.json").read_text(encoding="utf-8"))
        change(record)
        path = tmp_path / "ratios.json"
        path.write_text(json.dumps(record), encoding="utf-8")
        with pytest.raises(TableError, match=message):
            load_ratios(path)


class TestObservations:
    """What the paper observed, and on which of the recorded networks it holds."""

    @pytest.fixture
    def holds(self, table):
        return {(finding.observation, finding.network): finding.holds for finding in findings(table)}

    @pytest.mark.parametrize("network", ["alexnet", "vgg", "squeezenet", "resnet"])
    def test_the_first_convolution_stays_near_one_half(self, holds, network):
        assert holds[1, network]

    @pytest.mark.parametrize("network", ["alexnet", "vgg", "squeezenet", "resnet"])
    def test_pooling_raises_density(self, holds, network):
        assert holds[2, network]

    @pytest.mark.parametrize(
        ("network", "expected"), [("alexnet", True), ("vgg", True), ("squeezenet", False), ("resnet", False)]
    )
    def test_density_falls_and_creeps_up(self, holds, network, expected):
        assert holds[3, network] is expected

    @pytest.mark.parametrize(
        ("network", "expected"), [("alexnet", True), ("vgg", True), ("squeezenet", False), ("resnet", False)]
    )
    def test_later_layers_are_sparser(self, holds, network, expected):
        assert holds[4, network] is expected

    @staticmethod
    def made(*densities, kinds="rrrr", shapes=None):
        """A table with one network of layers with the given densities."""
        progress = np.linspace(0, 1, len(densities[0]))
        layers = [
            LayerRecord(f"l{place}", {"r": "relu", "p": "pool"}[kind], progress, np.array(density), {}, shape)
            for place, (density, kind, shape) in enumerate(
                zip(densities, kinds, shapes or [(1,)] * len(densities), strict=False)
            )
        ]
        return {finding.observation: finding for finding in findings(DensityTable("test", {"n": layers}))}

    def test_first_convolution_can_fail(self):
        assert self.made([0.5, 0.41], [0.5, 0.5])[1].holds
        assert not self.made([0.5, 0.39], [0.5, 0.5])[1].holds

    def test_pooling_can_fail(self):
        assert self.made([0.5, 0.5], [0.6, 0.7], kinds="rp")[2].holds
        finding = self.made([0.5, 0.5], [0.6, 0.4], kinds="rp")[2]
        assert not finding.holds
        assert finding.evidence == "by -0.10 to +0.10; it rises in 50% of all looks"

    def test_pooling_of_layers_side_by_side(self):
        # The pooling's input is the two layers of 4 channels: mean density 0.5.
        result = self.made(
            [0.9] * 2, [0.7] * 2, [0.3] * 2, [0.6] * 2, kinds="rrrp", shapes=[(8,), (4,), (4,), (8,)]
        )
        assert result[2].evidence.startswith("by +0.10 to +0.10")

    def test_no_pooling_no_observation(self):
        assert 2 not in self.made([0.5, 0.5], [0.5, 0.5])

    def test_u_can_fail(self):
        assert self.made([0.5] * 3, [0.5, 0.3, 0.31])[3].holds
        assert not self.made([0.5] * 3, [0.5, 0.3, 0.3])[3].holds
        assert not self.made([0.5] * 3, [0.5, 0.48, 0.5])[3].holds

    def test_later_sparser_can_fail(self):
        assert self.made([0.5] * 2, [0.4] * 2, [0.3] * 2, [0.2] * 2)[4].holds
        assert not self.made([0.2] * 2, [0.3] * 2, [0.4] * 2, [0.5] * 2)[4].holds


class TestCodecsOnActivations:
    """What the comparison says, on the records."""

    @pytest.fixture
    def average(self, rows):
        return {(one.number_type, one.layout): one.average for one in summarise(rows)}

    def test_zero_value_compression_does_not_depend_on_layout_and_run_lengths_do(self, average):
        for number_type in ("float32", "float16", "bfloat16", "int8"):
            nchw, nhwc, chwn = (average[number_type, layout] for layout in ("NCHW", "NHWC", "CHWN"))
            assert nchw["zv"] == pytest.approx(nhwc["zv"], rel=1e-3)
            assert nchw["zv"] == pytest.approx(chwn["zv"], rel=1e-3)
            assert nchw["rl"] > 1.1 * chwn["rl"] > 1.2 * nhwc["rl"]

    def test_zero_value_compression_beats_run_lengths_of_floats_in_every_layout(self, average):
        for (number_type, _), by_codec in average.items():
            if number_type != "int8-affine" and number_type != "int8":
                assert by_codec["zv"] > by_codec["rl"]

    def test_a_zero_point_needs_a_learnt_table(self, average):
        assert average["int8-affine", "NCHW"]["zv"] < 1
        assert average["int8-affine", "NCHW"]["fvc1"] == pytest.approx(
            average["int8", "NCHW"]["zv"], rel=0.02
        )

    def test_counted_codecs_stay_below_their_bounds(self, rows):
        for row in rows:
            assert row.ratio["fvc1"] <= row.bound["mask"] * 1.0001
            assert row.ratio["fvc4"] <= row.bound["table"] * 1.0001

    def test_over_training(self, table):
        training = over_training(table)
        for network, layers in table.networks.items():
            assert training[network]["zv"].maximum == max(1 / layer.fraction["zv"].min() for layer in layers)
            assert 1 < training[network]["zv"].average < training[network]["zv"].maximum


class TestCommand:
    def test_tables(self, capsys):
        assert main(["characterise"]) == 0
        out = capsys.readouterr().out
        assert "Observations" in out
        assert "int8-affine" in out

    def test_json(self, capsys, rows):
        assert main(["characterise", "--json"]) == 0
        report = json.loads(capsys.readouterr().out)
        assert len(report["tensors"]) == len(rows)
        assert {entry["observation"] for entry in report["observations"]} == {1, 2, 3, 4}

    def test_the_document_has_the_tables_that_the_command_prints(self, capsys):
        assert main(["characterise", "--markdown"]) == 0
        document = (DOCS / "characterisation.md").read_text(encoding="utf-8")
        lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
        assert len(lines) > 70
        assert [line for line in lines if line not in document] == []

    def test_the_figures_are_those_that_the_command_draws(self, tmp_path, capsys):
        assert main(["characterise", "--figures", str(tmp_path)]) == 0
        drawn = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
        assert len(drawn) == 7
        for name, svg in drawn.items():
            assert (DOCS / "figures" / name).read_text(encoding="utf-8") == svg
            assert f"figures/{name}" in (DOCS / "characterisation.md").read_text(encoding="utf-8")

    def test_other_records(self, tmp_path, capsys):
        assert main(["characterise", "--records", str(tmp_path)]) == 2
        assert f"cannot read {tmp_path / 'densities.json'}" in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--epochs", "3"], "--epochs is given without --train, which it is for"),
            (["--networks", "vgg"], "--networks is given without --train, which it is for"),
            (
                ["--records", "x", "--train", "y"],
                "--records and --train are given; records are either read or made",
            ),
        ],
    )
    def test_refusals(self, options, message, capsys):
        assert main(["characterise", *options]) == 2
        assert message in capsys.readouterr().err


class TestCharts:
    def test_figures_are_well_formed(self, table, rows):
        for svg in figures(table, rows).values():
            root = ElementTree.fromstring(svg)
            assert root.tag.endswith("svg")

    def test_text_is_escaped(self):
        svg = bar_chart("a < b & c", ["<g>"], {"<n>": [1.0]}, y_label="<y>")
        assert "<g>" not in svg
        assert ElementTree.fromstring(svg) is not None

    def test_bars_are_as_high_as_their_values(self):
        svg = bar_chart("t", ["a", "b"], {"n": [10.0, 5.0]}, y_label="y")
        heights = [float(height) for height in re.findall(r'height="([\d.]+)" fill="#0072b2"><title>', svg)]
        assert heights[0] == pytest.approx(2 * heights[1], abs=0.2)

    def test_points_lie_where_their_values_are(self):
        svg = line_chart("t", [Line("n", [0, 1], [0, 1])], x_label="x", y_label="y")
        (points,) = re.findall(r'points="([^"]+)"', svg)
        (x0, y0), (x1, y1) = (map(float, point.split(",")) for point in points.split())
        assert x0 < x1
        assert y0 > y1

    def test_square_root_axis(self):
        lines = [Line("n", [0, 0.25, 1], [0, 0, 0])]
        svg = line_chart("t", lines, x_label="x", y_label="y", square_root=True)
        (points,) = re.findall(r'points="([^"]+)"', svg)
        x = [float(point.split(",")[0]) for point in points.split()]
        assert x[1] - x[0] == pytest.approx(x[2] - x[1], abs=0.2)

    def test_nothing_to_draw(self):
        for svg in (line_chart("t", [], x_label="x", y_label="y"), bar_chart("t", [], {}, y_label="y")):
            assert ElementTree.fromstring(svg) is not None
