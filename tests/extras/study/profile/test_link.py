"""Transfers of a tensor, and whether compression is worth it. Tensors in files, and files that are refused."""

from __future__ import annotations

import math
import re
import struct
from typing import Any

import numpy as np
import pytest

from cdma import ParameterError
from cdma.sim.codec.fit import TensorProfile, profile
from cdma.study.profile.files import BadTensorFile, find_tensors
from cdma.study.profile.link import Hidden, Settings, Transfer
from cdma.study.system.machine import load_assumptions
from cdma.study.system.policies import KernelTimes
from tests.support.stimuli import noise, safetensors, tensor

ARRAY = profile("t", noise(0.25, 32 * 1024))  # 131072 bytes become 36864: ratio 3.56
RAW, SMALL = 131072, 36864
NOTHING = Hidden()


def transfer(tensor: TensorProfile = ARRAY, **settings: Any) -> Transfer:
    return Transfer(tensor, Settings(**settings), tensor.best)


def worth(one: Transfer) -> tuple[bool, bool]:
    """By the engine, and by CSWAP's kernels."""
    assert one.ours is not None
    assert one.cswap is not None
    return one.ours.worth, one.cswap.worth


def test_the_slower_of_link_and_units_limits() -> None:
    assert (ARRAY.raw, ARRAY.best.compressed) == (RAW, SMALL)
    by_link = transfer(link=1e9, link_back=2e9)
    assert by_link.plain == (RAW / 1e9, RAW / 2e9)
    assert by_link.compressed() == (SMALL / 1e9, SMALL / 2e9)
    assert by_link.units == 1
    by_units = transfer(link=10e9, unit_rate=12e9)
    assert by_units.compressed() == (RAW / 12e9, RAW / 12e9)
    assert by_units.units == 3  # 10 GB/s times 3.56 is 35.6 GB/s of raw data
    assert by_units.compressed(3) == (SMALL / 10e9, SMALL / 10e9)


def test_another_format_than_the_best_takes_its_own_bytes() -> None:
    words = ARRAY.fits[-1]
    assert words.compressed != SMALL
    assert Transfer(ARRAY, Settings(link=1e9), words).compressed() == (words.compressed / 1e9,) * 2


def test_compression_is_worth_it_where_it_exposes_less() -> None:
    slow = {"link": 10e9, "unit_rate": 9e9, "hidden": NOTHING}
    assert worth(transfer(hidden=NOTHING))[0]
    assert not worth(transfer(profile("d", noise(1.0)), hidden=NOTHING))[0]
    assert not worth(transfer(**slow))[0], "units that are slower than the link"
    # What kernels make slower, the engine need not.
    assert worth(transfer(link=10e9, units=4, kernel_rate=5e9, hidden=NOTHING)) == (True, False)


def test_hidden_time_is_no_wait() -> None:
    ours = transfer(hidden=Hidden(1.0, 1.0)).ours
    assert ours is not None
    assert (ours.plain, ours.compressed, ours.worth) == (0, 0, False)
    by_name = transfer(link=1e9, hidden_by_name={"t": Hidden(forward=RAW / 1e9)}).ours
    assert by_name is not None
    assert (by_name.plain, by_name.compressed) == (RAW / 1e9, SMALL / 1e9)
    unknown = transfer()
    assert unknown.ours is unknown.cswap is None


def test_cswap_is_equations_1_to_4() -> None:
    found = transfer(link=1e9, link_back=2e9, kernel_rate=4e9, hidden=Hidden(30e-6, 10e-6)).cswap
    assert found is not None
    plain = max(RAW / 1e9 - 30e-6, 0) + max(RAW / 2e9 - 10e-6, 0)
    assert found.plain == pytest.approx(plain)
    swapped = max(RAW * 0.25 / 1e9 - 30e-6, 0) + max(RAW * 0.25 / 2e9 - 10e-6, 0)
    assert found.compressed == pytest.approx(2 * RAW / 4e9 + swapped)


