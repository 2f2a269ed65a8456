"""The stages of the tests: in which order they run, on one process or on several, and what became of each.

A test belongs to the stage of the innermost folder that is named here. Stages are an order and no barriers: a process that
has no test left takes some of another one's.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import NamedTuple, TypeVar


class Stage(NamedTuple):
    """A name, and the folders of its tests."""

    name: str
    folders: tuple[str, ...]


#: What fails first tells most: Verilog of every configuration, single blocks and the software, whole designs in simulation,
#: proofs, and a sample of mutants.
STAGES = (
    Stage("elaboration", ("tests/hdl/verilog", "tests/hdl/deliver")),
    Stage("units", ("tests",)),
    Stage("regression", ("tests/verif",)),
    Stage("proofs", ("tests/verif/proofs",)),
    Stage("mutants", ("tests/verif/campaigns/mutation",)),
)

#: How many tests are named that raised the memory of their process, by at least so many MiB.
_SHOWN, _LEAST_RISE = 8, 50

#: Bytes that a process of the tests takes with those that it starts: what it peaks at, and a compiler or a simulation.
_BYTES = 1.3e9

Item = TypeVar("Item")


def processes(cores: int | None = None, free: float | None = None) -> int:
    """How many processes run the tests: one for each core, as far as the ``free`` bytes of memory go."""
    if cores is None:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, int((_free() if free is None else free) / _BYTES)))


def _free() -> float:
    """The bytes that are free or can be made so: of the machine, and of the control group as far as it is limited."""
    meminfo, limit, used = (
        Path(name).read_text() if Path(name).is_file() else ""
        for name in ("/proc/meminfo", "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current")
    )
    found = re.search(r"MemAvailable: *(\d+) kB", meminfo)
    free = int(found[1]) * 1024 if found else os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min(free, int(limit) - int(used)) if limit.strip().isdigit() else free


def stage_of(nodeid: str) -> int:
    """The number of the stage of a test."""
    path = PurePosixPath(nodeid.partition("::")[0])
    for folder in path.parents:
        for number, stage in enumerate(STAGES):
            if str(folder) in stage.folders:
                return number
    return 0


def in_order(
    items: Sequence[Item], nodeid: Callable[[Item], str], slow: Callable[[Item], bool], workers: int = 1
) -> list[Item]:
    """The tests in the order in which to run them; in each stage files with slow tests first, so that no long one is left
    for the end.

    Several ``workers`` begin with equal shares of the list, one after the other. Each share then has tests of every stage
    in their order, and the tests of a file stay together as far as the shares allow.
    """

    def file_of(item: Item) -> str:
        return nodeid(item).partition("::")[0]

    def stage(item: Item) -> int:
        return stage_of(nodeid(item))

    files = [list(group) for _, group in groupby(items, file_of)]
    files.sort(key=lambda group: (stage(group[0]), not any(map(slow, group))))
    shares: list[list[Item]] = [[] for _ in range(workers)]
    for group in files:
        min(shares, key=len).extend(group)
    left, rest = len(items), []
    for number, share in enumerate(shares):
        size = left // (workers - number)
        rest += share[size:]
        del share[size:]
        left -= size
    left = len(items)
    for number, share in enumerate(shares):
        size = left // (workers - number)
        taken = [rest.pop() for _ in range(size - len(share))]
        share += taken
        share.sort(key=stage)
        left -= size
    return [item for share in shares for item in share]


@dataclass
class _Tally:
    tests: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0
    began: float = float("inf")
    ended: float = 0


@dataclass
class Summary:
    """Counts what became of the tests of each stage, when they ran, and what memory the processes took."""

    tallies: list[_Tally] = field(default_factory=lambda: [_Tally() for _ in STAGES])
    #: The most MiB that each process has had.
    peaks: dict[str, int] = field(default_factory=dict)
    #: By how much a test has raised the peak of its process.
    rises: Counter[str] = field(default_factory=Counter)

    def add_peak(self, process: str, nodeid: str, peak: int) -> None:
        """Notes the most MiB that a ``process`` has had until the end of a test."""
        if rise := peak - self.peaks.get(process, peak):
            self.rises[nodeid] += rise
        self.peaks[process] = peak

    def add(self, nodeid: str, phase: str, outcome: str, start: float, stop: float) -> None:
        """Adds a ``phase`` of a test: its ``setup``, its ``call`` or its ``teardown``."""
        tally = self.tallies[stage_of(nodeid)]
        tally.tests += phase == "setup"
        tally.failed += outcome == "failed"
        tally.skipped += outcome == "skipped"
        tally.seconds += stop - start
        tally.began, tally.ended = min(tally.began, start), max(tally.ended, stop)

    def lines(self) -> list[str]:
        """A table of the stages that had tests; nothing if all were of one."""
        ran = [(stage, tally) for stage, tally in zip(STAGES, self.tallies, strict=True) if tally.tests]
        if len(ran) < 2:
            return []
        zero = min(tally.began for _, tally in ran)
        rows = [
            f"{stage.name:12}{tally.tests:>7}{tally.failed:>8}{tally.skipped:>9}{tally.seconds:>9.0f}"
            f"{_clock(tally.began - zero):>9}{_clock(tally.ended - zero):>8}"
            for stage, tally in ran
        ]
        return [
            f"{'stage':12}{'tests':>7}{'failed':>8}{'skipped':>9}{'seconds':>9}{'from':>9}{'to':>8}",
            *rows,
            *self._memory(),
        ]

    def _memory(self) -> list[str]:
        """The most memory of a process, and the tests that raised it most."""
        if not self.peaks:
            return []
        most = self.rises.most_common(_SHOWN)
        rises = [f"  +{rise:,} MiB by {nodeid}" for nodeid, rise in most if rise >= _LEAST_RISE]
        return [f"a process had {max(self.peaks.values()):,} MiB at most", *rises]


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"
