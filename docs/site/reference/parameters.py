"""The page of the parameters, made from the fields of the objects that hold them and from their docstrings."""

from __future__ import annotations

import dataclasses
import inspect
import re

from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.settings import settings_of
from cdma.hdl.spec.stage import Quantisation, StageConfig

from .markdown import from_docstring, table

_OBJECTS = {
    "The stream": Format,
    "A codec": CodecConfig,
    "An engine": EngineConfig,
    "The numbers of an error-bounded stage": Quantisation,
    "An error-bounded stage": StageConfig,
}


def parameters_page() -> str:
    """Every parameter of every object."""
    parts = [
        "# Parameters\n",
        "Each object is frozen, and refuses values that cannot be built, with a reason. In a TOML file (`--config`) a "
        "parameter has the name that it has here; as an option it has hyphens for underscores ([commands](commands.md)).\n",
    ]
    for title, kind in _OBJECTS.items():
        said = {each.name: f"{each.help[0].upper()}{each.help[1:]}." for each in settings_of(kind)}
        # The docstring has those of which there is more to say.
        said |= meanings(kind)
        rows = []
        for field in dataclasses.fields(kind):
            rows.append((f"`{field.name}`", f"`{field.type}`", f"`{field.default!r}`", said[field.name]))
        introduction = from_docstring(inspect.cleandoc(kind.__doc__ or "").split("\n\n")[0])
        parts += [f"## {title}: `{kind.__name__}`\n", introduction + "\n"]
        parts += [table(("parameter", "type", "default", "meaning"), rows) + "\n"]
    return "\n".join(parts)


def meanings(kind: type) -> dict[str, str]:
    """What the docstring of a class says of each name that it lists."""
    found = {}
    text = inspect.cleandoc(kind.__doc__ or "")
    for names, meaning in re.findall(r"^((?:``\w+``(?:, )?)+): (.*(?:\n    .*)*)", text, re.MULTILINE):
        found |= dict.fromkeys(re.findall(r"``(\w+)``", names), from_docstring(meaning))
    return found
