"""Notes what goes, with what must then be done for it.

When a thing goes, C code alone notes it: in a finaliser in Python, the exception of a signal handler would be lost. What
must be done is done later, by whoever asks.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar

__all__ = ["Departures"]

Payload = TypeVar("Payload")


class Departures(Generic[Payload]):
    """Things that are there, each with a payload, which comes out once the thing is gone."""

    def __init__(self) -> None:
        self._there: set[_Entry] = set()
        self._gone: deque[weakref.ref[Any]] = deque()

    def watch(self, thing: object, payload: Payload) -> None:
        """Watches a thing."""
        entry = _Entry(thing, self._gone.append)
        entry.payload = payload
        self._there.add(entry)

    def gone(self) -> Iterable[Payload]:
        """The payloads of things that are gone, each once."""
        return self._payloads() if self._gone else ()

    def _payloads(self) -> Iterator[Payload]:
        while self._gone:
            entry = self._gone.popleft()
            assert isinstance(entry, _Entry)
            self._there.remove(entry)
            yield entry.payload


class _Entry(weakref.ref[Any]):
    """A thing that is there."""

    __slots__ = ("payload",)

    payload: Any

    # As an object, not as what it refers to.
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other
