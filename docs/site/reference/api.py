"""The page of the public names, whose docstrings Sphinx reads."""

from __future__ import annotations

import inspect
from importlib import import_module

#: What is public: the names of these packages.
_PACKAGES = ("cdma", "cdma.hdl", "cdma.sim")


def api_page() -> str:
    """Every public name, once: under the first package that has it."""
    parts = [_heading("Python", "="), "What these packages do not list is not public and may change.\n"]
    seen: set[int] = set()
    for package in _PACKAGES:
        module = import_module(package)
        parts += [_heading(package, "-"), inspect.cleandoc(module.__doc__ or "") + "\n"]
        for name in module.__all__:
            thing = getattr(module, name)
            if id(thing) in seen or name.startswith("__"):
                continue
            seen.add(id(thing))
            if inspect.isclass(thing):
                parts.append(f".. autoclass:: {package}.{name}\n   :members:\n")
            else:
                parts.append(f".. autofunction:: {package}.{name}\n")
    return "\n".join(parts)


def _heading(text: str, line: str) -> str:
    return f"{text}\n{line * len(text)}\n"
