"""Lists of the pages of host memory, as plain data, and what an engine says of them."""

import pytest

from cdma.base.errors import ParameterError
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.pages import MOST_PAGED, packed_pages, paged


def test_runs_of_pages_become_a_list() -> None:
    assert paged([(0x5F00, 16)]) == (0x5F00, 16, [])
    assert paged([(0x5F00, 0x2200)]) == (0x5F00, 0x2200, [0x6000, 0x7000, 0x8000])
    assert paged([(0x5F00, 0x100), (0x2000, 0x2000), (0x9000, 1)]) == (
        0x5F00,
        0x2101,
        [0x2000, 0x3000, 0x9000],
    )
    assert paged([(0x5FE0, MOST_PAGED)])[2][-1] == 0x5000 + MOST_PAGED
    assert packed_pages([0x1000, 1 << 40]) == bytes([0, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0])


@pytest.mark.parametrize(
    ("runs", "says"),
    [
        ([], "has no run of bytes"),
        ([(0x1000, 0)], "run 0 of a list of pages has 0 bytes"),
        ([(0x1000, 0x1000), (0x3010, 8)], "run 1 of a list of pages begins at 0x3010"),
        ([(0x1000, 0x800), (0x3000, 8)], "run 0 of a list of pages ends at 0x1800"),
        ([(0x1000, MOST_PAGED + 1)], "a list of pages has 2097153 bytes; at most 2097152"),
    ],
)
def test_runs_that_are_no_pages_say_why(runs: list, says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        paged(runs)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"registers": False}, "pages is on without registers; it must be off"),
        ({"host_address_bits": 21}, "pages is on, and host_address_bits is 21; it must be 22 at least"),
    ],
)
def test_an_engine_says_why_it_has_no_pages(options: dict, says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        EngineConfig(pages=True, **options)
