"""Writes the test plan: what each test sends and checks, and what each proof claims.

    python docs/make_testplan.py           # writes docs/testplan.md
    python docs/make_testplan.py --check   # writes nothing

With ``--check`` the status is 1 where the file is not as it would be written.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from cdma.verif.engine.plan import ENGINE_PLAN
from cdma.verif.proofs.choice import all_proofs
from cdma.verif.simulator.plan import TestPlan
from cdma.verif.stream.codec.plan import CODEC_PLAN
from cdma.verif.stream.stage.plan import STAGE_PLAN

FILE = Path(__file__).resolve().parent / "testplan.md"

_HEAD = """\
# Test plan

What is exercised by which test. [verification.md](verification.md) says how each is run and what all of them check.
This file is made by `docs/make_testplan.py` from the tests' own registrations (`verif/stream/codec/plan.py`, `verif/stream/stage/plan.py`,
`verif/engine/plan.py`, `verif/proofs`). A test compares it with `cdma verify BLOCK --list` and
`cdma prove --list`: no test is without a row, and no row without a test.
"""


def text() -> str:
    """The test plan."""
    parts = [
        _HEAD,
        *_regression("Codecs", "`cdma verify compressor`, `cdma verify decompressor`", CODEC_PLAN),
        *_regression("Stages", "`cdma verify quantiser`, `cdma verify dequantiser`", STAGE_PLAN),
        *_regression("Engines", "`cdma verify engine`", ENGINE_PLAN),
        *_proofs(),
    ]
    return "\n".join(parts) + "\n"


def _regression(title: str, commands: str, plan: TestPlan) -> Iterator[str]:
    yield f"## {title}\n\n{commands}\n"
    yield "| test | stimulus | check | designs |\n|---|---|---|---|"
    for point in plan.points:
        yield f"| `{point.name}` | {point.stimulus} | {point.check} | {point.needs.__doc__} |"
    yield ""


def _proofs() -> Iterator[str]:
    yield "## Proofs\n\n`cdma prove`; the stimulus is anything that the rules of the ports allow.\n"
    yield "| proof | claim | configurations |\n|---|---|---|"
    for name, claim in {proof.name: proof.claim for proof in all_proofs()}.items():
        configs = "; ".join(proof.config for proof in all_proofs() if proof.name == name)
        yield f"| `{name}` | {claim} | {configs} |"


def main() -> int:
    """Runs the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="compare the file and write none")
    arguments = parser.parse_args()
    made = text()
    if FILE.is_file() and FILE.read_text(encoding="utf-8") == made:
        return 0
    if arguments.check:
        print("docs/testplan.md is not current: run python docs/make_testplan.py")
        return 1
    temporary = FILE.with_name(f".{FILE.name}.{os.getpid()}")
    temporary.write_text(made, encoding="utf-8")
    os.replace(temporary, FILE)
    print("docs/testplan.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
