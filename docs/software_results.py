"""Writes the tables of ``docs/study/formats.md`` on the codec in software, by running the commands that it shows.

    python -m docs.software_results [--only rates files] [--rounds N]

``rates`` is about a minute of ``cdma bench software``; ``files`` compresses and decompresses a file of 1 GB in the temporary
directory, which is read from the disk. The text around the tables says which machine it was, and is written by hand.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cdma.files import write_text
from cdma.hdl.spec.presets import PRESETS
from cdma.sim.codec.stimuli import activations

DOCS = Path(__file__).parent
DOCUMENT = DOCS / "study" / "formats.md"

#: Codecs that the table of rates leaves out: they are slower than LZ4, or need no comparison in each format.
_LEFT_OUT = ("cDMA numpy", "zlib 1", "zstd 1", "blosc2 LZ4 1")
_TITLES = {"cDMA scalar": "scalar", "cDMA avx2": "AVX2", "cDMA avx512": "AVX-512", "cDMA neon": "NEON"}
_FILE_NUMBERS = 250_000_000


def run(*arguments: str) -> Any:
    """What a command says in JSON."""
    print("cdma", *arguments, file=sys.stderr, flush=True)
    command = [sys.executable, "-m", "cdma", *arguments, "--json"]
    return json.loads(subprocess.run(command, cwd=DOCS.parent, stdout=subprocess.PIPE, check=True).stdout)


def table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [titles, ["---"] * len(titles), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def rates_row(name: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """A line of the table of rates by its titles: memcpy in GB/s, the others as parts of it."""
    by_codec = {row["codec"]: row for row in rows if row["codec"] not in _LEFT_OUT}
    directions = "compress_bytes_per_second", "decompress_bytes_per_second"
    copies = by_codec.pop("memcpy")
    memcpy = max(copies[rate] for rate in directions)
    line = {"format": f"`{name}`", "memcpy": f"{memcpy / 1e9:.1f}"}
    for codec, row in by_codec.items():
        line[_TITLES.get(codec, codec)] = " / ".join(f"{row[rate] / memcpy:.2f}" for rate in directions)
    return line


def rates(rounds: int) -> str:
    """The rates of every preset."""
    lines = []
    for name in PRESETS:
        (bench,) = run("bench", "software", "--format", name, "--rounds", str(rounds))["benches"]
        lines.append(rates_row(name, bench["rows"]))
    return table(list(lines[0]), [list(line.values()) for line in lines])


def files(rounds: int) -> str:
    """Seconds in files and beside them, for a file that has to come from the disk."""
    with tempfile.TemporaryDirectory() as folder:
        raw, packed, back = (Path(folder) / name for name in ("raw.npy", "packed.cdma", "back.npy"))
        np.save(raw, activations(_FILE_NUMBERS, 0.45, 0).reshape(-1)[:_FILE_NUMBERS])
        lines = [
            files_row("compress", list(cold(rounds, raw, "compress", raw, packed))),
            files_row("decompress", list(cold(rounds, packed, "decompress", packed, back))),
        ]
    return table(("command", "raw bytes", "seconds", "reading and writing", "all else", "GB/s"), lines)


def cold(rounds: int, source: Path, command: str, *paths: Path) -> Iterator[Mapping[str, Any]]:
    """What a command says of each round; before it, ``source`` is nowhere but on the disk."""
    for _ in range(rounds):
        os.sync()
        with source.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        yield run(command, *map(str, paths))


def files_row(command: str, rounds: Sequence[Mapping[str, Any]]) -> Sequence[str]:
    """A line of the table on files: the round of median time."""
    middle = sorted(rounds, key=lambda one: float(one["seconds"]))[len(rounds) // 2]
    raw, seconds, in_files = (middle[name] for name in ("raw_bytes", "seconds", "file_seconds"))
    numbers = (f"{seconds:.2f}", f"{in_files:.2f}", f"{seconds - in_files:.2f}", f"{raw / seconds / 1e9:.2f}")
    return f"`cdma {command}`", f"{raw:,}", *numbers


PARTS: dict[str, Callable[[int], str]] = {"rates": rates, "files": files}


def mark(name: str, end: str) -> str:
    """The line in the document before a table and the one after it."""
    return f"<!-- {name}: {end} -->\n"


def put(name: str, text: str, document: str) -> str:
    """The document with a table in place of what it was."""
    before, _, rest = document.partition(mark(name, "begin"))
    _, _, after = rest.partition(mark(name, "end"))
    return f"{before}{mark(name, 'begin')}\n{text}\n{mark(name, 'end')}{after}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=PARTS, metavar="PART", help="one of the tables")
    parser.add_argument("--rounds", type=int, default=6, metavar="N", help="of each command (default 6)")
    arguments = parser.parse_args()
    for name in arguments.only or PARTS:
        text = PARTS[name](arguments.rounds)
        write_text(DOCS, DOCUMENT.name, put(name, text, DOCUMENT.read_text()))


if __name__ == "__main__":
    main()
