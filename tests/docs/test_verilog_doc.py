"""What docs/verilog.md explains is what the generator prints."""

from __future__ import annotations

import re

import pytest

from docs.verilog_excerpts import PAGE, page


@pytest.mark.slow
def test_the_modules_are_as_they_are_printed() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert len(re.findall(r"^module \w+ \($", text, re.MULTILINE)) == 3
    assert text == page(), "python -m docs.verilog_excerpts writes them anew"


@pytest.mark.slow
def test_the_page_speaks_of_names_in_its_modules() -> None:
    """Every name of a net in an explanation is in the module above it."""
    parts = re.split(
        r"^```verilog\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    for module, said in zip(parts[1::2], parts[2::2], strict=True):
        names = re.findall(r"`([a-z]+(?:_[a-z0-9]+)+)`", said.partition("\n## ")[0])
        assert len(names) >= 1 or "report" in module
        unknown = [name for name in names if not re.search(rf"\b{name}\b", module)]
        assert set(unknown) <= {"input_ready"}, unknown
