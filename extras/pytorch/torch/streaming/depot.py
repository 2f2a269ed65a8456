"""Places on the device where blocks arrive, which are used again once their last reader has passed. The way from the
host to memory of the device that is used again and again. Tensors that change: they go to the host in one block,
compressed, and come back ahead of who needs them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from cdma.hdl.spec.format import Format
from cdma.torch.memory import layout_of
from cdma.torch.swapping.link import CardCopy, CardLink, Copy, Link, PacedLink

from .codecs import Chosen, Codec, chosen
from .plan import Cold
from .units import Bundle, StreamReport, bundled


class Place:
    """Memory of the device for one unit.

    ``unit``: What is in it, or on its way to it by ``copy``.
    ``busy``: Whether what is computed may still be about to read it.
    ``read``: The last that was computed of it; what writes comes behind.
    """

    def __init__(self, size: int, device: torch.device, lane: Lane) -> None:
        self.memory = torch.empty(size, dtype=torch.uint8, device=device)
        self.unit: Cold | None = None
        self.copy: Copy | None = None
        self.busy = False
        self.read: Passed = lane.now()

    def give_back(self, lane: Lane) -> None:
        """Nothing that is computed from now on reads it."""
        self.busy = False
        self.read = lane.now()

    def forget(self, lane: Lane) -> None:
        """What is in it is not what was to come."""
        self.unit = None
        self.give_back(lane)


class Ring:
    """So many places, all of one size."""

    def __init__(self, lane: Lane, device: torch.device, places: int, size: int) -> None:
        self._lane, self._device, self._size = lane, device, size
        self._places = [Place(size, device, lane) for _ in range(places)]
        self.fetches = self.moved = self.late = self.beyond = 0

    @property
    def places(self) -> int:
        """How many units may be there or on their way."""
        return len(self._places)

    def fetch(self, wanted: Sequence[Cold]) -> None:
        """Has units come in this order, as far as there is room beside what is wanted before them."""
        for unit in wanted:
            if self._place_of(unit) is None:
                place = self._spare(wanted)
                if place is None:
                    return
                self._begin(place, unit)

    def take(self, unit: Cold, wanted: Sequence[Cold]) -> Place:
        """The place of a unit, which may be on its way still; it stays until it is given back.

        A unit that nobody has had come takes a place of one that is not ``wanted`` next, or else of another.
        """
        place = self._place_of(unit)
        if place is None:
            self.late += 1
            place = self._spare(wanted) or self._spare(())
            if place is None:
                self.beyond += 1
                place = Place(self._size, self._device, self._lane)
            self._begin(place, unit)
        place.busy = True
        return place

    def forget(self) -> None:
        """Has everything come anew that is not in use."""
        for place in self._places:
            if not place.busy:
                place.forget(self._lane)

    def synchronize(self) -> None:
        """Returns when nothing is on its way."""
        for place in self._places:
            if place.copy is not None:
                place.copy.synchronize()

    def _place_of(self, unit: Cold) -> Place | None:
        return next((place for place in self._places if place.unit is unit), None)

    def _spare(self, wanted: Sequence[Cold]) -> Place | None:
        """A place that is not busy and has nothing that is wanted."""
        free = (place for place in self._places if not place.busy and place.unit not in wanted)
        return next(free, None)

    def _begin(self, place: Place, unit: Cold) -> None:
        target = place.memory[: unit.block.numel()]
        place.unit = unit
        place.copy = self._lane.fetch(unit.block, target, place.read)
        self.fetches += 1
        self.moved += unit.block.numel()


class Passed(Protocol):
    """What was computed until now."""

    @property
    def there(self) -> bool:
        """Whether it has been computed."""
        ...

    def synchronize(self) -> None:
        """Returns when it has been computed."""
        ...

    def wait(self) -> None:
        """Has what is computed next come behind it, whatever CUDA stream that is in."""
        ...


class Lane(Protocol):
    """One queue of copies to the device, beside what computes."""

    def fetch(self, source: Tensor, target: Tensor, after: Any) -> Copy:
        """Copies bytes of the host to memory of the device, once ``after`` has passed there."""
        ...

    def now(self) -> Passed:
        """What is computed until now."""
        ...

    def memory(self, size: int) -> Tensor:
        """Bytes of the host that the lane can reach."""
        ...

    def mark(self) -> Any:
        """A mark of now, among what is computed."""
        ...

    def seconds(self, begin: Any, end: Any) -> float:
        """The seconds between two marks, once both have been passed."""
        ...


class _CardPassed:
    """An event in a CUDA stream."""

    def __init__(self) -> None:
        self.event = torch.cuda.Event()
        self.event.record()

    @property
    def there(self) -> bool:
        """Whether the event has passed."""
        return bool(self.event.query())

    def synchronize(self) -> None:
        """Returns when it has."""
        self.event.synchronize()

    def wait(self) -> None:
        """Has the current stream wait for it."""
        torch.cuda.current_stream().wait_event(self.event)


class CardLane(CardLink):
    """The link of a GPU; only events order it."""

    def fetch(self, source: Tensor, target: Tensor, after: _CardPassed) -> CardCopy:
        """Copies pinned memory to memory of the GPU that is the caller's."""
        self._back.wait_event(after.event)
        with torch.cuda.stream(self._back):
            begin = self.mark()
            target.copy_(source, non_blocking=True)
            end = self.mark()
        return CardCopy(target, begin, end, self._coming)

    def now(self) -> _CardPassed:
        """What is computed until now."""
        return _CardPassed()


