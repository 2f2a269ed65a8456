"""Profiles of the user's tensors: formats, verdicts, units, files and reports."""

import json
import math
import re
import struct
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdma import ParameterError, compress
from cdma.app import main
from cdma.sim.profile.files import BadTensorFile, find_tensors
from cdma.sim.profile.link import Hidden, Settings, Transfer
from cdma.sim.profile.page import page
from cdma.sim.profile.report import Report
from cdma.sim.profile.tensor import NothingToProfile, profile
from cdma.sim.support.tensors import quantise


def tensor(density=0.25, size=4096, seed=1, dtype=np.float32):
    """Numbers of which exactly that part is not zero."""
    random = np.random.default_rng(seed)
    flat = np.zeros(size, dtype)
    places = random.permutation(size)[: round(density * size)]
    flat[places] = random.standard_normal(len(places)) * 2
    return flat


class TestTensor:
    @pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "u2", "i4", "i8", "c8", "?"])
    def test_sizes_are_those_of_the_codec(self, dtype):
        array = (tensor(0.3, 1000) * 20).astype(dtype)
        result = profile("t", array)
        assert result.raw == array.nbytes
        assert result.density == np.count_nonzero(array) / array.size
        for fit in result.fits:
            table = 0 if fit.values == (0,) else len(fit.values) * fit.word_bits // 8
            assert fit.compressed == len(compress(array, fit.format)) + table

    @given(st.lists(st.sampled_from([0, 0, 1, 2, 3, 70_000]), min_size=1, max_size=200))
    def test_zero_value_compression_comes_first(self, words):
        array = np.array(words, np.uint32)
        result = profile("t", array)
        assert (result.zvc.word_bits, result.zvc.code_bits, result.zvc.values) == (32, 1, (0,))
        assert result.best.compressed <= result.zvc.compressed

    def test_dense_and_sparse_choose_zero_value_compression(self):
        for density in (0.05, 0.5):
            assert str(profile("t", tensor(density)).best) == "ZVC 32"

    def test_zero_point_chooses_a_table(self):
        quantised, zero_point = quantise(tensor(0.3), affine=True)
        result = profile("q", quantised)
        assert str(result.best) == "FVC 8, c=1"
        assert result.best.values == (zero_point & 0xFF,)
        assert result.density > 0.99

    def test_few_values_choose_wide_codes(self):
        array = np.random.default_rng(1).integers(0, 15, 20_000).astype(np.uint32) + 1000
        result = profile("t", array)
        assert (result.best.word_bits, result.best.code_bits) == (32, 4)
        assert set(result.best.values) == set(range(1000, 1015))

    def test_small_numbers_in_large_words_choose_smaller_words(self):
        array = np.random.default_rng(1).integers(1, 255, 20_000).astype(np.uint32)
        assert profile("t", array).best.word_bits == 8

    def test_a_table_is_not_free(self):
        # Fifteen different words, each once: a table would hold the whole tensor.
        words = np.random.default_rng(1).integers(2**28, 2**32, 15).astype(np.uint32)
        assert profile("t", words).best.compressed >= words.nbytes

    def test_shape_and_order_do_not_matter(self):
        array = tensor(0.3, 4096).reshape(8, 16, 32)
        plain = profile("t", array)
        for other in (np.asfortranarray(array), array.transpose(2, 0, 1), array[::-1]):
            assert profile("t", other).fits == plain.fits

    def test_more_than_a_chunk(self):
        array = tensor(0.3, 600_000)
        told = []
        assert profile("t", array, progress=told.append).zvc.compressed == len(compress(array))
        assert len(told) > 3
        assert sum(told) == pytest.approx(array.nbytes, abs=len(told))

    def test_minus_zero(self):
        result = profile("t", np.array([-0.0, 0.0, 1.0] * 100, np.float16))
        assert (result.minus_zeros, result.density) == (100, 2 / 3)
        assert profile("t", np.full(64, 0x8000, np.uint16), "bfloat16").minus_zeros == 64
        assert profile("t", np.full(64, 0x8000, np.uint16)).minus_zeros == 0

    def test_refusals(self):
        with pytest.raises(NothingToProfile, match=r"tensor 't' has the shape \(0, 3\), and so no elements"):
            profile("t", np.zeros((0, 3)))
        with pytest.raises(ParameterError, match="tensor 't' holds object, not integers or floating-point"):
            profile("t", np.array([None]))


