"""``cdma prove``: what holds of the blocks for every input, shown by SymbiYosys."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdma.junit import Case, Suite, add_junit_option, junit_file, write_junit
from cdma.options import check_one_or_more
from cdma.rows import Growing, Table, tell, telling_at_the_end

if TYPE_CHECKING:
    from cdma.verif.proofs.proof import Claim, Result

__all__ = ["register"]


def register(subparsers: Any) -> None:
    """Adds the command's parser."""
    parser = subparsers.add_parser(
        "prove",
        help="prove properties of the blocks",
        description="Prove properties of the blocks with SymbiYosys, for every input and not for samples. "
        "Each proof has cover statements that must be reached, since assumptions that contradict each other prove anything. "
        "The status is 1 if a property fails, or was not shown in the time.",
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="only these proofs, or all whose names begin so"
    )
    parser.add_argument("--list", action="store_true", help="list the proofs and what each claims, and stop")
    parser.add_argument(
        "--quick", action="store_true", help="leave out what takes long: minutes in all, not an hour"
    )
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="proofs at once (default 1)")
    parser.add_argument(
        "--timeout", type=float, default=900, metavar="S", help="seconds for each proof (default 900)"
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("counterexamples"),
        metavar="DIR",
        help="takes the waveforms of what fails (default counterexamples)",
    )
    parser.add_argument("--no-cache", action="store_true", help="prove again, and keep nothing")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.add_argument("--markdown", action="store_true", help="print the table in Markdown")
    add_junit_option(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from cdma.base.spread import tool_threads
    from cdma.output import step_progress
    from cdma.verif.proofs.proof import HOLDS, choose
    from cdma.verif.proofs.runner import run_proof

    check_one_or_more(arguments, "jobs", "timeout")
    proofs = choose(arguments.names, quick=arguments.quick)
    if arguments.list:
        _list(proofs, arguments.json)
        return 0
    junit = junit_file(arguments)
    shown = not (arguments.json or arguments.markdown)
    widths = [max(len(getattr(proof, name)) for proof in proofs) for name in ("name", "config", "method")]
    table = Growing(_TITLES, widths, shown=shown)
    done: list[Result] = []
    with (
        telling_at_the_end(arguments, lambda: _conclude(done, len(proofs))),
        step_progress("proving", len(proofs)) as advance,
        tool_threads(arguments.jobs) as pool,
    ):

        def prove(proof: Claim) -> Result:
            result = run_proof(
                proof,
                timeout=arguments.timeout,
                traces=arguments.output,
                use_cache=not arguments.no_cache,
            )
            advance(what=f"{proof.name} ({proof.config}) {result.status}")
            table.add(_row(result))
            done.append(result)
            return result

        results = list(pool.map(prove, proofs))
    write_junit(junit, [Suite("cdma prove", [_case(result) for result in results])])
    return tell(
        arguments,
        all(result.status in HOLDS for result in results),
        json_of=lambda: [asdict(result) for result in results],
        show=lambda: _conclude(results, len(proofs)),
        markdown=lambda: _markdown(results),
    )


def _list(proofs: Sequence[Claim], as_json: bool) -> None:
    if as_json:
        rows = [
            {"property": proof.name, "config": proof.config, "method": proof.method, "claim": proof.claim}
            for proof in proofs
        ]
        print(json.dumps(rows, indent=2))
        return
    claims = {proof.name: proof.claim for proof in proofs}
    width = max(map(len, claims))
    for name, claim in claims.items():
        configs = "; ".join(proof.config for proof in proofs if proof.name == name)
        print(f"{name:{width}}  {claim} ({configs})")


_TITLES = ("property", "config", "method", "depth", "status", "seconds")


def _row(result: Result) -> list[str]:
    depth = str(result.depth or "")
    return [result.property, result.config, result.method, depth, result.status, f"{result.seconds:.1f}"]


def _markdown(results: Sequence[Result]) -> str:
    rows = [[f"`{result.property}`", *_row(result)[1:-1], f"{result.seconds:.0f}"] for result in results]
    return Table(_TITLES, rows, texts=3).markdown()


def _conclude(results: Sequence[Result], wanted: int) -> None:
    """The verdict on those that ran of so many, and what does not hold or was not shown."""
    from cdma.verif.proofs.proof import BOUNDED, HOLDS

    wrong = [result for result in results if result.status not in HOLDS]
    for result in wrong:
        print(f"\n{result.property} ({result.config}) {result.status}: {result.claim}")
        if result.detail:
            print(f"  {result.detail}")
        if result.trace is not None:
            print(f"  waveform: {result.trace}")
    counts = Counter(result.status for result in wrong)
    bounded = sum(result.status == BOUNDED for result in results)
    ran = (
        f"{len(results)} of {wanted} proofs have run, the others were not waited for"
        if len(results) < wanted
        else f"{wanted} proofs"
    )
    verdict = ", ".join(f"{count} {status}" for status, count in counts.items()) or "all hold"
    print(f"\n{ran}: {verdict}" + (f", {bounded} of them to their depth" if bounded and not wrong else ""))


def _case(result: Result) -> Case:
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
