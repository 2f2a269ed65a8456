"""A certificate for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cdma.verif.blocks import plan_of
from cdma.verif.campaigns.mutation.campaign import SCORE_TITLES, scores
from cdma.verif.regression import COUNTS

from .certificate import GOAL, Certificate

__all__ = ["markdown"]


def markdown(certificate: Certificate) -> str:
    """The text of a certificate."""
    return "\n".join(_lines(certificate)) + "\n"


def _lines(certificate: Certificate) -> Iterator[str]:
    run = certificate.regression
    yield f"# Certificate of {run.design.top}.v\n"
    yield f"**{'Something does not hold.' if certificate.fails else 'Everything that was tried holds.'}**\n"
    yield from _table(
        ("", ""),
        [
            ("design", str(run.design)),
            ("SHA-256 of the file", f"`{certificate.sha256}`"),
            ("again", f"`cdma verify {' '.join(filter(None, [run.design.block, run.design.options()]))}`"),
            ("made", certificate.made),
        ],
    )
    yield from _sentences("Does not hold", certificate.fails)
    yield from _sentences("Not done or not shown", certificate.open)
    yield from _tests(certificate)
    yield from _proofs(certificate)
    yield from _mutants(certificate)
    yield "## Coverage\n"
    if certificate.coverage is None:
        yield "Not measured.\n"
    else:
        yield from _table(("", "%"), [(name, f"{value:.1f}") for name, value in certificate.coverage.items()])
    yield "## Configuration\n"
    settings = {**run.design.config.settings(), "initial values": run.design.init}
    yield from _table(("parameter", "value"), [(name, str(value)) for name, value in settings.items()])
    yield "## Tools\n"
    yield from _table(("tool", "version"), list(certificate.tools.items()))


def _sentences(title: str, sentences: Sequence[str]) -> Iterator[str]:
    yield f"## {title}\n"
    yield from (f"- {sentence}" for sentence in sentences or ["nothing"])
    yield ""


def _tests(certificate: Certificate) -> Iterator[str]:
    run = certificate.regression
    plan = plan_of(run.design)
    points = {point.name: point for point in plan.points}
    yield "## Tests\n"
    yield f"{certificate.simulators}; seed {run.seed}, budget {run.packets:,} {plan.unit}.\n"
    rows = [
        (
            f"`{outcome.test}`",
            points[outcome.test].statement,
            "passed" if outcome.failure is None else "FAILED",
            *(f"{getattr(outcome, name):,}" for name in COUNTS),
        )
        for outcome in run.outcomes
    ]
    yield from _table(("test", "stimulus and check", "result", plan.unit, *COUNTS[1:]), rows)


def _proofs(certificate: Certificate) -> Iterator[str]:
    yield "## Proofs\n"
    if certificate.proofs is None:
        yield "None was run.\n"
        return
    yield "pdr, induction, scorr and equiv hold for runs of any length,"
    yield "bmc for as many cycles from the reset as its depth says.\n"
    for own, title in (
        (True, "Of this very configuration:"),
        (False, "Of blocks that it has, in other configurations:"),
    ):
        rows = [
            (
                f"`{result.property}`",
                *(() if own else (result.config,)),
                result.claim,
                result.method,
                str(result.depth or ""),
                result.status,
            )
            for result in (each.result for each in certificate.proofs if each.own == own)
        ]
        titles = ("property", *(() if own else ("configuration",)), "claim", "method", "depth", "status")
        yield f"{title}\n"
        yield from _table(titles, rows)


def _mutants(certificate: Certificate) -> Iterator[str]:
    yield "## Mutants\n"
    if certificate.mutants is None:
        yield "None was run.\n"
        return
    yield "Faults put into the netlist one at a time; the goal is that the regression finds"
    yield f"{GOAL:g} % of those that are not equivalent.\n"
    rows = [row.cells() for row in scores(certificate.mutants, certificate.regression.design.block)]
    yield from _table(SCORE_TITLES, rows)


def _table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(titles)} |"
    yield f"|{'---|' * len(titles)}"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', '/') for cell in row)} |"
    yield ""
