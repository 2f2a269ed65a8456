"""docs/model.md says of the regression of times what the measurement that comes with the package gives."""

from __future__ import annotations

import re

from cdma.sim.study.system.kernel_law_error import held_out_errors
from cdma.sim.study.system.kernel_timings import measured_timings
from tests.support.paths import DOCS

ROWS = {
    "single": "of the regression, on single timings held out",
    "median": "of the regression, on medians held out",
    "noise": "noise: of the median of a size and density, on its own timings",
    "linear": "of a regression linear in size and density, on single timings held out",
}


def test_errors_of_the_regression() -> None:
    document = (DOCS / "model.md").read_text()
    errors = held_out_errors(measured_timings())
    for name, what in ROWS.items():
        found = re.search(rf"^\| {re.escape(what)} \| (.*) % \| (.*) % \|$", document, re.MULTILINE)
        assert found, what
        shown = [f"{100 * getattr(errors[direction], name):.1f}" for direction in ("compress", "decompress")]
        assert list(found.groups()) == shown


def test_sizes_and_densities() -> None:
    timings = measured_timings()
    sizes, densities = set(timings.bytes), set(timings.density)
    document = (DOCS / "model.md").read_text()
    assert f"for {len(sizes)} sizes from 4 to 128 MiB and {len(densities)} densities" in document
