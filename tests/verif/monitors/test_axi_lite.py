"""The checker of the register port: each rule, broken once."""

from __future__ import annotations

import pytest

from cdma.verif.monitors.axi_lite import AxiLiteChecker
from cdma.verif.monitors.port_checker import AxiViolation

AR = {"arvalid": 1, "arready": 1, "araddr": 4}
R = {"rvalid": 1, "rready": 1}
AW = {"awvalid": 1, "awready": 1, "awaddr": 8}
W = {"wvalid": 1, "wready": 1, "wstrb": 15}
B = {"bvalid": 1, "bready": 1}


def _checker(now: dict[str, int]) -> AxiLiteChecker:
    return AxiLiteChecker("port", lambda name: now.get(name, 0), {4, 8}, patience=3)


def _run(cycles: list[dict[str, int]]) -> AxiLiteChecker:
    now: dict[str, int] = {}
    checker = _checker(now)
    for cycle in cycles:
        now.clear()
        now.update(cycle)
        checker.cycle()
    checker.finish()
    return checker


def test_accepts_what_is_legal() -> None:
    _run([AR, R, AW, W, B])
    _run([W, {}, {}, {}, {}, AW, {}, B])
    _run([{**AW, **W}, B, {**AR, "araddr": 7}, {**R, "rready": 0}, R])
    _run([{**AR, "araddr": 12}, {**R, "rresp": 2}])
    assert _run([AR, {**AR, **R}, R]).quiet


@pytest.mark.parametrize(
    ("cycles", "message"),
    [
        ([AR, {**R, "rready": 0}, {}], "rvalid fell before rready"),
        ([AR, {**R, "rready": 0}, {**R, "rdata": 1}], "rdata changed while rvalid waited"),
        ([{**AR, "arready": 0}, {**AR, "araddr": 8}], "araddr changed while arvalid waited"),
        ([R], "rvalid answers no read"),
        ([{**AR, **R}], "rvalid answers no read"),
        ([AR, R, {**R, "rready": 0}], "rvalid answers no read"),
        ([AW, B], "bvalid answers no write"),
        ([W, B], "bvalid answers no write"),
        ([AW, W, B, B], "bvalid answers no write"),
        ([AR, {**R, "rresp": 2}], "the read of 0x4 is answered 2, not 0"),
        ([{**AR, "araddr": 12}, R], "the read of 0xc is answered 0, not 2"),
        ([{**AR, "araddr": 12}, {**R, "rresp": 3}], "the read of 0xc is answered 3, not 2"),
        ([{**AW, **W}, {**B, "bresp": 1}], "the write of 0x8 is answered 1, not 0"),
        ([AR, {}, {}, {}, {}], "no rvalid for 4 cycles although a response is due"),
        ([{**AW, **W}, {}, {}, {}, {}], "no bvalid for 4 cycles although a response is due"),
        ([AR], "1 reads and 0 writes are still open"),
        ([AW], "0 reads and 1 writes are still open"),
        ([W], "still open"),
        ([{**AR, "arready": 0}], "still open"),
    ],
)
def test_objects(cycles: list[dict[str, int]], message: str) -> None:
    with pytest.raises(AxiViolation, match=message):
        _run(cycles)


@pytest.mark.parametrize("signal", ["awready", "wready", "arready", "bvalid", "rvalid"])
def test_in_reset_nothing_is_offered_or_taken(signal: str) -> None:
    with pytest.raises(AxiViolation, match=f"{signal} is high in reset"):
        _checker({signal: 1}).reset()


def test_a_reset_ends_what_is_open() -> None:
    now = dict(AR)
    checker = _checker(now)
    checker.cycle()
    now.clear()
    checker.reset()
    checker.finish()
