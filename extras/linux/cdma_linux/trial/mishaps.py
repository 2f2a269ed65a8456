"""What happens to a device while a guest uses it: commands by name, given while it runs or for the n-th descriptor."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from cdma.base.errors import ParameterError

T = TypeVar("T")

#: The memories, as commands call them, and the ports that they are at.
_PORTS = {"device": "dev", "host": "host"}
_ERRORS = {"slverr": 2, "decerr": 3}
#: Each command with what comes after its name.
COMMANDS: dict[str, tuple[str, ...]] = {
    "error": ("MEMORY", "ADDRESS", "RESPONSE"),
    "mend": ("MEMORY", "ADDRESS"),
    "silent": ("MEMORY",),
    "answer": ("MEMORY",),
    "latency": ("MEMORY", "CYCLES"),
    "delay": ("LEAST", "MOST"),
    "unplug": (),
    "waves": (),
}


@dataclass(frozen=True)
class Command:
    """A command.

    ``after``: Descriptors that have been submitted when it takes effect, all together; 0 for at once.
    ``port``: That of the memory that it is about, if it is about one.
    ``numbers``: What else comes after its name; a response is one, too.
    """

    after: int
    name: str
    port: str
    numbers: tuple[int, ...]

    @classmethod
    def of(cls, line: str) -> Command:
        """What a line says: a number, if it is to wait for that descriptor, a name, and what comes after it."""
        words = line.split()
        after = int(words.pop(0)) if words and words[0].isdecimal() else 0
        name, *rest = words or [""]
        if name not in COMMANDS:
            raise ParameterError(f"the command is {name!r}; it must be one of {', '.join(COMMANDS)}")
        kinds = COMMANDS[name]
        if len(rest) != len(kinds):
            raise ParameterError(f"{line.strip()!r} is no command; it must be {' '.join([name, *kinds])}")
        port, numbers = "", []
        for kind, word in zip(kinds, rest, strict=True):
            if kind == "MEMORY":
                port = _choice(line, word, _PORTS)
            elif kind == "RESPONSE":
                numbers.append(_choice(line, word, _ERRORS))
            else:
                numbers.append(_number(line, word))
        return cls(after, name, port, tuple(numbers))


def _choice(line: str, word: str, choices: Mapping[str, T]) -> T:
    if word not in choices:
        raise ParameterError(f"{word!r} in {line.strip()!r} must be {' or '.join(choices)}")
    return choices[word]


def _number(line: str, word: str) -> int:
    try:
        number = int(word, 0)
    except ValueError:
        number = -1
    if number < 0:
        raise ParameterError(f"{word!r} in {line.strip()!r} must be a number, 0 or more")
    return number


def commands_in(lines: Sequence[str]) -> list[Command]:
    """The commands of some lines; those that are empty, or begin with a ``#``, say nothing."""
    return [Command.of(line) for line in lines if line.strip() and not line.lstrip().startswith("#")]


class Victim(Protocol):
    """What commands happen to."""

    def spoil(self, port: str, address: int, response: int) -> None:
        """A byte of a memory is answered with an error from now on."""

    def mend(self, port: str, address: int) -> None:
        """It is answered as others are."""

    def freeze(self, port: str, frozen: bool) -> None:
        """A memory gives no answers while it is frozen."""

    def slow(self, port: str, cycles: int) -> None:
        """A memory has another latency."""

    def unplug(self) -> None:
        """The function is not there any more: what is read is all ones, and nothing is written or moves."""

    def show(self) -> None:
        """The waveform begins."""


class Mishaps:
    """Commands that are due, and those that wait.

    ``script``: Those that are known from the start.
    ``pipe``: A named pipe, from which others come, a line each; a line that is no command is handed to ``refuse``.
    """

    def __init__(
        self, script: Sequence[str], pipe: Path | None, seed: int, refuse: Callable[[str], None]
    ) -> None:
        self._waiting = commands_in(script)
        self._rng = random.Random(seed)
        self._delay = (0, 0)
        self._refuse = refuse
        self._rest = b""
        self.files = [] if pipe is None else [os.open(pipe, os.O_RDWR | os.O_NONBLOCK)]

    def delay(self) -> int:
        """Cycles that the next interrupt waits."""
        return self._rng.randint(*self._delay)

    def happen(self, submitted: int, victim: Victim) -> None:
        """Does what is due after so many descriptors."""
        self._listen()
        due = [command for command in self._waiting if command.after <= submitted]
        self._waiting = [command for command in self._waiting if command.after > submitted]
        for command in due:
            self._do(command, victim)

    def _listen(self) -> None:
        for file in self.files:
            try:
                self._rest += os.read(file, 1 << 16)
            except BlockingIOError:
                continue
            *lines, self._rest = self._rest.split(b"\n")
            for line in lines:
                try:
                    self._waiting += commands_in([line.decode(errors="replace")])
                except ParameterError as error:
                    self._refuse(str(error))

    def _do(self, command: Command, victim: Victim) -> None:
        port, numbers = command.port, command.numbers
        if command.name == "error":
            victim.spoil(port, *numbers)
        elif command.name == "mend":
            victim.mend(port, *numbers)
        elif command.name in ("silent", "answer"):
            victim.freeze(port, command.name == "silent")
        elif command.name == "latency":
            victim.slow(port, *numbers)
        elif command.name == "delay":
            self._delay = (min(numbers), max(numbers))
        elif command.name == "unplug":
            victim.unplug()
        else:
            victim.show()
