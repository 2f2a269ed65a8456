"""The bench of an outsider, who knows the engine from the documents alone.

``python -m tests.support.outside 3000`` runs it for longer.
"""

from __future__ import annotations

import pytest

from tests.support.outside import CONFIGS, run
from tests.support.thorough import cases_of

#: Shapes of fields have what software does in another way: a CRC, descriptors of two entries, owners, pages. Several ports,
#: clocks, queues, codes of bytes and pipelines are the same to an outsider, and the regression has them in every run.
FURTHER = {
    "small",
    "bytes",
    "fields",
    "any-byte",
    "units",
    "units-to-any-byte",
    "shapes-of-any-byte",
    "pipelined",
    "owners",
    "pairs",
}


@pytest.mark.verilator
@pytest.mark.slow
@pytest.mark.parametrize("name", cases_of({name: name for name in CONFIGS}, FURTHER))
def test_an_outsider_finds_what_the_documents_say(name: str) -> None:
    assert {outcome.test: outcome.failure for outcome in run(name, 6) if outcome.failure} == {}
