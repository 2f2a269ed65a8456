"""The certificate: lint, tests, coverage, proofs, mutants and faults."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cdma.hdl.deliver.document import Paragraph, Part, Table
from cdma.hdl.deliver.flows import waivers

from .documents import cited
from .line import Line
from .subject import Subject

if TYPE_CHECKING:
    from cdma.verif.campaigns.regression import Regression
    from cdma.verif.proofs.proof import Result

__all__ = ["coverage", "faults", "four_states", "gates", "lint", "mutants", "netlist", "proofs", "tests"]

_GUIDE = "docs/verification.md"


def lint(subject: Subject) -> Line:
    """Verilator's warnings, and each waiver with its reason."""
    ran = subject.ran.lint
    counts = ran.waived if ran is not None else {}
    rows = [(f"`{each.rule}`", each.reason, str(counts.get(each, ""))) for each in waivers()]
    table = Table(("waived rule", "reason", "warnings"), rows)
    command, title = subject.command("intake", "--run lint"), "Lint, with waivers and their reasons"
    if ran is None:
        return Line("lint", title, [command], f"Verilator -Wall, with {len(rows)} waivers.", [table])
    found = len(ran.complaints)
    answer = (
        f"Verilator -Wall has {found or 'no'} complaint{'s' if found > 1 else ''} beside {len(rows)} waivers."
    )
    return subject.shown("lint", title, [command], answer, table, fails=ran.complaints)


def netlist(subject: Subject) -> Line:
    """What a netlist must not have if a chip is to be timed and tested."""
    ran, title = subject.ran.netlist, "Netlist: clocks, no latch, no loop, no tri-state"
    command = subject.command("intake", "--run netlist")
    said = "Ports alone clock and asynchronously reset what is stored, and nothing else holds a value."
    if ran is None:
        return Line("netlist", title, [command], said)
    answer = (
        f"{ran.flip_flops:,} flip-flops and {ran.memories} memories at the rising edge of {', '.join(ran.clocks)}; "
        f"{len(ran.faults) or 'no'} latch, combinational loop, tri-state, or clock or asynchronous reset that is no port."
    )
    return subject.shown("netlist", title, [command], answer, fails=ran.faults)


def tests(subject: Subject) -> Line:
    """The regression on this very Verilog."""
    return _regression(
        subject,
        "tests",
        "Tests",
        subject.command("verify"),
        subject.ran.tests,
        "Every bit is compared with the golden model, with random back-pressure on every interface.",
    )


def gates(subject: Subject) -> Line:
    """The regression on gates."""
    command = subject.command("verify", "--netlist gates")
    said = "The same tests on the gates that Yosys makes of the Verilog without initial values."
    return _regression(subject, "gates", "Tests on gates", command, subject.ran.gates, said)


def four_states(subject: Subject) -> Line:
    """The regression with unknown values."""
    no_init = [] if not subject.design.init else ["--no-init"]
    command = subject.command("verify", *no_init, "--simulator icarus")
    said = "The same tests in Icarus Verilog: no output may be unknown after a reset."
    return _regression(subject, "four-states", "Tests in four states", command, subject.ran.four_states, said)


def _regression(
    subject: Subject, key: str, title: str, command: str, run: Regression | None, said: str
) -> Line:
    from cdma.verif.campaigns.regression import plan_of

    plan = plan_of(subject.design)
    points = plan.choose(subject.design)
    if run is None:
        listed = Table(
            ("test", "stimulus and check"), [(f"`{each.name}`", each.statement) for each in points]
        )
        # Once is enough: the other lines have the same tests.
        parts: list[Part] = [listed] if key == "tests" else []
        return Line(key, title, [command], said, parts)
    from cdma.verif.campaigns.certificate.finding import regression_finding
    from cdma.verif.campaigns.regression import COUNTS

    statements = {point.name: point.statement for point in points}
    rows = [
        (
            f"`{outcome.test}`",
            statements[outcome.test],
            "passed" if outcome.failure is None else "FAILED",
            *(f"{getattr(outcome, name):,}" for name in COUNTS),
        )
        for outcome in run.outcomes
    ]
    failed = sum(outcome.failure is not None for outcome in run.outcomes)
    answer = (
        f"{len(rows) - failed} of {len(points)} tests passed, {failed} failed: {run.total('checks'):,} checks in "
        f"{run.total('cycles'):,} cycles. {said}"
    )
    budget = Paragraph(f"Seed {run.seed}, budget {run.packets:,} {plan.unit}.")
    table = Table(("test", "stimulus and check", "result", plan.unit, *COUNTS[1:]), rows)
    return subject.of_finding(key, title, [command], answer, regression_finding(run), budget, table)


