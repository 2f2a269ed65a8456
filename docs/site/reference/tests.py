"""The page of the test plan: what each test sends and checks, and what each proof claims, as the commands list them."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Sequence

from cdma.app import main

from .markdown import table

#: Designs that have all tests of their kind between them.
_DESIGNS: dict[str, tuple[tuple[str, ...], ...]] = {
    "Codecs": (("compressor",), ("decompressor",)),
    "Stages": (("quantiser",), ("dequantiser",)),
    "Engines": (
        ("engine", "--format", "aie2p", "--crc", "--lossy", "fp32", "--sideband-registers"),
        ("engine", "--units", "2"),
    ),
}


def tests_page() -> str:
    """Every test of the regressions and every proof."""
    parts = [
        "# Tests and proofs\n",
        "`cdma verify BLOCK --list` says which tests a configuration has, and `cdma prove --list` which proofs there are.\n",
    ]
    for title, designs in _DESIGNS.items():
        rows = [row for design in designs for row in _listed("verify", *design)]
        cells = dict.fromkeys((f"`{row['test']}`", row["stimulus"], row["check"]) for row in rows)
        parts += [f"## {title}\n", table(("test", "stimulus", "check"), cells) + "\n"]
    configs: dict[tuple[str, str], list[str]] = {}
    for row in _listed("prove"):
        configs.setdefault((f"`{row['property']}`", row["claim"]), []).append(row["config"])
    proofs = [(*proof, "; ".join(found)) for proof, found in configs.items()]
    parts += ["## Proofs\n", table(("proof", "claim", "configurations"), proofs) + "\n"]
    return "\n".join(parts)


def _listed(*command: str) -> Sequence[dict[str, str]]:
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        status = main([*command, "--list", "--json"])
    if status:
        raise SystemExit(f"cdma {' '.join(command)} --list ends with status {status}")
    rows: list[dict[str, str]] = json.loads(said.getvalue())
    return rows
