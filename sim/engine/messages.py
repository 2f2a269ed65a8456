"""The interrupt of a channel as a write, without clock cycles."""

from __future__ import annotations

from collections.abc import Callable

from .memory import BusError, Memory

__all__ = ["MessageModel"]


class MessageModel:
    """The messages of one channel, each of which is written at once.

    ``settings(path)``
        Returns the stored field ``register.field`` of the channel's block ``message``.
    ``causes()``
        The bits of ``irq_status`` that are set and enabled.
    ``fail``
        Is called when one is answered with an error.
    """

    def __init__(
        self,
        host: Memory,
        settings: Callable[[str], int],
        causes: Callable[[], int],
        fail: Callable[[], None],
    ) -> None:
        self.host = host
        self.settings, self.causes, self.fail = settings, causes, fail
        self._shown = 0

    def look(self, event: int = 0) -> None:
        """Writes a message for an ``event``, a bit of ``irq_status`` that is set now, maybe anew, and for what software has
        enabled since the last look."""
        shown = self.causes() if self.settings("control.enable") else 0
        if shown & (event | ~self._shown):
            address = self.settings("address_high.value") << 32 | self.settings("address_low.word") << 2
            try:
                self.host.write(address, self.settings("data.value").to_bytes(4, "little"))
            except BusError:
                self.fail()
        self._shown = shown
