"""The rule that all AXI channels share: what is offered stays, unchanged, until it is taken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

__all__ = ["Handshakes"]


@dataclass
class Handshakes:
    """Watches the channels of one port, given the names of each one's payload signals.

    ``sample``
        Gives the value of a signal such as ``"arvalid"`` at the rising edge.
    ``object``
        Called with what is wrong.
    ``transfers``
        Counts the transfers, by channel and by whether they had to wait.
    """

    channels: Mapping[str, tuple[str, ...]]
    sample: Callable[[str], int]
    object: Callable[[str], None]
    transfers: Counter[tuple[str, bool]] = field(default_factory=Counter, init=False)

    def __post_init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """A reset: nothing is offered."""
        self._held: dict[str, tuple[int, ...]] = {}

    @property
    def quiet(self) -> bool:
        """Whether nothing waits to be taken."""
        return not self._held

    def cycle(self) -> dict[str, tuple[int, ...]]:
        """Looks at one rising edge; the payloads that were taken, by channel."""
        taken: dict[str, tuple[int, ...]] = {}
        for channel, signals in self.channels.items():
            held = self._held.pop(channel, None)
            if not self.sample(f"{channel}valid"):
                if held is not None:
                    self.object(f"{channel}valid fell before {channel}ready")
                continue
            payload = tuple(self.sample(signal) for signal in signals)
            if held is not None and payload != held:
                changed = [s for s, a, b in zip(signals, held, payload, strict=True) if a != b]
                self.object(f"{', '.join(changed)} changed while {channel}valid waited for {channel}ready")
            if self.sample(f"{channel}ready"):
                taken[channel] = payload
                self.transfers[channel, held is not None] += 1
            else:
                self._held[channel] = payload
        return taken
