"""Cases of a test of which some are for ``make thorough``. The revision of the checkout, and what a run of the tests
takes by it.
"""

from __future__ import annotations

import subprocess
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import pytest
from _pytest.mark.structures import ParameterSet

from cdma import __version__
from tests.support.paths import ROOT


def cases_of(shapes: Mapping[str, object], thorough: Collection[str]) -> list[ParameterSet]:
    """The parameters of each shape, with its name. Shapes named in ``thorough`` are those that others nearly cover."""
    unknown = set(thorough) - set(shapes)
    assert not unknown, f"no shape is called {', '.join(sorted(unknown))}"
    return [
        pytest.param(
            *(values if isinstance(values, tuple) else (values,)),
            id=name,
            marks=[pytest.mark.thorough] if name in thorough else [],
        )
        for name, values in shapes.items()
    ]


#: As many revisions in a row take everything that is taken by turns.
TURNS = 17


def revision() -> str:
    """The revision of the checkout, or the version where there is no history."""
    return _git(ROOT, "rev-parse", "--short=12", "HEAD") or __version__


def turn_of(root: Path = ROOT) -> int:
    """The turn of a checkout: revisions counted; of a shallow clone its revision's number, and 0 without any."""
    if _git(root, "rev-parse", "--is-shallow-repository") != "true":
        return int(_git(root, "rev-list", "--count", "HEAD") or 0) % TURNS
    return int(_git(root, "rev-parse", "HEAD"), 16) % TURNS


def this_turn(names: Sequence[str], turn: int) -> set[str]:
    """Those of the names whose turn it is."""
    return set(names[turn::TURNS])


def one_block_each(
    configs: Mapping[str, object], blocks: Sequence[str], thorough: Collection[str] = ()
) -> list[ParameterSet]:
    """The cases of each configuration with each block, which is the first parameter. A run takes one block of each, and that
    of the next revision another one."""
    now = [name for name in configs if name not in thorough]
    taken = {f"{name}-{blocks[(number + turn_of()) % len(blocks)]}" for number, name in enumerate(now)}
    cases = {
        f"{name}-{block}": (block, *(values if isinstance(values, tuple) else (values,)))
        for name, values in configs.items()
        for block in blocks
    }
    return cases_of(cases, cases.keys() - taken)


def _git(root: Path, *words: str) -> str:
    """What git says of a folder; nothing where there is no git, or no history."""
    try:
        done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True)
    except OSError:
        return ""
    return done.stdout.strip()
