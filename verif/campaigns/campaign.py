"""A campaign: independent parts on processors or a Dask cluster, each result kept by content.

An interrupted campaign continues where it stopped, and one with more parts runs only the new ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, Generic, TypeVar

from cdma.base.cache import Cache, cache_folder, content_key
from cdma.base.errors import CdmaError
from cdma.base.spread import Lost, spread
from cdma.verif.simulator.simulate import Design, Outcome

from .regression import Regression, check_budget, plan_of, verify


def verify_on_cluster(
    design: Design,
    scheduler: str,
    *,
    tests: Sequence[str] | None = None,
    seed: int = 1,
    packets: int | None = None,
    verilog: str | None = None,
    four_state: bool = False,
    report: Callable[[Outcome], None] | None = None,
) -> Regression:
    """:func:`.verify` with the workers of a Dask ``scheduler``. A lost job is a failed test."""
    plan = plan_of(design)
    budget = check_budget(plan, packets)
    points = plan.choose(design, tests)
    longest = sorted(points, key=lambda point: -point.weight)
    verify_some = partial(verify, design, seed=seed, packets=budget, verilog=verilog, four_state=four_state)
    campaign: Campaign[str] = Campaign(
        "regression",
        partial(_run, verify_some),
        lost=lambda test, reason: Outcome(test, f"the run was lost: {reason}"),
    )
    outcomes: dict[str, Outcome] = {}
    for test, outcome in campaign.results((point.name for point in longest), scheduler=scheduler):
        outcomes[test] = outcome
        if report is not None:
            report(outcome)
    return Regression(design, seed, budget, [outcomes[point.name] for point in points])


def _run(verify_some: Callable[..., Regression], test: str) -> Outcome:
    """Builds where there is no build yet, and runs one test."""
    (outcome,) = verify_some(tests=[test]).outcomes
    return outcome


Part = TypeVar("Part")

#: The rooms of the benches and of the models: what becomes of a part is theirs.
_BENCHES = ("verif", "sim/codec", "sim/engine", "hdl/spec")
_SOURCES = ("*.py", "*.cpp", "*.sv")


def _end(part: Any, reason: str) -> Any:
    raise CdmaError(f"{part} was lost: {reason}")


@dataclass(frozen=True)
class Campaign(Generic[Part]):
    """How the parts of a campaign run.

    ``name``: The folder of the cache.
    ``run``: Gives the result of a part. A worker calls it with the part alone.
    ``key``: Texts that the result depends on beside the benches and the models; None if nothing is kept. Kept results
        are JSON.
    ``lost``: Makes the result of a lost part from the reason, where nothing is kept. By default the campaign ends.
    ``prepare``: Called with the parts that will run on this machine, before the first does.
    """

    name: str
    run: Callable[[Part], Any]
    key: Callable[[Part], Iterable[str]] | None = None
    lost: Callable[[Part, str], Any] = _end
    prepare: Callable[[Sequence[Part]], None] | None = None

    def results(
        self,
        parts: Iterable[Part],
        *,
        jobs: int = 1,
        scheduler: str | None = None,
        seconds: float | None = None,
    ) -> Iterator[tuple[Part, Any]]:
        """Each part with its result: kept ones first, the others as they end.

        ``jobs`` of them run at once, or the workers of a Dask ``scheduler`` share them. Where nothing is kept, parts
        may be endless; after ``seconds`` those that still run are dropped.
        """
        if self.key is None:
            yield from self._run(parts, jobs, scheduler, seconds)
            return
        kept = Cache(cache_folder() / self.name)
        keys: dict[Part, str] = {}
        for part in parts:
            key = content_key(_benches_key(), *self.key(part))
            known = kept.load(key)
            if known is None:
                keys[part] = key
            else:
                yield part, known
        if keys and scheduler is None and self.prepare is not None:
            self.prepare(list(keys))
        for part, found in self._run(keys, jobs, scheduler):
            kept.store(keys[part], found)
            yield part, found

    def _run(
        self, parts: Iterable[Part], jobs: int, scheduler: str | None, seconds: float | None = None
    ) -> Iterator[tuple[Part, Any]]:
        started: list[Part] = []

        def take() -> Iterator[Part]:
            for part in parts:
                started.append(part)
                yield part

        for index, found in spread(self.run, take(), jobs=jobs, scheduler=scheduler, seconds=seconds):
            part = started[index]
            yield part, self.lost(part, found.reason) if isinstance(found, Lost) else found


@cache
def _benches_key() -> str:
    root = Path(__file__).parents[2]
    rooms = [root / name for name in _BENCHES]
    assert all(room.is_dir() for room in rooms), "a room has moved"
    sources = sorted(path for room in rooms for kind in _SOURCES for path in room.rglob(kind))
    return content_key(*(path.read_bytes() for path in sources))
