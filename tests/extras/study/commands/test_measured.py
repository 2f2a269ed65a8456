"""``cdma study model residuals``: the model beside rows of ``cdma bench swap``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cdma.study.system.machine import load_assumptions, load_machine
from cdma.study.system.measured import machine_of, residuals
from cdma.study.system.networks import load_network
from tests.support.commands import Printed, Refused, Shown

CARD = "NVIDIA H100 80GB HBM3"


def row(policy: str, ms: float | None, **changes: Any) -> dict[str, Any]:
    made = {
        "card": CARD,
        "network": "alexnet224",
        "policy": policy,
        "batch": 64,
        "precision": "tf32",
        "ms": ms,
        "ratio": None,
        "peak": None,
        "allocated": 2 << 30,
        "images_per_second": ms and 64e3 / ms,
    }
    return made | changes


ROWS = [
    row("plain", 20.0),
    row("vdnn_all", 40.0, ratio=1.0),
    row("cdma", 30.0, ratio=2.0),
    row("cdma", 55.0, ratio=2.0, batch=128, allocated=4 << 30),
    row("lms", 25.0),
    row("cswap", None),
    row("plain", 9.0, network="nothing"),
]


@pytest.fixture
def rows(tmp_path: Path) -> str:
    path = tmp_path / "rows.json"
    path.write_text(json.dumps(ROWS))
    return str(path)


def test_residuals_are_of_what_the_model_has(rows: str, printed: Printed, shown: Shown) -> None:
    found = printed("study", "model", "residuals", rows)
    # No memory, another rule, no table: these have none.
    assert [(one["policy"], one["batch"]) for one in found] == [
        ("plain", 64),
        ("vdnn_all", 64),
        ("cdma", 64),
        ("cdma", 128),
    ]
    plain, raw, compressed, larger = found
    for one in found:
        assert one["machine"] == "h100"
        assert one["residual"] == pytest.approx(one["predicted_ms"] / one["measured_ms"] - 1)
    assert plain["paced_ms"] is larger["paced_ms"] is None
    # The model's card is faster; as slow as plain training was, it takes no less than that.
    assert plain["predicted_ms"] < 20 < raw["paced_ms"]
    assert raw["paced_ms"] > compressed["paced_ms"] >= 20
    assert raw["off"] == (abs(raw["paced_ms"] / 40 - 1) > 0.1)
    assert "off by more than 10 %: alexnet224" in shown("study", "model", "residuals", rows)


def test_a_model_that_is_right_is_not_off() -> None:
    """Rows that are the model's own steps, computation three times as long, come back as they are."""
    from cdma.study.system.density_table import load_densities, with_transformer

    densities = with_transformer(load_densities())
    base = load_assumptions()

    def found(measured: list[Any]) -> list[Any]:
        return list(
            residuals(measured, lambda card: load_machine(machine_of(card)), base, densities, _network)
        )

    def _network(name: str) -> Any:
        return load_network("alexnet")

    first = found(read_rows(ROWS[:3]))
    plain, raw, compressed = (one.predicted_ms for one in first)
    same = found(read_rows([row("plain", plain), ROWS[1] | {"ms": raw}, ROWS[2] | {"ms": compressed}]))
    assert [one.off for one in same] == [False] * 3
    assert [one.residual for one in same] == pytest.approx([0.0] * 3)
    assert [one.paced_residual for one in same[1:]] == pytest.approx([0.0] * 2)
    slower = found(read_rows([row("plain", 3 * plain), ROWS[1] | {"ms": raw}]))
    assert slower[0].residual == pytest.approx(-2 / 3)
    assert slower[1].paced_ms > raw


def read_rows(rows: list[dict[str, Any]]) -> list[Any]:
    from cdma.study.system.measured import _row

    return [_row(Path("rows.json"), one) for one in rows]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "is not a list of rows"),
        ('[{"network": "vgg"}]', "has a row without 'card'"),
        (
            json.dumps([row("plain", 1.0, card="Abacus")]),
            "card is 'Abacus', which is no machine of the model",
        ),
    ],
)
def test_what_is_no_record_is_refused(text: str, message: str, tmp_path: Path, refused: Refused) -> None:
    path = tmp_path / "rows.json"
    path.write_text(text)
    assert message in refused("study", "model", "residuals", path)
