"""The protocol checker of an AXI4 port: each rule, broken once."""

from __future__ import annotations

import pytest

from cdma.verif.monitors.axi import AxiChecker
from cdma.verif.monitors.port_checker import AxiViolation


def _run(cycles: list[dict[str, int]]) -> None:
    now: dict[str, int] = {}
    checker = AxiChecker("port", lambda name: now.get(name, 0), 64, longest=16, outstanding=2)
    for cycle in cycles:
        now.clear()
        now.update(cycle)
        checker.cycle()
    checker.finish()


_AW = {"awvalid": 1, "awready": 1, "awaddr": 0, "awlen": 1, "awsize": 3, "awburst": 1}
_AR = {"arvalid": 1, "arready": 1, "araddr": 0, "arlen": 1, "arsize": 3, "arburst": 1}
_W = {"wvalid": 1, "wready": 1, "wstrb": 0xFF}
_R = {"rvalid": 1, "rready": 1}
_B = {"bvalid": 1, "bready": 1}


def test_accepts_what_is_legal() -> None:
    _run([_AW, _W, {**_W, "wlast": 1}, _B])
    _run([{**_AR, "arready": 0}, _AR, _R, {**_R, "rlast": 1}])


@pytest.mark.parametrize(
    ("cycles", "message"),
    [
        ([{**_AW, "awready": 0}, {}], "awvalid fell"),
        ([{**_AW, "awready": 0}, {**_AW, "awaddr": 8}], "awaddr changed"),
        ([{**_AW, "awburst": 0}], "not INCR"),
        ([{**_AR, "arsize": 4}], "wider than the port"),
        ([{**_AR, "arlen": 16}], "longer than"),
        ([{**_AR, "araddr": 4}], "not aligned"),
        ([{**_AR, "araddr": 4096 - 8}], "crosses a 4 KiB"),
        ([_AR, {**_R, "rlast": 1}], "rlast is 1 at beat 1 of 2"),
        ([_R], "answers no read"),
        ([_W], "before their address"),
        ([_AW, {**_W, "wstrb": 0}], "has no strobe"),
        ([{**_AW, "awsize": 2}, _W], "outside its 4 bytes"),
        ([_AW, {**_W, "wlast": 1}], "wlast is 1 at beat 1 of 2"),
        ([_AW, _W, _B], "answers no write"),
        ([_AW, _AW, _AW], "more than 2"),
        ([_AR, _AR, _AR], "more than 2"),
        ([_AR], "1 reads and 0 writes are still open"),
    ],
)
def test_objects(cycles: list[dict[str, int]], message: str) -> None:
    with pytest.raises(AxiViolation, match=message):
        _run(cycles)


def test_what_is_beside_an_address_is_checked():
    now = {"arvalid": 1, "arready": 1, "arsize": 3, "arburst": 1, "arid": 1, "arcache": 15, "aruser": 9}
    checker = AxiChecker(
        "port",
        lambda name: now.get(name, 0),
        64,
        sideband=lambda way, id: {"cache": 15 if id else 3, "user": 9},
    )
    checker.cycle()
    now["arid"] = 0
    with pytest.raises(AxiViolation, match=r"arcache is 0xf with ID 0, not 0x3"):
        checker.cycle()
    now |= {"arid": 1, "aruser": 8}
    with pytest.raises(AxiViolation, match=r"aruser is 0x8"):
        checker.cycle()
