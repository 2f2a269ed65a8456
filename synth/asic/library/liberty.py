"""The syntax of Liberty files."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from cdma.synth.errors import LibraryError

__all__ = ["Group", "read_liberty"]

_TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|\\\r?\n|"(?:[^"\\]|\\.)*"|[{}();:,]|[^\s{}();:,"]+|\s+', re.DOTALL)
_BRACE = re.compile(r'/\*.*?\*/|"(?:[^"\\]|\\.)*"|[{}]', re.DOTALL)
# Some writers leave out the semicolon at the end of a line or of a group.
_VALUE = re.compile(r'[ \t]*("(?:[^"\\]|\\.)*"|[^";}\s][^;}\n]*)[ \t]*;?', re.DOTALL)
_SKIPPED = frozenset(
    {
        "internal_power",
        "leakage_power",
        "operating_conditions",
        "lu_table_template",
        "power_lut_template",
        "wire_load",
    }
)
_SKIPPED_INSIDE = frozenset({"timing", "statetable", "test_cell", "dynamic_current", "receiver_capacitance"})


@dataclass
class Group:
    """A group of a file: its kind, its arguments, its simple attributes and the groups in it."""

    kind: str
    arguments: list[str]
    attributes: dict[str, str]
    groups: list[Group]

    def of(self, kind: str) -> list[Group]:
        return [group for group in self.groups if group.kind == kind]


#: Attributes that a group has several times.
_REPEATED = frozenset({"fanout_length"})


class _Reader:
    """A recursive-descent reader that skips the inside of tables, which are most of a library; with ``whole``, all cells but
    those, and nothing of them."""

    def __init__(self, text: str, source: str, whole: Collection[str] | None = None) -> None:
        self.text = text
        self.source = source
        self.whole = whole
        self.position = 0

    def skips(self, group: Group) -> bool:
        if self.whole is None:
            return group.kind in _SKIPPED or group.kind in _SKIPPED_INSIDE
        return group.kind == "cell" and "".join(group.arguments[:1]) not in self.whole

    def fail(self, what: str) -> LibraryError:
        line = self.text.count("\n", 0, self.position) + 1
        return LibraryError(f"{self.source}, line {line}: {what}")

    def token(self) -> str:
        while True:
            match = _TOKEN.match(self.text, self.position)
            if match is None:
                if self.position >= len(self.text):
                    raise self.fail("the file ends inside a group: it is cut short")
                raise self.fail("a string or a comment does not end")
            self.position = match.end()
            token = match[0]
            if not token.isspace() and not token.startswith(("/*", "//", "\\\n", "\\\r")):
                return token.strip('"') if token.startswith('"') else token

    def skip_body(self) -> None:
        """Skips a group up to its closing brace, after its opening brace."""
        depth = 1
        for match in _BRACE.finditer(self.text, self.position):
            depth += {"{": 1, "}": -1}.get(match[0], 0)
            if not depth:
                self.position = match.end()
                return
        self.position = len(self.text)
        raise self.fail("the file ends inside a group: it is cut short")

    def arguments(self) -> list[str]:
        """Reads up to the closing bracket, after the opening one."""
        result: list[str] = []
        while (token := self.token()) != ")":
            if token in "{};":
                raise self.fail(f"{token!r} where a list of arguments should go on")
            if token != ",":
                result.append(token)
        return result

    def body(self, group: Group) -> None:
        """Reads up to the closing brace, after the opening one."""
        while (name := self.token()) != "}":
            if name == ";":
                continue
            mark = self.token()
            if mark == ":":
                match = _VALUE.match(self.text, self.position)
                if match is None:
                    raise self.fail(f"{name!r} has no value, or one that does not end")
                self.position = match.end()
                value = re.sub(r"/\*.*?\*/", "", match[1]) if match[1][0] != '"' else match[1]
                group.attributes[name] = re.sub(r"\\\r?\n", " ", value).strip().strip('"')
            elif mark == "(":
                arguments = self.arguments()
                after = self.position
                try:
                    opens = self.token() == "{"
                except LibraryError:
                    opens = False
                if not opens:
                    # A complex attribute; its semicolon, if any, is skipped by the loop.
                    self.position = after
                    value = ",".join(arguments)
                    more = name in _REPEATED and name in group.attributes
                    group.attributes[name] = f"{group.attributes[name]};{value}" if more else value
                    continue
                inner = Group(name, arguments, {}, [])
                group.groups.append(inner)
                if self.skips(inner):
                    self.skip_body()
                else:
                    self.body(inner)
            else:
                raise self.fail(f"{mark!r} after {name!r}, where ':' or '(' should be")

    def library(self) -> Group:
        try:
            start = [self.token() for _ in range(2)]
        except LibraryError:
            start = []
        if start != ["library", "("]:
            raise LibraryError(
                f"{self.source} is not a Liberty library: it does not begin with library (NAME) {{"
            )
        group = Group("library", self.arguments(), {}, [])
        if self.token() != "{":
            raise self.fail("the library's name is not followed by '{'")
        self.body(group)
        return group


def read_liberty(text: str, source: str, whole: Collection[str] | None = None) -> Group:
    """Reads the group ``library`` of a file; ``source`` names the file in messages.

    Tables are left out, but for the cells of the names in ``whole``: if these are given, they alone are read.
    """
    return _Reader(text, source, whole).library()
