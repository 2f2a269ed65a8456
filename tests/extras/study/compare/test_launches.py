"""How the compiled codec may be called here."""

from __future__ import annotations

import pytest

from cdma.base.errors import CdmaError
from cdma.sim.codec import software
from cdma.study.compare import launches
from cdma.study.compare.launches import Launch, Workload, launch_space


def test_one_thread_is_one_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launches.os, "cpu_count", lambda: 6)
    space = list(launch_space())
    assert [launch for launch in space if launch.threads == 1] == [Launch(1, 1024)]
    assert sorted({launch.threads for launch in space}) == [1, 2, 3, 4, 6, 8]
    assert len(space) == 1 + 5 * 10


def test_a_launch_is_arguments() -> None:
    assert Launch(2, 32).settings() == {"threads": 2, "chunk_bytes": 32768}


@pytest.mark.skipif(not software.installed(), reason="the kernels in C are not built")
def test_a_question_says_what_is_timed_and_with_what() -> None:
    asked = Workload(1, 0.25).question
    assert asked.startswith(f"1 MB at density 0.25, kernels {launches.kernels_name()}, ")
    assert Workload(1, 0.25).question == asked
    assert Workload(1, 0.5).question != asked != Workload(2, 0.25).question


def test_without_kernels_there_is_nothing_to_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launches, "installed", dict)
    with pytest.raises(CdmaError, match="the kernels in C are not built, so there is nothing to time"):
        Workload(1)
