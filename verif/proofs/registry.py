"""All proofs, in the order in which they are shown, and the choice of some of them."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from cdma.base.errors import ParameterError

from . import (
    arbiter,
    axi,
    butterfly,
    channel,
    checker,
    codec,
    completer,
    compressor_parts,
    counters,
    decoding,
    pace,
    ports,
    quantised,
    queues,
    ring_slot,
    rings,
    slots,
    source,
    word_flow,
)
from .equivalence import Equivalence
from .proof import Proof

__all__ = ["PROOFS", "choose"]

PROOFS: list[Proof | Equivalence] = [
    *butterfly.PROOFS,
    *queues.PROOFS,
    *word_flow.PROOFS,
    *counters.PROOFS,
    *axi.PROOFS,
    *arbiter.PROOFS,
    *checker.PROOFS,
    *slots.PROOFS,
    *completer.PROOFS,
    *ring_slot.PROOFS,
    *rings.PROOFS,
    *channel.PROOFS,
    *compressor_parts.PROOFS,
    *pace.PROOFS,
    *decoding.PROOFS,
    *codec.PROOFS,
    *ports.PROOFS,
    *source.PROOFS,
    *quantised.PROOFS,
]


def choose(names: Sequence[str], *, quick: bool = False) -> list[Proof | Equivalence]:
    """The proofs of these names, or all; a name may be the beginning of several.

    ``quick`` leaves out those that take long.
    """
    for name in names:
        if not any(_is_part(name, proof.name) for proof in PROOFS):
            known = sorted({proof.name for proof in PROOFS})
            near = difflib.get_close_matches(name, known, 3)
            hint = f"did you mean {' or '.join(near)}?" if near else "cdma prove --list lists them"
            raise ParameterError(f"there is no proof {name!r}; {hint}")
    chosen = [proof for proof in PROOFS if not names or any(_is_part(name, proof.name) for name in names)]
    return [proof for proof in chosen if proof.quick or not quick]


def _is_part(name: str, whole: str) -> bool:
    return whole == name or whole.startswith(f"{name}_")