class TestTransfer:
    array = profile("t", tensor(0.25, 32 * 1024))  # 131072 bytes become 36864: ratio 3.56
    raw, small = 131072, 36864

    def test_compressed_bytes(self):
        assert (self.array.raw, self.array.best.compressed) == (self.raw, self.small)

    def test_the_link_limits(self):
        transfer = Transfer(self.array, Settings(link=1e9, link_back=2e9))
        assert transfer.plain == (self.raw / 1e9, self.raw / 2e9)
        assert transfer.compressed() == (self.small / 1e9, self.small / 2e9)
        assert transfer.units == 1

    def test_the_units_limit(self):
        transfer = Transfer(self.array, Settings(link=10e9, unit_rate=12e9))
        assert transfer.compressed() == (self.raw / 12e9, self.raw / 12e9)
        assert transfer.units == 3  # 10 GB/s times 3.56 is 35.6 GB/s of raw data
        assert transfer.compressed(3) == (self.small / 10e9, self.small / 10e9)

    def test_worth(self):
        dense = profile("d", tensor(1.0))
        assert Transfer(self.array, Settings()).ours.worth
        assert not Transfer(dense, Settings()).ours.worth

    def test_not_worth_with_slow_units(self):
        assert not Transfer(self.array, Settings(link=10e9, unit_rate=9e9)).ours.worth

    def test_not_worth_when_hidden(self):
        hidden = Hidden(1.0, 1.0)
        verdict = Transfer(self.array, Settings(hidden=hidden)).ours
        assert (verdict.plain, verdict.compressed, verdict.worth) == (0, 0, False)

    def test_hidden_by_name(self):
        settings = Settings(link=1e9, hidden_by_name={"t": Hidden(forward=self.raw / 1e9)})
        verdict = Transfer(self.array, settings).ours
        assert verdict.plain == self.raw / 1e9
        assert verdict.compressed == self.small / 1e9

    def test_cswap_is_equations_1_to_4(self):
        hidden = Hidden(30e-6, 10e-6)
        settings = Settings(link=1e9, link_back=2e9, kernel_rate=4e9, hidden=hidden)
        verdict = Transfer(self.array, settings).cswap
        size, sparsity = self.raw, 0.75
        plain = max(size / 1e9 - 30e-6, 0) + max(size / 2e9 - 10e-6, 0)
        offload = max(size * (1 - sparsity) / 1e9 - 30e-6, 0)
        prefetch = max(size * (1 - sparsity) / 2e9 - 10e-6, 0)
        assert verdict.plain == pytest.approx(plain)
        assert verdict.compressed == pytest.approx(size / 4e9 + size / 4e9 + offload + prefetch)

    def test_cswap_refuses_what_kernels_make_slower(self):
        settings = Settings(link=10e9, units=4, kernel_rate=5e9)
        assert Transfer(self.array, settings).ours.worth
        assert not Transfer(self.array, settings).cswap.worth

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"link": 0}, "link is 0; it must be a number of bytes per second, more than 0"),
            ({"link_back": -1.0}, "link_back is -1.0; it must be"),
            ({"unit_rate": math.nan}, "unit_rate is nan; it must be"),
            ({"kernel_rate": math.inf}, "kernel_rate is inf; it must be"),
            ({"units": 0}, "units is 0; it must be a whole number, 1 or more"),
        ],
    )
    def test_settings_refusals(self, settings, message):
        with pytest.raises(ParameterError, match=re.escape(message)):
            Settings(**settings)

    def test_negative_hidden_time(self):
        with pytest.raises(
            ParameterError, match="hidden backward is -1; it must be a number of seconds, 0 or more"
        ):
            Hidden(backward=-1)


