"""Jobs behind a command prefix: results through files, lost jobs, and what is left of an interruption."""

from __future__ import annotations

from pathlib import Path

import pytest

from cdma.base.errors import ParameterError
from cdma.base.spread import Lost, spread


@pytest.fixture(autouse=True)
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the files."""
    monkeypatch.setenv("CDMA_CACHE", str(tmp_path))
    return tmp_path / "jobs"


def _prefix(tmp_path: Path, text: str) -> str:
    script = tmp_path / "prefix.sh"
    script.write_text(f"#!/bin/sh\n{text}\n")
    script.chmod(0o755)
    return f"'{script}' -n 1"


def test_results_come_back(jobs: Path) -> None:
    assert dict(spread(abs, [-1, -2, -2], jobs=2, submit="env")) == {0: 1, 1: 2, 2: 2}
    assert not list(jobs.iterdir())


def test_each_job_is_a_command_behind_the_prefix(tmp_path: Path) -> None:
    prefix = _prefix(tmp_path, f'echo "prefix $*" >> {tmp_path}/said; shift 2; exec "$@"')
    assert dict(spread(abs, [-1], submit=prefix)) == {0: 1}
    (said,) = (tmp_path / "said").read_text().splitlines()
    assert said.startswith("prefix -n 1 ")
    assert " -m cdma.base.job " in said


def test_a_job_that_is_lost_says_why(tmp_path: Path) -> None:
    found = dict(spread(abs, [-1, "a"], jobs=1, submit="env"))
    assert found[0] == 1
    assert isinstance(found[1], Lost)
    assert found[1].reason.startswith(
        "its command ended with status 1 and left no result: TypeError: bad operand"
    )
    never = dict(spread(abs, [-1], submit=_prefix(tmp_path, "echo no such partition >&2; exit 3")))
    assert never == {0: Lost("its command ended with status 3 and left no result: no such partition")}


def test_what_was_finished_is_not_run_again(tmp_path: Path, jobs: Path) -> None:
    counting = _prefix(tmp_path, f'echo one >> {tmp_path}/said; shift 2; exec "$@"')
    interrupted = spread(abs, [-1, -2], jobs=1, submit=counting)
    assert next(interrupted) == (0, 1)
    interrupted.close()
    assert len(list(jobs.glob("*.result"))) == 1
    assert dict(spread(abs, [-1, -2], jobs=1, submit=counting)) == {0: 1, 1: 2}
    assert (tmp_path / "said").read_text().count("one") == 2


def test_refusals() -> None:
    with pytest.raises(ParameterError, match="give one"):
        list(spread(abs, [1], submit="env", scheduler="tcp://127.0.0.1:1"))
    with pytest.raises(ParameterError, match="No closing quotation"):
        list(spread(abs, [1], submit="env '"))
    assert "cannot be run" in dict(spread(abs, [1], submit="/no/such/command"))[0].reason
