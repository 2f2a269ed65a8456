"""What happens to a device while a guest uses it: commands by name, given while it runs or for the n-th descriptor."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

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
    ``arguments``: What comes after its name: the port of a memory, a response, and numbers.
    """

    after: int
    name: str
    arguments: tuple[str | int, ...]

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
        return cls(after, name, tuple(_value(line, *pair) for pair in zip(kinds, rest, strict=True)))


def _value(line: str, kind: str, word: str) -> str | int:
    if kind == "MEMORY":
        return _choice(line, word, _PORTS)
    return _choice(line, word, _ERRORS) if kind == "RESPONSE" else _number(line, word)


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
        self._delay: Any = (0, 0)
        self._refuse = refuse
        self._rest = b""
        self.files = [] if pipe is None else [os.open(pipe, os.O_RDWR | os.O_NONBLOCK)]

    def delay(self) -> int:
        """Cycles that the next interrupt waits."""
        return self._rng.randint(min(self._delay), max(self._delay))

    def happen(self, submitted: int, victim: object) -> None:
        """Does what is due after so many descriptors, by methods of ``victim``, one for each command but the delay."""
        self._listen()
        due = [command for command in self._waiting if command.after <= submitted]
        self._waiting = [command for command in self._waiting if command.after > submitted]
        for command in due:
            if command.name == "delay":
                self._delay = command.arguments
            else:
                getattr(victim, command.name)(*command.arguments)

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
