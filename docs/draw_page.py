"""Takes ``docs/wave-page.png``, the picture of the page that ``cdma wave engine --html`` writes.

    python -m docs.draw_page

The run is the tutorial's last one. It takes Chromium and Playwright.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from cdma.hdl.spec.engine import EngineConfig
from cdma.verif.engine.design import EngineDesign
from cdma.verif.engine.wave import engine_wave
from tests.support.documents import browser, shown
from tests.support.paths import DOCS

PICTURE = DOCS / "wave-page.png"

#: Words of the tutorial's tensor, and how many of them it sends.
_TOTAL, _WORDS = 64 * 28 * 28, 1024

#: The stage whose signals are shown beside the boxes, and the window that is clicked.
_STAGE, _WINDOW = "offload: writer", 9

#: Opens the stage, and clicks on the window as it passes.
_SCENE = """
([stage, number]) => {
  run.groups.find(({title}) => title === stage).closed = false;
  layOut();
  const index = rows.findIndex(({boxes, within}) => boxes?.title === "windows" && within.title.startsWith("offload"));
  const box = rows[index].boxes.boxes[number];
  moveCursor(box.first);
  seen.row = index;
  showBox(box);
}
"""


def draw(picture: Path) -> None:
    """Runs the engine and takes the picture."""
    rng = np.random.default_rng(0)
    words = np.maximum(rng.standard_normal(_TOTAL, np.float32), 0).view(np.uint32)[:_WORDS]
    with tempfile.TemporaryDirectory(prefix="cdma-") as folder, browser() as running:
        (page,) = engine_wave(EngineDesign(EngineConfig()), Path(folder), ("html",), None, words, _TOTAL)
        with shown(running, page, height=760, color_scheme="light") as tab:
            tab.evaluate(_SCENE, [_STAGE, _WINDOW])
            tab.evaluate("new Promise(requestAnimationFrame)")
            tab.screenshot(path=picture)


if __name__ == "__main__":
    draw(PICTURE)
    print(PICTURE)
