"""``cdma prove``: what holds of the blocks for every input, shown by SymbiYosys."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from cdma.base.document import Table
from cdma.command import Command, flag, option
from cdma.junit import JUNIT, Case, Suite, junit_file, write_junit
from cdma.options import check_one_or_more
from cdma.result import Growing, Result, telling_at_the_end

if TYPE_CHECKING:
    from cdma.verif.proofs.proof import Claim
    from cdma.verif.proofs.proof import Result as Proven


def _run(arguments: argparse.Namespace) -> Result:
    from cdma.base.spread import tool_threads
    from cdma.output import step_progress
    from cdma.verif.proofs.proof import HOLDS, choose
    from cdma.verif.proofs.runner import run_proof

    check_one_or_more(arguments, "jobs", "timeout")
    proofs = choose(arguments.names, quick=arguments.quick)
    if arguments.list:
        return _list(proofs)
    junit = junit_file(arguments)
    widths = [max(len(getattr(proof, name)) for proof in proofs) for name in ("name", "config", "method")]
    table = Growing(arguments, _TITLES, widths)
    done: list[Proven] = []
    with (
        telling_at_the_end(arguments, lambda: _conclude(done, len(proofs))),
        step_progress("proving", len(proofs)) as advance,
        tool_threads(arguments.jobs) as pool,
    ):

        def prove(proof: Claim) -> Proven:
            result = run_proof(
                proof, timeout=arguments.timeout, traces=arguments.output, use_cache=not arguments.no_cache
            )
            advance(what=f"{proof.name} ({proof.config}) {result.status}")
            table.add(_row(result))
            done.append(result)
            return result

        results = list(pool.map(prove, proofs))
    write_junit(junit, [Suite("cdma prove", [_case(result) for result in results])])
    holds = all(result.status in HOLDS for result in results)
    rows = [[f"`{result.property}`", *_row(result)[1:-1], f"{result.seconds:.0f}"] for result in results]
    document = [Table(_TITLES, rows, (3, 4, 5))]
    return Result([asdict(each) for each in results], _conclude(results, len(proofs)), holds, document)


def _list(proofs: Sequence[Claim]) -> Result:
    rows = [
        {"property": proof.name, "config": proof.config, "method": proof.method, "claim": proof.claim}
        for proof in proofs
    ]
    claims = {proof.name: proof.claim for proof in proofs}
    width = max(map(len, claims))
    configs = {name: "; ".join(each.config for each in proofs if each.name == name) for name in claims}
    return Result(rows, [f"{name:{width}}  {claim} ({configs[name]})" for name, claim in claims.items()])


_TITLES = ("property", "config", "method", "depth", "status", "seconds")


def _row(result: Proven) -> list[str]:
    depth = str(result.depth or "")
    return [result.property, result.config, result.method, depth, result.status, f"{result.seconds:.1f}"]


def _conclude(results: Sequence[Proven], wanted: int) -> Iterator[str]:
    """The verdict on those that ran of so many, and what does not hold or was not shown."""
    from cdma.verif.proofs.proof import BOUNDED, HOLDS

    wrong = [result for result in results if result.status not in HOLDS]
    for result in wrong:
        yield f"\n{result.property} ({result.config}) {result.status}: {result.claim}"
        if result.detail:
            yield f"  {result.detail}"
        if result.trace is not None:
            yield f"  waveform: {result.trace}"
    counts = Counter(result.status for result in wrong)
    bounded = sum(result.status == BOUNDED for result in results)
    ran = (
        f"{len(results)} of {wanted} proofs have run, the others were not waited for"
        if len(results) < wanted
        else f"{wanted} proofs"
    )
    verdict = ", ".join(f"{count} {status}" for status, count in counts.items()) or "all hold"
    yield f"\n{ran}: {verdict}" + (f", {bounded} of them to their depth" if bounded and not wrong else "")


def _case(result: Proven) -> Case:
    """A proof for JUnit."""
    from cdma.verif.proofs.proof import HOLDS

    holds = result.status in HOLDS
    return Case(
        f"{result.property} ({result.config})",
        "prove",
        result.seconds,
        failure="" if holds else f"{result.status}: {result.detail or result.claim}",
        replay=f"cdma prove {result.property}",
    )


COMMAND = Command(
    "prove",
    "prove properties of the blocks",
    "Prove properties of the blocks with SymbiYosys, for every input and not for samples. Each proof has cover statements "
    "that must be reached, since assumptions that contradict each other prove anything. The status is 1 if a property "
    "fails, or was not shown in the time.",
    _run,
    {
        "": (
            option("names NAME*", "only these proofs, or all whose names begin so"),
            flag("--list", "list the proofs and what each claims, and stop"),
            flag("--quick", "leave out what takes long: minutes in all, not an hour"),
            option("--jobs N", "proofs at once", 1),
            option("--timeout S", "seconds for each proof", 900.0),
            option("-o --output DIR", "takes the waveforms of what fails", Path("counterexamples")),
            flag("--no-cache", "prove again, and keep nothing"),
            flag("--json", "print the results as JSON"),
            flag("--markdown", "print the table in Markdown"),
            JUNIT,
        ),
    },
    ["--list", "--quick --jobs 2", "compressor_any_stream"],
)  # fmt: skip
