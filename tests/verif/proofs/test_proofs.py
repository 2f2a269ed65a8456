"""The short set of proofs: every one holds, and every one would not if the block were broken (``test_broken.py``)."""

import pytest

from cdma.base.errors import ParameterError
from cdma.verif.proofs.proof import METHODS
from cdma.verif.proofs.registry import PROOFS, choose
from cdma.verif.proofs.result import HOLDS
from cdma.verif.proofs.runner import run_proof


@pytest.mark.slow
@pytest.mark.parametrize("proof", choose([], quick=True), ids=lambda proof: proof.label)
def test_holds(proof):
    result = run_proof(proof, timeout=120, use_cache=False)
    assert result.status in HOLDS, result
    assert result.covers


def test_the_list():
    assert {proof.method for proof in PROOFS} <= set(METHODS)
    assert len({proof.label for proof in PROOFS}) == len(PROOFS)
    claims = {(proof.name, proof.claim) for proof in PROOFS}
    assert len(claims) == len({name for name, _ in claims}), "one claim for all proofs of a name"
    assert [proof.label for proof in PROOFS if proof.method in ("induction", "bmc") and not proof.depth] == []


def test_choice():
    assert {proof.name for proof in choose(["butterfly"])} == {"butterfly_concentrate", "butterfly_expand"}
    assert {proof.name for proof in choose(["fifo", "skid_buffer"])} == {"fifo", "skid_buffer"}
    assert choose([]) == PROOFS
    with pytest.raises(ParameterError, match="there is no proof 'fido'; did you mean fifo"):
        choose(["fido"])
