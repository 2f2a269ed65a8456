"""Measures anew, and writes ``docs/results.md`` and ``docs/options.md``.

    python -m docs.results measure [NAME ...] [--libraries FOLDER] [--peer CHECKOUT]
    python -m docs.results keep NAME FILE
    python -m docs.results write

``measure`` runs the commands of the records of these names, which may be patterns such as ``'engine*'``, without a name of
all of them, which takes hours; each is stored as soon as it is measured. ``keep`` stores what the command of a record
printed with ``--json`` on another machine, such as one with a card, where the files were those that are here.
``--libraries`` is a folder with the cell libraries, ``--peer`` a checkout of verilog-axi: the repository contains neither.
A new measurement is a name and a command in ``records.json``, and a place for it in a template.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from cdma.base.errors import CdmaError
from cdma.files import write_text

from .page import DOCS, pages
from .records import RECORDS, Sources, load, measured, printed_elsewhere, store


def measure(patterns: Sequence[str], sources: Sources, path: Path = RECORDS) -> list[str]:
    """Measures what the patterns name; the names of those that failed, whose records stay as they were."""
    records = load(path)
    failed = []
    for name in [name for name in records if any(fnmatch.fnmatch(name, each) for each in patterns)]:
        print(f"{name}: {records[name].command}", file=sys.stderr, flush=True)
        try:
            record = measured(records[name], sources)
        except CdmaError as error:
            print(f"{name}: {error}", file=sys.stderr)
            failed.append(name)
            continue
        store(load(path) | {name: record}, path)
    return failed


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m docs.results",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("measure", help="run the commands of some records, or of all")
    one.add_argument(
        "names", nargs="*", default=["*"], metavar="NAME", help="names or patterns (default: all)"
    )
    one.add_argument("--libraries", type=Path, metavar="FOLDER", help="the folder with the cell libraries")
    one.add_argument("--peer", type=Path, metavar="CHECKOUT", help="a checkout of verilog-axi")
    other = commands.add_parser("keep", help="store what the command of a record printed on another machine")
    other.add_argument("name", metavar="NAME", help="of the record")
    other.add_argument("file", type=Path, metavar="FILE", help="what the command printed, with --json")
    commands.add_parser("write", help="write the pages from the records")
    arguments = parser.parse_args()
    if arguments.command == "write":
        for name, text in pages(load()).items():
            write_text(DOCS, name, text)
    elif arguments.command == "keep":
        records = load()
        printed = json.loads(arguments.file.read_text(encoding="utf-8"))
        store(records | {arguments.name: printed_elsewhere(records[arguments.name], printed)})
    elif failed := measure(arguments.names, Sources(arguments.libraries, arguments.peer)):
        sys.exit(f"as before: {', '.join(failed)}")


if __name__ == "__main__":
    main()
