"""The random designs of a run: others with every revision, the same again at the same one."""

from __future__ import annotations

import random
import subprocess

from cdma import __version__
from cdma.hdl.spec.codecs import BLOCKS
from cdma.verif.campaigns.soak.designs import any_design
from cdma.verif.simulator.design import Design
from tests.support.paths import ROOT

__all__ = ["random_codecs", "revision"]


def revision() -> str:
    """The revision of the checkout, or the version where there is no history."""
    done = subprocess.run(
        ["git", "rev-parse", "--short=12", "HEAD"], cwd=ROOT, capture_output=True, text=True
    )
    return done.stdout.strip() or __version__


def random_codecs(seed: str, count: int) -> list[Design]:
    """So many compressors and decompressors."""
    rng = random.Random(seed)
    found: list[Design] = []
    while len(found) < count:
        design = any_design(rng)
        if design.block in BLOCKS:
            found.append(design)
    return found
