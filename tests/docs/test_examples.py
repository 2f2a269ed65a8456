"""The Python of the documents runs as it stands there, all blocks of a document one after the other."""

from __future__ import annotations

from pathlib import Path

import pytest
from amaranth.hdl import Elaboratable, Fragment

from cdma.hdl.spec.format import PRESETS
from tests.support.documents import blocks
from tests.support.paths import DOCS, ROOT

#: What a document's examples print, where they do.
PRINTED = {"driver": "4000 bytes became ", "README": "1."}
#: They need what only a reader has: a SoC, a network, a GPU, a driver.
OF_THE_READER = ("litex.md", "profile.md", "gpu.md", "linux.md")
DOCUMENTS = [
    path
    for path in (ROOT / "README.md", *sorted(DOCS.rglob("*.md")))
    if blocks(path, "python") and path.name not in OF_THE_READER
]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.stem)
def test_the_examples_run(
    document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    examples = "\n".join(blocks(document, "python"))
    if "import torch" in examples:
        pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    made: dict[str, object] = {}
    exec(compile(examples, document.name, "exec"), made)
    for each in made.values():
        # What an example makes for the reader's design is hardware.
        if isinstance(each, Elaboratable):
            Fragment.get(each, None)
    assert PRINTED.get(document.stem, "") in capsys.readouterr().out


def test_every_preset_is_explained() -> None:
    text = (DOCS / "study" / "formats.md").read_text(encoding="utf-8")
    assert [name for name in PRESETS if f"`{name}`" not in text] == []
