"""Shapes in device memory, as ``docs/tiles.md`` says them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Axis:
    """A dimension."""

    count: int
    stride: int
    before: int
    after: int


@dataclass(frozen=True)
class Shape:
    """Rows of ``run`` bytes with margins, in dimensions, the innermost first."""

    run: int
    before: int
    after: int
    axes: tuple[Axis, ...]

    def rows(self, depth: int | None = None, start: int = 0, there: bool = True) -> Iterator[int | None]:
        """Where each row of the stream lies, counted from the first one in memory; None for a row of padding."""
        left = len(self.axes) if depth is None else depth
        if left == 0:
            yield start if there else None
            return
        axis = self.axes[left - 1]
        for entry in range(-axis.before, axis.count + axis.after):
            inside = 0 <= entry < axis.count
            yield from self.rows(left - 1, start + entry * axis.stride, there and inside)

    @property
    def places(self) -> list[int]:
        """Where rows lie, without padding."""
        return [place for place in self.rows() if place is not None]

    @property
    def length(self) -> int:
        """Bytes in the stream."""
        return (self.before + self.run + self.after) * sum(1 for _ in self.rows())

    def fields(self) -> dict[str, int]:
        """The extension of a descriptor."""
        said = {"run": self.run, "before_run": self.before, "after_run": self.after}
        for number, axis in enumerate(self.axes, 1):
            said |= {
                f"stride_{number}": axis.stride & (1 << 64) - 1,
                f"count_{number}": axis.count,
                f"before_{number}": axis.before,
                f"after_{number}": axis.after,
            }
        numbers = sorted(range(4), key=lambda number: (number >= len(self.axes), self._step(number)))
        return said | {f"order_{place}": number for place, number in enumerate(numbers, 1)}

    def _step(self, number: int) -> int:
        if number >= len(self.axes):
            return number
        axis = self.axes[number]
        return abs(axis.stride) if axis.count > 1 else 1 << 64

    def stream(self, row_at: dict[int, bytes], fill: bytes) -> bytes:
        """The raw data, of what lies in memory and of padding, whose words are those of the stream."""
        raw = bytearray(fill * self.length)[: self.length]
        for number, place in enumerate(self.rows()):
            if place is not None:
                at = number * (self.before + self.run + self.after) + self.before
                raw[at : at + self.run] = row_at[place]
        return bytes(raw)

    def scattered(self, raw: bytes) -> dict[int, bytes]:
        """What comes to each place of raw data, which may end early; nothing where nothing comes."""
        found, width = {}, self.before + self.run + self.after
        for number, place in enumerate(self.rows()):
            row = raw[number * width : (number + 1) * width]
            if place is not None:
                found[place] = row[self.before : self.before + self.run]
        return found


def some_shape(rng: random.Random, dimensions: int, align: int, beat: int) -> Shape:
    """A small shape whose rows do not overlap."""
    some = max(1, beat // align)
    run = align * rng.randint(1, 5 * some)
    axes: list[Axis] = []
    reach = run
    for _ in range(rng.randint(0, dimensions)):
        count = rng.randint(1, 4)
        stride = (reach + align * rng.choice((0, 0, 1, 7 * some, 4096 // align))) * rng.choice((1, 1, -1))
        axes.append(Axis(count, stride, rng.choice((0, 0, 1)), rng.choice((0, 0, 2))))
        reach += abs(stride) * (count - 1)
    rng.shuffle(axes)
    before, after = (align * rng.choice((0, 0, rng.randint(1, 2 * some))) for _ in range(2))
    return Shape(run, before, after, tuple(axes))