class _PacedPassed:
    """The processor has computed what it was asked to."""

    there = True

    def synchronize(self) -> None:
        """Returns."""

    def wait(self) -> None:
        """Returns."""


class PacedLane(PacedLink):
    """The link in software."""

    def fetch(self, source: Tensor, target: Tensor, after: Any) -> Copy:
        """Copies bytes at the rate of the link."""
        return self._queue(1, [(source, target)], after)

    def now(self) -> _PacedPassed:
        """All is computed."""
        return _PacedPassed()


#: Formats are fitted anew when tensors have left so many times.
_REFRESH = 16
#: Memory of the host is taken with room for streams that are longer by this part.
_MARGIN = 16


@dataclass(eq=False)
class Held:
    """Tensors on the host.

    ``block``: Memory there, which begins with what ``sent`` has brought and ``bundle`` describes.
    ``coming``: The copy with which they come back; None before that has been asked for.
    ``times``: How often they have left.
    """

    bundle: Bundle
    block: Tensor
    sent: Copy
    coming: Copy | None = None
    times: int = 1


class Depot:
    """The way of tensors to the host and back.

    ``ahead``: How many blocks may be on their way to the host; for one more the first is waited for.
    """

    def __init__(
        self, device: torch.device, link: Link, codec: Codec, ahead: int, format: Format | None, *, raw: bool
    ) -> None:
        self.device, self._link, self._codec = device, link, codec
        self._ahead, self._format, self._raw = ahead, format, raw
        self._leaving: deque[Copy] = deque()
        self._coming: set[Copy] = set()
        self._waits: list[tuple[str, Any, Any]] = []
        self._fetches = self._moved = self._left = self._late = 0

    def put(self, tensors: Sequence[Tensor], before: Held | None = None) -> Held:
        """Has tensors leave; ``before`` is what they were on the host until now, whose memory they take."""
        flats = [layout_of(tensor.detach())[0]() for tensor in tensors]
        bundle = bundled(tensors, self._choices(flats, before), self._codec)
        while len(self._leaving) >= self._ahead:
            self._leaving.popleft().synchronize()
        staging = torch.empty(bundle.held, dtype=torch.uint8, device=self.device)
        bundle.pack(flats, self._codec, staging)
        if before is not None and before.block.numel() >= bundle.held:
            block = before.block
        else:
            block = self._link.memory(bundle.held + (bundle.held // _MARGIN if before is not None else 0))
        sent = self._link.out([(staging, block[: bundle.held])])
        self._leaving.append(sent)
        self._left += bundle.held
        return Held(bundle, block, sent, times=before.times + 1 if before is not None else 1)

    def fetch(self, held: Held) -> None:
        """Has tensors come, if they are not on their way; behind the copy with which they left."""
        if held.coming is None:
            held.coming = self._link.back(held.block[: held.bundle.held], held.sent)
            self._coming.add(held.coming)
            self._fetches += 1
            self._moved += held.bundle.held

    def get(self, held: Held, name: str) -> list[Tensor]:
        """The tensors, in memory of the device that is theirs; what is computed next waits for them under this name."""
        self._late += held.coming is None
        self.fetch(held)
        copy, held.coming = held.coming, None
        assert copy is not None
        self._coming.remove(copy)
        begin = self._link.mark()
        copy.wait()
        self._waits.append((name, begin, self._link.mark()))
        memory = copy.target
        if held.bundle.is_packed:
            memory = torch.empty(held.bundle.expanded, dtype=torch.uint8, device=self.device)
            held.bundle.expand(self._codec, copy.target, memory)
        return held.bundle.tensors(memory)

    def settle(self, everything: Sequence[Held] = ()) -> list[tuple[str, float]]:
        """Waits for what is computed; the seconds that it has waited for tensors since the last time, by their names.

        Raises :class:`.CorruptStream` if a stream did not come as it left, which is one of ``everything``.
        """
        verdict = self._codec.verdict()
        if self.device.type == "cuda":
            torch.cuda.current_stream(self.device).synchronize()
        if verdict is not None and int(verdict):
            for held in everything:
                held.bundle.check(self._codec, held.block.to(self.device))
        waits, self._waits = self._waits, []
        return [(name, self._link.seconds(begin, end)) for name, begin, end in waits]

    def count(self, report: StreamReport) -> None:
        """Writes into a report what has moved."""
        report.fetches, report.moved = self._fetches, self._moved
        report.left, report.late = self._left, self._late

    def synchronize(self) -> None:
        """Returns when nothing is on its way."""
        for copy in (*self._leaving, *self._coming):
            copy.synchronize()

    def _choices(self, flats: Sequence[Tensor], before: Held | None) -> list[Chosen]:
        """How elements are held: in the format in which they were until now, or one that is fitted to them."""
        if self._raw:
            return [Chosen(None, flat.nbytes) for flat in flats]
        if before is None or before.times % _REFRESH == 0 or len(before.bundle.pieces) != len(flats):
            return [chosen(self._codec, flat, self._format) for flat in flats]
        return [
            Chosen(None, flat.nbytes)
            if piece.chosen.format is None
            else chosen(self._codec, flat, piece.chosen.format)
            for flat, piece in zip(flats, before.bundle.pieces, strict=True)
        ]
