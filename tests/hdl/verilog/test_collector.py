"""Python's collector is as it was after an elaboration, also one that failed."""

from __future__ import annotations

import gc

import pytest

from cdma.hdl.verilog.elaborate import no_collection


def test_nothing_is_collected_inside() -> None:
    with no_collection():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_it_collects_again_after_a_failure() -> None:
    with pytest.raises(ValueError, match="in between"), no_collection():
        raise ValueError("in between")
    assert gc.isenabled()


def test_it_leaves_a_collector_that_was_off_as_it_is() -> None:
    gc.disable()
    try:
        with no_collection():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
