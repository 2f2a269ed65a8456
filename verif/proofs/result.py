"""What became of a proof."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["BOUNDED", "FAILED", "FAILURES", "HOLDS", "PROVEN", "UNKNOWN", "VACUOUS", "Result"]

PROVEN = "proven"
BOUNDED = "bounded"
FAILED = "failed"
#: A cover statement was not reached: the assumptions may contradict each other, so the assertions say nothing.
VACUOUS = "vacuous"
#: Neither shown nor refuted in the time.
UNKNOWN = "unknown"
#: The statuses of a claim that holds; a bounded one holds for as many cycles as its depth says.
HOLDS = (PROVEN, BOUNDED)
#: Those of a claim that does not; one that was neither shown nor refuted is not among them.
FAILURES = (FAILED, VACUOUS)


@dataclass(frozen=True)
class Result:
    """What became of a proof.

    ``depth``
        Cycles that the claim was shown for, or that a step of the induction assumes; None where the method needs none.
    ``seconds``
        What it took when it was run, which may have been before.
    ``covers``
        Cover statements, all of which were reached where the status is one of :data:`HOLDS`; of an equivalence, the bits
        that were compared.
    ``detail``
        What failed, or was not reached.
    ``trace``
        The waveform of the counterexample.
    """

    property: str
    config: str
    method: str
    depth: int | None
    status: str
    seconds: float
    covers: int
    claim: str
    detail: str = ""
    trace: str | None = None
