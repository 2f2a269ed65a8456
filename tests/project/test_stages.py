"""The order of the tests: by stages, on one process and on several."""

from __future__ import annotations

import pytest

from tests.support.paths import ROOT
from tests.support.stages import STAGES, in_order, processes, stage_of

_NAMES = [stage.name for stage in STAGES]
#: Files of tests, how many each has, and whether one of them is slow.
_FILES = {
    "tests/verif/campaigns/mutation/test_quick.py": (3, False),
    "tests/verif/campaigns/mutation/test_slow.py": (2, True),
    "tests/verif/proofs/test_proofs.py": (9, True),
    "tests/verif/engine/test_regression.py": (14, True),
    "tests/cli/test_help.py": (20, False),
    "tests/hdl/blocks/test_fifo.py": (11, False),
    "tests/hdl/verilog/test_emit.py": (8, False),
}
_TESTS = [f"{file}::test_{number}" for file, (count, _) in _FILES.items() for number in range(count)]


def _slow(nodeid: str) -> bool:
    return _FILES[nodeid.partition("::")[0]][1] and nodeid.endswith("_0")


def _ordered(workers: int) -> list[str]:
    return in_order(_TESTS, str, _slow, workers)


def test_each_folder_of_a_stage_has_tests() -> None:
    assert [
        folder for stage in STAGES for folder in stage.folders if not list((ROOT / folder).rglob("test_*.py"))
    ] == []


@pytest.mark.parametrize("workers", [1, 2, 3, 5])
def test_each_of_several_processes_has_the_stages_in_order(workers: int) -> None:
    ordered = _ordered(workers)
    assert sorted(ordered) == sorted(_TESTS)
    # As pytest-xdist shares them out.
    start = 0
    for number in range(workers):
        size = (len(ordered) - start) // (workers - number)
        stages = [stage_of(nodeid) for nodeid in ordered[start : start + size]]
        assert stages == sorted(stages)
        assert stages[0] < _NAMES.index("proofs")
        start += size


@pytest.mark.parametrize(
    ("cores", "gigabytes", "run"), [(2, 24, 2), (8, 16, 8), (8, 7, 5), (64, 64, 49), (4, 1, 1), (1, 0.1, 1)]
)
def test_a_process_for_each_core_that_there_is_memory_for(cores: int, gigabytes: float, run: int) -> None:
    assert processes(cores, gigabytes * 1e9) == run