class TestReport:
    tensors = (profile("sparse", tensor(0.05, 65536)), profile("dense", tensor(1.0, 32768)))

    def test_speedup_of_everything_and_of_what_is_worth_it(self):
        report = Report(self.tensors, Settings(units=8))
        plain = sum(one.raw for one in self.tensors)
        assert report.speedup == pytest.approx(plain / report.compressed)
        better = self.tensors[0].best.compressed + self.tensors[1].raw
        assert report.speedup_selected == pytest.approx(plain / better)
        assert report.speedup_selected > report.speedup

    def test_everything_hidden(self):
        assert Report(self.tensors, Settings(hidden=Hidden(1, 1))).speedup_selected == 1

    def test_units(self):
        report = Report(self.tensors, Settings(unit_rate=12.8e9))
        assert report.units_at_peak == math.ceil(self.tensors[0].ratio)
        enough = report.units_enough
        ideal = report.link_seconds(compressed=True, units=math.inf)
        assert report.link_seconds(compressed=True, units=enough) <= 1.01 * ideal
        assert enough == 1 or report.link_seconds(compressed=True, units=enough - 1) > 1.01 * ideal

    @given(
        rate=st.floats(1e6, 1e12),
        densities=st.lists(st.sampled_from([0.0, 0.02, 0.3, 1.0]), min_size=1, max_size=4),
    )
    def test_units_enough_is_the_least(self, rate, densities):
        known = {density: profile("t", tensor(density, 1024)) for density in set(densities)}
        report = Report(tuple(known[density] for density in densities), Settings(unit_rate=rate))
        limit = 1.01 * report.link_seconds(compressed=True, units=math.inf)
        enough = report.units_enough
        assert 1 <= enough <= report.units_at_peak
        assert report.link_seconds(compressed=True, units=enough) <= limit * (1 + 1e-9)
        assert enough == 1 or report.link_seconds(compressed=True, units=enough - 1) > limit

    def test_the_engine_for_all(self):
        quantised = quantise(tensor(0.3), affine=True)[0]
        report = Report((profile("f", tensor(0.2)), profile("q", quantised)), Settings())
        formats = report.formats()
        assert {word_bits for word_bits, _, _ in formats} == {8}
        assert formats == sorted(formats, key=lambda row: row[2])

    def test_json(self):
        report = Report(self.tensors, Settings()).as_dict()
        assert json.loads(json.dumps(report, allow_nan=False)) == report
        row = report["tensors"][0]
        assert row["saved_s"] == pytest.approx(row["link_s"] - row["compressed_link_s"])
        assert row["worth"] is True
        assert report["tensors"][1]["worth"] is False

    def test_nothing(self):
        with pytest.raises(NothingToProfile, match="there is no tensor to profile"):
            Report((), Settings())

    def test_hidden_time_of_no_tensor(self):
        with pytest.raises(
            ParameterError, match="hidden times are given for 'relu9', but no tensor has that name"
        ):
            Report(self.tensors, Settings(hidden_by_name={"relu9": Hidden()}))


class Page(HTMLParser):
    """Collects what a page would load, and its table."""

    def __init__(self, text):
        super().__init__()
        self.loads, self.tags, self.open = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag not in ("meta", "path", "rect", "polyline"):
            self.open.append(tag)
        self.loads += [value for name, value in attributes if name in ("src", "href", "xlink:href")]

    def handle_endtag(self, tag):
        if tag in self.open:
            assert self.open.pop() == tag


class TestPage:
    def test_needs_nothing_else(self):
        report = Report(TestReport.tensors, Settings())
        text = page(report, "my <network>")
        parsed = Page(text)
        assert parsed.loads == parsed.open == []
        assert "script" not in parsed.tags
        assert "url(" not in text
        assert parsed.tags.count("svg") == 3
        assert parsed.tags.count("tr") == 3
        assert "my &lt;network&gt;" in text
        assert "my <network>" not in text

    def test_names_are_escaped(self):
        assert "<b>x" not in page(Report((profile("<b>x", tensor()),), Settings()), "t")


