"""``make gpu``, with Triton's interpreter in the place of a GPU: records, what is left out, and what is too slow."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.extras.pytorch.interpreted import torch

# isort: split
from cdma.base.errors import ToolError
from cdma.torch.bench import on_gpu
from cdma.torch.bench.on_gpu import PARTS, run

HOSTILE, SAVED = (next(part for part in PARTS if part.name == name) for name in ("hostile", "saved-gpt2"))


@pytest.mark.slow
def test_each_part_has_a_record_and_a_run_goes_on_where_the_last_one_ended(tmp_path, capsys):
    slow = replace(SAVED, seconds=0.01)
    assert run(tmp_path, "a revision", (HOSTILE, slow)) == ["saved-gpt2"]
    assert "took more than 0 seconds" in capsys.readouterr().out
    record = json.loads((tmp_path / "hostile.json").read_text())
    assert (record["revision"], record["card"]) == ("a revision", "cpu")
    assert record["command"] == "cdma bench gpu --hostile 300"
    assert not record["rows"][0]["differing"]
    assert run(tmp_path, "a revision", (HOSTILE, SAVED)) == []
    assert "hostile: has a record" in capsys.readouterr().out
    rows = json.loads((tmp_path / "saved-gpt2.json").read_text())["rows"]
    assert [row["way"] for row in rows] == ["plain", "save_on_cpu", "checkpoint", "saved"]


def test_a_command_that_ends_wrongly_is_one_sentence():
    assert "rounds is 0" in on_gpu._found("bench saved --cpu --rounds 0", 60)
    assert on_gpu._found("bench saved", 0) == "has no time left"


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_it_says_so(monkeypatch, tmp_path):
    monkeypatch.delenv("TRITON_INTERPRET")
    with pytest.raises(ToolError, match="there is no GPU here"):
        run(tmp_path, "a revision")
