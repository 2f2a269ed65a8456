"""The proofs that there are, and the choice of some of them: by name, or for a design.

Each module of this folder may have

``PROOFS``
    Its proofs.
``own_proofs``
    A function of the name of a design's block and of its configuration: the proofs of exactly this configuration.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from cdma.base.errors import ParameterError

from . import __path__ as _folder
from .design import Config, blocks_in
from .proof import Claim
from .source import shell_of

__all__ = ["all_proofs", "choose", "exact_proofs", "smaller_proofs"]


def _modules() -> Iterator[ModuleType]:
    for found in iter_modules(_folder):
        yield import_module(f"{__package__}.{found.name}")


@cache
def all_proofs() -> Sequence[Claim]:
    """All proofs by name, those of one name in the order of their module."""
    found = [proof for module in _modules() for proof in getattr(module, "PROOFS", ())]
    return sorted(found, key=lambda proof: proof.name)


def choose(names: Sequence[str], *, quick: bool = False) -> list[Claim]:
    """The proofs of these names, or all; a name may be the beginning of several.

    ``quick`` leaves out those that take long.
    """
    for name in names:
        if not any(_is_part(name, proof.name) for proof in all_proofs()):
            known = sorted({proof.name for proof in all_proofs()})
            near = difflib.get_close_matches(name, known, 3)
            hint = f"did you mean {' or '.join(near)}?" if near else "cdma prove --list lists them"
            raise ParameterError(f"there is no proof {name!r}; {hint}")
    chosen = [
        proof for proof in all_proofs() if not names or any(_is_part(name, proof.name) for name in names)
    ]
    return [proof for proof in chosen if proof.quick or not quick]


def _is_part(name: str, whole: str) -> bool:
    return whole == name or whole.startswith(f"{name}_")


def exact_proofs(block: str, config: Config) -> list[Claim]:
    """The proofs of exactly this configuration: its butterflies where they have a proof, the arithmetic of its error-bounded
    stage, its Verilog against its source, and for a codec the rules at its ports."""
    makers = [module.own_proofs for module in _modules() if hasattr(module, "own_proofs")]
    return sorted((proof for make in makers for proof in make(block, config)), key=lambda proof: proof.name)


def smaller_proofs(block: str, config: Config) -> list[Claim]:
    """The proofs of the design's blocks in other configurations, mostly smaller ones."""
    blocks = blocks_in(shell_of(block, config))
    own = {(proof.name, proof.config) for proof in exact_proofs(block, config)}
    return [
        proof
        for proof in all_proofs()
        if (proof.name, proof.config) not in own and proof.is_about(config, blocks)
    ]
