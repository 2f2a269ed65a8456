"""The short set of proofs: every one holds, and every one would not if the block were broken (``test_broken.py``)."""

import pytest

from cdma.verif.proofs.proof import HOLDS, choose
from cdma.verif.proofs.runner import run_proof


@pytest.mark.slow
@pytest.mark.parametrize("proof", choose([], quick=True), ids=lambda proof: proof.label)
def test_holds(proof):
    result = run_proof(proof, use_cache=False)
    assert result.status in HOLDS, result
    assert result.covers
