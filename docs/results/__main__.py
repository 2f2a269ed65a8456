"""Measures anew, and writes ``docs/results.md`` and ``docs/options.md``.

    python -m docs.results stale
    python -m docs.results measure [--stale] [NAME ...] [--libraries FOLDER] [--peer CHECKOUT]
    python -m docs.results keep NAME FILE
    python -m docs.results write

``measure`` runs the commands of the records of these names, which may be patterns such as ``'engine*'``, without a name of
all of them, which takes hours; each is stored as soon as it is measured. ``stale`` lists the records whose circuit, sources
or recipe is another today than when it was measured, or of which that is not known; the status is 1 if one of them needs no
card. ``measure --stale`` measures these alone, and ``write`` marks them on the pages. ``keep`` stores what the command of a
record printed with ``--json`` on another machine, such as one with a card, where the files were those that are here.
``--libraries`` is a folder with the cell libraries, ``--peer`` a checkout of verilog-axi: the repository contains neither.
A new measurement is a name and a command in ``records.json``, and a place for it in a template.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from cdma.base.errors import CdmaError
from cdma.files import write_text

from .digests import changed, digests, needs_card
from .page import DOCS, pages
from .records import RECORDS, Record, Sources, load, measured, printed_elsewhere, store


def measure(
    patterns: Sequence[str], sources: Sources, path: Path = RECORDS, *, stale_alone: bool = False
) -> list[str]:
    """Measures what the patterns name; the names of those that failed, whose records stay as they were."""
    records = load(path)
    failed = []
    for name in [name for name in records if any(fnmatch.fnmatch(name, each) for each in patterns)]:
        if stale_alone and (needs_card(records[name]) or not changed(records[name])):
            continue
        print(f"{name}: {records[name].command}", file=sys.stderr, flush=True)
        try:
            record = _with_digests(measured(records[name], sources))
        except CdmaError as error:
            print(f"{name}: {error}", file=sys.stderr)
            failed.append(name)
            continue
        store(load(path) | {name: record}, path)
    return failed


def _with_digests(record: Record) -> Record:
    return replace(record, digests=digests(record.command))


def stale(records: Mapping[str, Record]) -> bool:
    """Lists the stale records; whether one of them needs no card."""
    found = {name: parts for name, record in records.items() if (parts := changed(record))}
    for name, parts in found.items():
        why = f"another {' and '.join(parts)}" if records[name].digests else "never compared"
        print(f"{name}: {why}{', needs a card' if needs_card(records[name]) else ''}")
    print(f"{len(found)} of {len(records)} records are stale")
    return not all(needs_card(records[name]) for name in found)


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
    one.add_argument("--stale", action="store_true", help="those alone that are stale and need no card")
    one.add_argument("--libraries", type=Path, metavar="FOLDER", help="the folder with the cell libraries")
    one.add_argument("--peer", type=Path, metavar="CHECKOUT", help="a checkout of verilog-axi")
    other = commands.add_parser("keep", help="store what the command of a record printed on another machine")
    other.add_argument("name", metavar="NAME", help="of the record")
    other.add_argument("file", type=Path, metavar="FILE", help="what the command printed, with --json")
    commands.add_parser("write", help="mark what is stale, and write the pages from the records")
    commands.add_parser("stale", help="list the records that are of another circuit, source or recipe")
    arguments = parser.parse_args()
    if arguments.command == "stale":
        sys.exit(stale(load()))
    elif arguments.command == "write":
        records = {name: replace(record, stale=bool(changed(record))) for name, record in load().items()}
        store(records)
        for name, text in pages(records).items():
            write_text(DOCS, name, text)
    elif arguments.command == "keep":
        records = load()
        printed = json.loads(arguments.file.read_text(encoding="utf-8"))
        record = _with_digests(printed_elsewhere(records[arguments.name], printed))
        store(records | {arguments.name: record})
    elif failed := measure(
        arguments.names, Sources(arguments.libraries, arguments.peer), stale_alone=arguments.stale
    ):
        sys.exit(f"as before: {', '.join(failed)}")


if __name__ == "__main__":
    main()
