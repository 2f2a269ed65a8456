"""The rules of a stream, checked on every cycle, without a simulator: feed it what a clock edge sees."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Beat", "RuleError", "StreamRules", "keep_is_whole"]


@dataclass(frozen=True)
class Beat:
    """What one transfer carries. ``keep`` has one bit per byte."""

    data: int
    keep: int = 0
    last: bool = False


class RuleError(AssertionError):
    """A design broke a rule of its streams, or did not do what the golden model does."""


def keep_is_whole(keep: int, bytes_per_word: int) -> bool:
    """Whether ``keep`` covers whole words from lane 0 on, without a hole."""
    return keep & (keep + 1) == 0 and keep.bit_length() % bytes_per_word == 0


@dataclass
class StreamRules:
    """Watches one stream that the design drives.

    - Valid, once up, stays up until ready; the payload stays as it is.
    - ``keep`` starts at byte 0, has no hole and cuts no word.
    - Only a packet's last beat may be partial; no beat is empty unless it is last and ``may_be_empty``.

    ``valid`` is low in reset.
    """

    name: str
    #: Bytes of a beat and of a word; 0 for a stream without ``keep``.
    beat_bytes: int = 0
    word_bytes: int = 1
    #: An empty last beat closes a packet that was cut short.
    may_be_empty: bool = False
    cycles: int = 0
    _held: Beat | None = field(default=None, repr=False)

    def reset(self, valid: bool) -> None:
        """One cycle with reset applied, after its first clock edge."""
        self._held = None
        if valid:
            raise RuleError(f"{self.name}: valid is high in reset")

    def sample(self, beat: Beat | None, ready: bool) -> None:
        """One clock edge: the beat on offer, or None where valid is low."""
        self.cycles += 1
        held = self._held
        if held is not None:
            if beat is None:
                raise RuleError(f"{self.name}: valid fell although ready had not come (retraction)")
            if beat != held:
                raise RuleError(
                    f"{self.name}: the payload changed while valid waited for ready: {held} to {beat}"
                )
        elif beat is not None and self.beat_bytes:
            self._check_keep(beat)
        self._held = None if ready else beat

    def _check_keep(self, beat: Beat) -> None:
        full = (1 << self.beat_bytes) - 1
        if not keep_is_whole(beat.keep, self.word_bytes):
            raise RuleError(f"{self.name}: keep {beat.keep:#x} has a hole or cuts a word")
        if beat.keep != full and not beat.last:
            raise RuleError(f"{self.name}: keep {beat.keep:#x} is partial in a beat that is not the last")
        if beat.keep == 0 and not self.may_be_empty:
            raise RuleError(f"{self.name}: an empty beat")
