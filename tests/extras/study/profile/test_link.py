"""Transfers of a tensor, and whether compression is worth it."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest

from cdma import ParameterError
from cdma.sim.codec.tensor_profile import TensorProfile, profile
from cdma.study.profile.link import Hidden, Settings, Transfer
from cdma.study.system.assumptions import load_assumptions
from cdma.study.system.cswap import KernelTimes
from tests.support.tensors import noise

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
