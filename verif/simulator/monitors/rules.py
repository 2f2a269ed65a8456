"""The rules of streams, which a bench checks in every cycle, and the rule that no visible output is unknown.

- A valid, a ready and whatever belongs to no channel are visible always.
- The payload of a channel is visible while its valid is high; of data, the bytes that keep or the strobes keep.

In a four-state simulation no visible output is X after a reset. These conditions are Verilog, which the simulator
evaluates: in Python they would take longer than the bench.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from cdma.hdl.verilog.shell import Port


@dataclass
class Tally:
    """The packets, words and comparisons of a test, its clock cycles, and notes."""

    packets: int = 0
    words: int = 0
    checks: int = 0
    cycles: int = 0
    notes: dict[str, Any] = field(default_factory=dict)


#: What is neither 0 nor 1 reads as 0: the rule of unknown outputs objects to it.
_KNOWN = str.maketrans(dict.fromkeys("xXzZ", "0"))


def level(pin: Any) -> Callable[[], bool]:
    read = pin._handle.get_signal_val_binstr
    return lambda: read() == "1"


def number(pin: Any) -> Callable[[], int]:
    read = pin._handle.get_signal_val_binstr

    def value() -> int:
        bits: str = read()
        try:
            return int(bits, 2)
        except ValueError:
            return int(bits.translate(_KNOWN), 2)

    return value


@dataclass(frozen=True)
class Observed:
    """An output.

    ``valid``: The valid of the channel whose payload it is; None for everything else.
    ``masks``: The keep and the strobes of the bytes of the port, where it has some.
    """

    port: Port
    valid: Port | None
    masks: tuple[Port, ...]

    def value(self, prefix: str = "") -> str:
        """The Verilog expression of the bytes that count, the others being 0; ``prefix`` stands before all names."""
        value = f"{prefix}{self.port.name}"
        for mask in self.masks:
            bits, name = self.port.width // mask.width, f"{prefix}{mask.name}"
            lanes = [
                f"{{{bits}{{{name}{f'[{lane}]' if mask.width > 1 else ''}}}}}" for lane in range(mask.width)
            ]
            value = f"({value} & {{{', '.join(reversed(lanes))}}})"
        return value


def observed(ports: Sequence[Port]) -> Iterator[Observed]:
    """All outputs among the ports of a module."""
    names = {port.name: port for port in ports}
    for port in ports:
        if port.direction != "output":
            continue
        valid = channel_valid(port, ports)
        masks: list[Port] = []
        if valid is not None and port.name.endswith("data"):
            channel = valid.name.removesuffix("valid")
            masks = [names[name] for part in ("keep", "strb") if (name := f"{channel}{part}") in names]
        yield Observed(port, valid, tuple(masks))


def channel_valid(port: Port, ports: Sequence[Port]) -> Port | None:
    """The valid of the channel whose payload ``port`` is part of; None for everything else."""
    if port.times:
        return None
    for valid in ports:
        channel = valid.name.removesuffix("valid")
        if (
            channel != valid.name
            and valid.direction == port.direction
            and port.name.startswith(channel)
            and port.name != valid.name
        ):
            return valid
    return None


@dataclass(frozen=True)
class Beat:
    """The payload of one transfer. ``keep`` has one bit per byte."""

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


#: The name of the vector with a bit for each condition.
UNKNOWN = "four_state_unknown"


class UnknownError(AssertionError):
    """A visible output was X."""


def unknown_conditions(ports: Sequence[Port]) -> dict[str, str]:
    """For each output, the Verilog expression that is 1 while a visible part of it is X."""
    conditions = {}
    for output in observed(ports):
        condition = f"(^{output.value()}) === 1'bx"
        conditions[output.port.name] = (
            condition if output.valid is None else f"{output.valid.name} && {condition}"
        )
    return conditions


@dataclass
class Unknowns:
    """Watches the outputs of one design; whoever steps the clock calls :meth:`cycle` at each rising edge."""

    ports: Sequence[Port]
    cycles: int = field(default=0, init=False)
    _in_reset: bool = field(default=False, init=False)
    _was_reset: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._names = list(unknown_conditions(self.ports))

    def cycle(self, unknown: int, reset: bool) -> None:
        """Looks at one rising edge: the bits of :data:`UNKNOWN`, and whether the reset is applied."""
        # A reset makes itself known to what is clocked only by its first edge.
        begins = reset and not self._in_reset
        self._in_reset = reset
        self._was_reset |= reset
        if begins or not self._was_reset:
            return
        self.cycles += 1
        if unknown:
            found = [name for bit, name in enumerate(self._names) if unknown >> bit & 1]
            when = "in reset" if reset else "after reset"
            raise UnknownError(f"{', '.join(found)} unknown (X) {when}")


def unknowns_at(dut: Any, ports: Sequence[Port], clock: str | None = None) -> Callable[[bool], None]:
    """A function to call at each rising edge of a clock, with whether its reset is applied; none in two states."""
    if not hasattr(dut, UNKNOWN):
        return lambda in_reset: None
    unknowns, bits = Unknowns(ports), number(getattr(dut, UNKNOWN))
    own = sum((clock in (None, each.port.clock)) << bit for bit, each in enumerate(observed(ports)))
    return lambda in_reset: unknowns.cycle(bits() & own, in_reset)