def test_cswap_has_the_kernels_of_the_model() -> None:
    times = KernelTimes(load_assumptions().kernels, 900e9)
    there, back = (times.seconds(direction, RAW, 0.25) for direction in ("compress", "decompress"))
    assert there != back
    found = transfer(link=1e9, memory=900e9, hidden=NOTHING).cswap
    assert found is not None
    assert found.compressed == pytest.approx(there + back + 2 * RAW * 0.25 / 1e9)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"link": 0}, "link is 0; it must be a number of bytes per second, more than 0"),
        ({"link_back": -1.0}, "link_back is -1.0; it must be"),
        ({"kernel_rate": math.inf}, "kernel_rate is inf; it must be"),
        ({"units": 0}, "units is 0; it must be a whole number, 1 or more"),
    ],
)
def test_refused_settings(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=re.escape(message)):
        Settings(**settings)
    with pytest.raises(
        ParameterError, match="hidden backward is -1; it must be a number of seconds, 0 or more"
    ):
        Hidden(backward=-1)


def described(shape, offsets):
    """A file with that description of its tensor, and eight bytes of data."""
    return safetensors({"a": {"dtype": "F32", "shape": shape, "data_offsets": offsets}}, bytes(8))


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

    # The reader of safetensors has no test of its own: this is all that it refuses.
    @pytest.mark.parametrize(
        ("data", "message"),
        [
            (b"", "is empty"),
            (b"1234", "is not a safetensors file, or is cut short: it has 4 bytes"),
            (struct.pack("<Q", 2**63), "first 8 say that a header of 9223372036854775808 bytes follows"),
            (safetensors(b"\xff\xfe"), "has a header that is not JSON"),
            (safetensors([1]), "has a header that is not a JSON object"),
            (safetensors({}), "holds no tensor"),
            (safetensors({"a": 1}), "tensor 'a' is described by 1, not by a JSON object"),
            (safetensors({"a": {"dtype": "F4"}}), "tensor 'a' has the type 'F4'; known are BOOL"),
            (described([-1], [0, 4]), "has the shape [-1]; it must be a list of whole numbers, 0 or more"),
            (described([2], [0]), "has data_offsets [0]; it must be a list of two whole numbers"),
            (
                described([4], [0, 16]),
                "ends at byte 16 of the data, but the file has only 8: it is cut short",
            ),
            (described([2], [0, 4]), "has 4 bytes, but its shape [2] of float32 takes 8"),
            (described([2], [8, 0]), "has -8 bytes, but its shape"),
        ],
    )
    def test_bad_safetensors(self, tmp_path, data, message):
        path = tmp_path / "x.safetensors"
        path.write_bytes(data)
        with pytest.raises(BadTensorFile, match=re.escape(message)):
            find_tensors(path)

    def test_elements_that_are_no_numbers(self, tmp_path):
        objects = np.array([{"a": 1}], dtype=object)
        for name, array, message in (
            ("objects", objects, "it holds elements of type object, not integers"),
            (
                "text",
                np.array(["a", "b"]),
                "holds elements of type <U1, not integers, floating-point or complex",
            ),
            ("void", np.zeros(4, "V2"), "such as bfloat16, viewed as unsigned integers"),
        ):
            np.save(tmp_path / f"{name}.npy", array, allow_pickle=True)
            with pytest.raises(BadTensorFile, match=message):
                find_tensors(tmp_path / f"{name}.npy")
        np.savez(tmp_path / "o.npz", x=objects)
        (stored,) = find_tensors(tmp_path / "o.npz")
        with pytest.raises(BadTensorFile, match=r"cannot read .*o\.npz, x: it holds elements of type object"):
            stored.read()
        (tmp_path / "p.npy").write_bytes(b"\x80\x04K\x01.")
        with pytest.raises(BadTensorFile, match=r"it is not a \.npy file: "):
            find_tensors(tmp_path / "p.npy")

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
