"""The random designs of a run, by its seed."""

from __future__ import annotations

import random

from cdma.hdl.spec.codecs import BLOCKS
from cdma.verif.campaigns.soak.designs import any_design
from cdma.verif.simulator.design import Design

__all__ = ["random_codecs"]


def random_codecs(seed: str, count: int) -> list[Design]:
    """So many compressors and decompressors."""
    rng = random.Random(seed)
    found: list[Design] = []
    while len(found) < count:
        design = any_design(rng)
        if design.block in BLOCKS:
            found.append(design)
    return found