def safetensors(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


class TestFiles:
    def names(self, path):
        return [stored.name for stored in find_tensors(path)]

    def test_directory(self, tmp_path):
        (tmp_path / "block").mkdir()
        np.save(tmp_path / "block" / "relu.npy", tensor())
        np.savez(tmp_path / "a.npz", x=tensor(), y=tensor().reshape(2, -1))
        (tmp_path / "notes.txt").write_text("not a tensor", encoding="utf-8")
        assert self.names(tmp_path) == ["a/x", "a/y", "block/relu"]
        assert [stored.read().shape for stored in find_tensors(tmp_path)] == [(4096,), (2, 2048), (4096,)]

    def test_compressed_archive_and_fortran_order(self, tmp_path):
        array = np.asfortranarray(tensor().reshape(64, 64))
        np.savez_compressed(tmp_path / "a.npz", x=array)
        np.save(tmp_path / "b.npy", array)
        for stored in find_tensors(tmp_path):
            assert (stored.read() == array).all()

    def test_safetensors(self, tmp_path):
        values = tensor(0.5, 64)
        halves = values.view(np.uint32) >> 16
        data = values.tobytes() + halves.astype("<u2").tobytes()
        header = {
            "__metadata__": {"format": "pt"},
            "relu": {"dtype": "F32", "shape": [4, 16], "data_offsets": [0, 256]},
            "half": {"dtype": "BF16", "shape": [64], "data_offsets": [256, 384]},
        }
        path = tmp_path / "model.safetensors"
        path.write_bytes(safetensors(header, data))
        relu, half = find_tensors(path)
        assert (relu.name, half.name, half.dtype) == ("model/relu", "model/half", "bfloat16")
        assert (relu.read() == values.reshape(4, 16)).all()
        assert profile(half.name, half.read(), half.dtype).density == 0.5

    @pytest.mark.parametrize(
        ("data", "message"),
        [
            (b"", "is empty"),
            (b"1234", "is not a safetensors file, or is cut short: it has 4 bytes"),
            (struct.pack("<Q", 2**63), "first 8 say that a header of 9223372036854775808 bytes follows"),
            (safetensors(b"{"), "has a header that is not JSON"),
            (safetensors(b"\xff\xfe"), "has a header that is not JSON"),
            (safetensors([1]), "has a header that is not a JSON object"),
            (safetensors({}), "holds no tensor"),
            (safetensors({"a": 1}), "tensor 'a' is described by 1, not by a JSON object"),
            (safetensors({"a": {"dtype": "F4"}}), "tensor 'a' has the type 'F4'; known are BOOL"),
            (
                safetensors(b'{"a": {"dtype": "F32", "shape": [NaN, 2], "data_offsets": [0, 8]}}'),
                "has the shape [nan, 2]; it must be a list of whole numbers, 0 or more",
            ),
            (
                safetensors({"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}}),
                "has the shape [-1]; it must be",
            ),
            (
                safetensors({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0]}}),
                "has data_offsets [0]; it must be a list of two whole numbers",
            ),
            (
                safetensors({"a": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}}, bytes(8)),
                "ends at byte 16 of the data, but the file has only 8: it is cut short",
            ),
            (
                safetensors({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}}, bytes(8)),
                "has 4 bytes, but its shape [2] of float32 takes 8",
            ),
            (
                safetensors({"a": {"dtype": "F32", "shape": [2], "data_offsets": [8, 0]}}, bytes(8)),
                "has -8 bytes, but its shape",
            ),
            (
                safetensors({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 16]}}, bytes(16)),
                "has 16 bytes, but its shape [2] of float32 takes 8",
            ),
        ],
    )
    def test_bad_safetensors(self, tmp_path, data, message):
        path = tmp_path / "x.safetensors"
        path.write_bytes(data)
        with pytest.raises(BadTensorFile, match=re.escape(message)):
            find_tensors(path)

    def test_pickles_are_not_opened(self, tmp_path):
        objects = np.array([{"a": 1}], dtype=object)
        np.save(tmp_path / "o.npy", objects, allow_pickle=True)
        with pytest.raises(
            BadTensorFile, match=r"o\.npy is not a \.npy file of numbers: it holds pickled objects"
        ):
            find_tensors(tmp_path / "o.npy")
        np.savez(tmp_path / "o.npz", x=objects)
        (stored,) = find_tensors(tmp_path / "o.npz")
        with pytest.raises(BadTensorFile, match=r"o\.npz, x cannot be read: it holds pickled objects"):
            stored.read()
        (tmp_path / "p.npy").write_bytes(b"\x80\x04K\x01.")
        with pytest.raises(BadTensorFile, match="it holds pickled objects"):
            find_tensors(tmp_path / "p.npy")

    def test_text_and_void_types(self, tmp_path):
        np.save(tmp_path / "s.npy", np.array(["a", "b"]))
        with pytest.raises(BadTensorFile, match="holds <U1, not integers or floating-point numbers"):
            find_tensors(tmp_path / "s.npy")
        np.save(tmp_path / "v.npy", np.zeros(4, "V2"))
        with pytest.raises(BadTensorFile, match=r"such as bfloat16, viewed as unsigned integers"):
            find_tensors(tmp_path / "v.npy")

    def test_cut_short(self, tmp_path):
        np.save(tmp_path / "a.npy", tensor())
        data = (tmp_path / "a.npy").read_bytes()
        for length in (3, 40, 1000):
            (tmp_path / "a.npy").write_bytes(data[:length])
            with pytest.raises(BadTensorFile, match=r"a\.npy is not a \.npy file of numbers"):
                find_tensors(tmp_path / "a.npy")
        np.savez(tmp_path / "a.npz", x=tensor())
        (tmp_path / "a.npz").write_bytes((tmp_path / "a.npz").read_bytes()[:500])
        with pytest.raises(BadTensorFile, match=r"a\.npz is not a \.npz file"):
            find_tensors(tmp_path / "a.npz")

    def test_damaged_archive(self, tmp_path):
        path = tmp_path / "a.npz"
        np.savez(path, x=tensor())
        data = bytearray(path.read_bytes())
        data[3000] ^= 0xFF
        path.write_bytes(data)
        (stored,) = find_tensors(path)
        with pytest.raises(BadTensorFile, match=r"a\.npz, x cannot be read: Bad CRC-32"):
            stored.read()

    def test_nothing_there(self, tmp_path):
        with pytest.raises(BadTensorFile, match=r"has no file that ends in \.npy, \.npz, \.safetensors"):
            find_tensors(tmp_path)
        with pytest.raises(BadTensorFile, match=r"cannot read .*: No such file or directory"):
            find_tensors(tmp_path / "x.npy")
        (tmp_path / "x.pt").write_bytes(b"x")
        with pytest.raises(BadTensorFile, match=r"x\.pt does not end in"):
            find_tensors(tmp_path / "x.pt")
        np.savez(tmp_path / "none.npz")
        with pytest.raises(BadTensorFile, match="holds no tensor"):
            find_tensors(tmp_path / "none.npz")


