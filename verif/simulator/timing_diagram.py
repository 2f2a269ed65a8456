"""Timing diagrams: a WaveDrom source becomes the text of an SVG picture."""

from __future__ import annotations

import json
from collections.abc import Mapping

import wavedrom

__all__ = ["timing_diagram"]


def timing_diagram(source: Mapping[str, object]) -> str:
    """Draws a WaveDrom ``source`` on a white background, so that its black lines are visible in a dark theme."""
    drawing = wavedrom.render(json.dumps(source))
    background = drawing.rect(size=(drawing["width"], drawing["height"]), fill="#fff")
    # The first element holds the definitions; what follows is painted in order, the background first.
    drawing.elements.insert(1, background)
    return str(drawing.tostring())
