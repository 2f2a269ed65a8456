"""What the C++ side of a bench objects to, as exceptions."""

from __future__ import annotations

import ctypes
from typing import NoReturn

from .memory import Memory

__all__ = ["Objections"]


class Objections:
    """Where C++ writes what it objects to.

    ``memories``
        What these object to beyond their end is an exception already.
    """

    def __init__(self, *memories: Memory) -> None:
        self.text = ctypes.create_string_buffer(400)
        self.memories = list(memories)

    def check(self) -> None:
        """Raises :class:`AssertionError` if there is any objection."""
        if self.text.value:
            self.raise_with(self.text.value.decode())

    def raise_with(self, text: str) -> NoReturn:
        """Raises an objection."""
        for memory in self.memories:
            if memory.objection is not None:
                raise memory.objection
        raise AssertionError(text)
