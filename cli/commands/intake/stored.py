"""The stored measurements of one configuration: those of the project's records whose command asks for it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cdma.app import parser
from cdma.hdl.deliver.block import Config
from cdma.options import config_from

from .documents import document

__all__ = ["RECORDS", "Stored", "stored_of"]

RECORDS = "docs/results/records.json"


@dataclass(frozen=True)
class Stored:
    """A measurement: its command, when it was made and of which revision, and what is kept of what it printed."""

    command: str
    date: str
    revision: str
    figures: Any

    @property
    def kind(self) -> str:
        """The words of the command up to its first option, without the block."""
        words = self.command.split()[1:3]
        return words[0] if words[0] != "bench" else " ".join(words)


def stored_of(block: str, config: Config) -> list[Stored]:
    """Those of a block with these parameters, in the order of the file."""
    return list(_found(block, config))


def _found(block: str, config: Config) -> Iterator[Stored]:
    commands = parser()
    for record in json.loads(document(RECORDS)).values():
        program, *words = shlex.split(record["command"])
        if (
            program != "cdma"
            or words[0] not in ("area", "fpga", "power", "bench")
            or {"--sweep", "--compare"} & {*words}
        ):
            continue
        asked = commands.parse_args(words)
        # The codecs' bench has both of them.
        blocks = (
            ("compressor", "decompressor")
            if words[:2] == ["bench", "codec"]
            else (getattr(asked, "block", None),)
        )
        if block in blocks and config_from(asked) == config:
            yield Stored(record["command"], record["date"], record["revision"], record["figures"])