class TestCommand:
    @pytest.fixture
    def path(self, tmp_path):
        folder = tmp_path / "acts"
        folder.mkdir()
        np.save(folder / "relu0.npy", tensor(0.5))
        np.save(folder / "relu1.npy", tensor(0.1))
        return folder

    def test_report(self, path, capsys):
        assert main(["profile", str(path)]) == 0
        out = " ".join(capsys.readouterr().out.split())
        assert "relu0" in out
        assert "ratio 3.02" in out
        assert "-0.0" not in out

    def test_json(self, path, capsys):
        assert (
            main(["profile", str(path), "--json", "--link", "25", "--link-back", "20", "--units", "2"]) == 0
        )
        report = json.loads(capsys.readouterr().out)
        assert report["settings"]["link"] == 25e9
        assert report["settings"]["link_back"] == 20e9
        assert [row["name"] for row in report["tensors"]] == ["relu0", "relu1"]
        assert report["link_s"] == pytest.approx(2 * 16384 * (1 / 25e9 + 1 / 20e9))

    def test_html(self, path, tmp_path, capsys):
        target = tmp_path / "report.html"
        assert main(["profile", str(path), "--html", str(target)]) == 0
        assert target.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
        assert main(["profile", str(path / "none.npy"), "--html", str(tmp_path / "other.html")]) == 2
        assert not (tmp_path / "other.html").exists()
        assert "cannot read" in capsys.readouterr().err

    def test_hidden_times(self, path, tmp_path, capsys):
        times = tmp_path / "hidden.toml"
        times.write_text("[relu0]\nforward = 1000\nbackward = 1000\n", encoding="utf-8")
        assert main(["profile", str(path), "--json", "--hidden", str(times)]) == 0
        rows = json.loads(capsys.readouterr().out)["tensors"]
        assert [row["worth"] for row in rows] == [False, True]
        for text, message in (
            ("[relu0]\nforwards = 1\n", "has the unknown key 'forwards'; it may have backward, forward"),
            ("[relu0]\nforward = -1\n", "has forward = -1; it must be a finite number and at least 0"),
            ("[relu0]\nforward = nan\n", "has forward = nan"),
            ("[relu7]\nforward = 1\n", "hidden times are given for 'relu7'"),
            ("relu0 = 1\n", "relu0 is 1; it must be a table"),
            ("", "is empty"),
        ):
            times.write_text(text, encoding="utf-8")
            assert main(["profile", str(path), "--hidden", str(times)]) == 2
            assert message in capsys.readouterr().err

    def test_minus_zeros_are_told(self, path, capsys):
        np.save(path / "relu2.npy", np.full(100, -0.0, np.float32))
        assert main(["profile", str(path)]) == 0
        assert "100 elements are -0.0" in capsys.readouterr().out

    @pytest.mark.parametrize(
        "options", [["--link", "0"], ["--link", "nan"], ["--units", "1.5"], ["--hidden-forward", "-1"]]
    )
    def test_refusals(self, path, options, capsys):
        with pytest.raises(SystemExit) as stopped:
            main(["profile", str(path), *options])
        assert stopped.value.code == 2
        assert f"{options[1]!r} is not a" in capsys.readouterr().err

    def test_empty_tensor(self, path, capsys):
        np.save(path / "none.npy", np.zeros((0, 4), np.float32))
        assert main(["profile", str(path)]) == 2
        assert "tensor 'none' has the shape (0, 4), and so no elements" in capsys.readouterr().err