def coverage(subject: Subject) -> Line:
    """What the tests reach, and what nothing can."""
    from cdma.verif.campaigns.coverage.exclusions import EXCLUSIONS

    applied = [each for each in EXCLUSIONS if each.needs(subject.design)]
    excluded = Table(
        ("excluded of", "line", "reason"),
        [(f"`{each.block}`", f"`{each.text}`", each.reason) for each in applied],
    )
    reasons: list[Part] = (
        [Paragraph(f"{len(applied)} exclusions, each with its reason:"), excluded] if applied else []
    )
    command, title, found = subject.command("coverage"), "Coverage", subject.ran.coverage
    if found is None:
        return Line("coverage", title, [command], "Lines, branches, toggles and functional goals.", reasons)
    from cdma.verif.campaigns.certificate.finding import coverage_finding, reached_by

    percents, not_reached = reached_by(found)
    answer = f"{', '.join(f'{value:.1f} % of {name}' for name, value in percents.items())}."
    finding = coverage_finding(percents, not_reached)
    return subject.of_finding("coverage", title, [command], answer, finding, *reasons)


def proofs(subject: Subject) -> Line:
    """What is proven, by which method and to which depth."""
    from cdma.verif.campaigns.certificate.finding import chosen_proofs

    ran, title = subject.ran.proofs, "Proofs, with their depth"
    commands = [subject.command("intake", "--run proofs")]
    methods = cited(_GUIDE, "Proofs", "pdr and induction")
    if ran is None:
        chosen = chosen_proofs(subject.design)
        listed = [
            (f"`{claim.name}`", claim.config, claim.claim, claim.method, str(claim.depth or ""))
            for claim in (*chosen.own, *chosen.short)
        ]
        answer = f"{len(chosen.own)} proofs of this configuration and {len(chosen.short)} of its blocks can be run."
        table = Table(("proof", "configuration", "claim", "method", "depth"), listed)
        return Line("proofs", title, commands, answer, [*methods, table])
    from cdma.verif.campaigns.certificate.finding import proofs_finding
    from cdma.verif.proofs.proof import HOLDS

    own, others = ([each.result for each in ran.shown if each.own is mine] for mine in (True, False))
    hold = [sum(each.status in HOLDS for each in results) for results in (own, others)]
    answer = (
        f"{hold[0]} of {len(own)} proofs of this very configuration hold, and {hold[1]} of {len(others)} of its blocks in "
        "other, mostly smaller ones."
    )
    parts = [
        *methods,
        Paragraph("Of this configuration:"),
        _proven(own),
        Paragraph("Of its blocks:"),
        _proven(others),
    ]
    return subject.of_finding("proofs", title, commands, answer, proofs_finding(ran.shown, ran.long), *parts)


def _proven(results: Sequence[Result]) -> Table:
    rows = [
        (f"`{each.property}`", each.config, each.claim, each.method, str(each.depth or ""), each.status)
        for each in results
    ]
    return Table(("proof", "configuration", "claim", "method", "depth", "status"), rows)


def mutants(subject: Subject) -> Line:
    """Which faults in the design the regression finds."""
    ran, title = subject.ran.mutants, "Mutants"
    commands = [subject.command("intake", "--run mutants"), f"cdma mutate --block {subject.block}"]
    from cdma.verif.campaigns.certificate.finding import GOAL

    goal = f"The goal is that the regression finds {GOAL:g} % of those that are not equivalent."
    if ran is None:
        return Line("mutants", title, commands, f"Faults put into the netlist one at a time. {goal}")
    from cdma.verif.campaigns.certificate.finding import mutants_finding
    from cdma.verif.campaigns.mutation.campaign import SCORE_TITLES, scores

    counted = scores(ran, subject.block)
    whole = counted[-1]
    answer = f"{whole.killed} of {whole.mutants - whole.equivalent} found, {100 * whole.score:.1f} %. {goal}"
    table = Table(SCORE_TITLES, [each.cells() for each in counted])
    return subject.of_finding("mutants", title, commands, answer, mutants_finding(ran, counted), table)


def faults(subject: Subject) -> Line | None:
    """Bus errors, stalls, aborts, resets and corrupted streams everywhere in a few transfers."""
    if not subject.is_engine:
        return None
    said = "Bus errors, stalls, aborts, resets and corrupted streams, one at a time and everywhere: is any silent?"
    commands, title, ran = [subject.command("intake", "--run faults")], "Fault campaigns", subject.ran.faults
    if ran is None:
        return Line("faults", title, [*commands, "cdma faults"], said)
    from cdma.verif.campaigns.faults.verdict import OUTCOMES

    names = ("cases", *OUTCOMES, "outside")
    rows = [
        (campaign, kind, *(f"{counts[name]:,}" for name in names))
        for campaign, tally in ran.items()
        for kind, counts in tally.counts.items()
    ]
    every = [counts for tally in ran.values() for counts in tally.counts.values()]
    cases, bad = (
        sum(counts[name] for counts in every for name in chosen) for chosen in (names[:1], names[-4:])
    )
    failures = [
        f"{each['kind']} {each['case']}: {each['reason']}"
        for tally in ran.values()
        for each in tally.failures
    ]
    answer = (
        f"{cases:,} faults; {bad or 'none'} of them reported wrongly, silent, hung or written outside. {said}"
    )
    table = Table(("campaign", "fault", *names[:-1], "bytes outside"), rows)
    data = {campaign: vars(tally) for campaign, tally in ran.items()}
    return subject.shown("faults", title, commands, answer, table, fails=failures, data=data)
