"""A digest of sources in Python and C: of what they do, and of no comment, docstring, import, blank line or line break."""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

__all__ = ["digest_of_sources", "normalised"]

_C = (".c", ".h", ".cpp")
#: A string or a character, a comment, a number or a name, or another character.
_TOKENS = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|//[^\n]*|/\*.*?\*/|\w+|\n|[^\w\s]', re.DOTALL)


def digest_of_sources(paths: Iterable[Path]) -> str:
    """The digest of files together, in whatever order they are named; where they stand changes nothing."""
    texts = sorted(normalised(path.suffix, path.read_text(encoding="utf-8")) for path in {*paths})
    digest = hashlib.sha256()
    for text in texts:
        digest.update(b"%d:" % len(text.encode()) + text.encode())
    return digest.hexdigest()[:16]


def normalised(suffix: str, text: str) -> str:
    """A text without what does nothing, if it is Python or C; any other as it is."""
    if suffix == ".py":
        return _python(text)
    return _c(text) if suffix in _C else text


def _python(text: str) -> str:
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            node.body = [each for each in node.body if not _does_nothing(each)]
    return ast.dump(tree)


def _does_nothing(statement: ast.stmt) -> bool:
    """Whether it is a docstring, or an import, which changes when something moves; what is imported is used elsewhere."""
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return True
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _c(text: str) -> str:
    """The tokens; a line of the preprocessor ends where its line does."""
    words, directive = [], False
    for token in _TOKENS.findall(text.replace("\\\n", " ")):
        if token == "\n":
            words += ["\n"] * directive
            directive = False
        elif not token.startswith(("//", "/*")):
            directive = directive or token == "#"
            words.append(token)
    return " ".join(words)
