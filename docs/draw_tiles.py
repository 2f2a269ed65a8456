"""Draws ``docs/tiles.svg``, the pictures of the tiles of ``docs/tiles.md``: device memory, and what the stream has of it.

    python -m docs.draw_tiles

A cell is a row of contiguous bytes. It is coloured by its place in the stream, the later the darker; a dashed cell is
padding, which memory has not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

import numpy as np

from tests.support.paths import DOCS

PICTURE = DOCS / "tiles.svg"
_CELL, _MARGIN, _HEAD, _GAP = 9, 16, 46, 34
_LIGHT, _DARK = (198, 219, 239), (8, 48, 107)


@dataclass(frozen=True)
class Tile:
    """A tile of cells.

    ``across``: Cells of a line of the picture, of which memory has so many ``lines``.
    ``stream``: The numbers of the cells, in the order of the stream; -1 is padding, which lies where ``padding`` says,
        in cells.
    """

    title: str
    text: str
    lines: int
    across: int
    stream: list[int]
    padding: list[tuple[int, int]]


def _tile(title: str, text: str, cells: np.ndarray, view: np.ndarray) -> Tile:
    return Tile(title, text, *cells.shape, [int(cell) for cell in view.ravel()], [])


def _halo() -> Tile:
    cells = np.arange(14 * 14).reshape(14, 14)
    view = np.pad(cells[:6, :6], [(1, 0), (1, 0)], constant_values=-1)
    around = [(-1, column) for column in range(-1, 6)] + [(line, -1) for line in range(6)]
    return Tile(
        "a tile with its halo", "pixels by rows", 14, 14, [int(cell) for cell in view.ravel()], around
    )


def _tiles() -> Iterator[Tile]:
    yield _halo()
    cells = np.arange(14 * 8).reshape(14, 8)
    yield _tile("a head", "tokens by heads", cells, cells[:, 3])
    cells = np.arange(14 * 12).reshape(14, 12)
    yield _tile("a group of channels", "images by channels", cells, cells[:2, 4:8])
    cells = np.arange(14 * 8).reshape(14, 8)
    yield _tile("a transposed pair", "tokens by heads", cells, cells.T)
    cells = np.arange(14 * 10).reshape(14, 10)
    yield _tile("a batch of rows", "sequences by tokens", cells, cells[::4, ::-1])


TILES = tuple(_tiles())


def _colour(share: float) -> str:
    mixed = (round(light + (dark - light) * share) for light, dark in zip(_LIGHT, _DARK, strict=True))
    return f"#{''.join(f'{part:02x}' for part in mixed)}"


def _cells(tile: Tile, left: float, top: float) -> Iterator[str]:
    """The cells of memory, and the padding around them."""
    place = {cell: number for number, cell in enumerate(tile.stream) if cell >= 0}
    corners = [divmod(cell, tile.across) for cell in range(tile.lines * tile.across)]
    last = max(1, len(tile.stream) - 1)
    for line, column in [*corners, *tile.padding]:
        cell = line * tile.across + column if (line, column) not in tile.padding else -1
        fill = _colour(place[cell] / last) if cell in place else "#fff" if cell < 0 else "#eee"
        dashes = ' stroke-dasharray="2 1"' if cell < 0 else ""
        yield (
            f'<rect x="{left + column * _CELL:g}" y="{top + line * _CELL:g}" width="{_CELL}" height="{_CELL}" '
            f'fill="{fill}" stroke="#999" stroke-width="0.6"{dashes}/>'
        )


def draw() -> str:
    """The picture as SVG."""
    widths = [max(tile.across * _CELL, 126) for tile in TILES]
    width = 2 * _MARGIN + sum(widths) + _GAP * (len(TILES) - 1)
    height = _MARGIN + _HEAD + _CELL * max(tile.lines for tile in TILES) + _MARGIN
    parts = [f'<rect width="{width}" height="{height}" fill="#fff"/>']
    left = _MARGIN
    for tile, across in zip(TILES, widths, strict=True):
        parts += [
            f'<text x="{left}" y="{_MARGIN + 8}" font-size="12" font-weight="bold">{escape(tile.title)}</text>',
            f'<text x="{left}" y="{_MARGIN + 24}" font-size="11" fill="#555">{escape(tile.text)}</text>',
            *_cells(tile, left + (_CELL if tile.padding else 0), _MARGIN + _HEAD - 4),
        ]
        left += across + _GAP
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="sans-serif">\n{body}\n</svg>\n'
    )


def main() -> None:
    """Writes the picture."""
    PICTURE.write_text(draw(), encoding="utf-8")


if __name__ == "__main__":
    main()
