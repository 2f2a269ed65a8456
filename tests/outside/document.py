"""Registers and records, read out of the tables of the register document that lies beside an engine."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

#: The sections of records.
_RECORDS = {
    "Descriptor": "descriptor",
    "Extension of a descriptor with a shape": "extension",
    "Completion": "completion",
}


@dataclass
class Layout:
    """Bits with names: those of a register, or of a record in memory."""

    fields: dict[str, tuple[int, int]] = field(default_factory=dict)

    def pack(self, values: Mapping[str, int]) -> int:
        """The number whose fields have these values, and zeros elsewhere."""
        number = 0
        for name, value in values.items():
            lsb, bits = self.fields[name]
            assert 0 <= value < 1 << bits, f"{name} has {bits} bits, which {value:#x} is not"
            number |= value << lsb
        return number

    def unpack(self, number: int) -> dict[str, int]:
        """The values of the fields."""
        return {name: number >> lsb & (1 << bits) - 1 for name, (lsb, bits) in self.fields.items()}


class Document:
    """The tables of the document.

    ``registers``
        Address and layout by ``instance.register``; one of several has ``[0]``, ``[1]`` … at the end.
    ``records``
        ``descriptor``, ``extension`` and ``completion``.
    ``status``, ``mode``
        Names of the numbers in them.
    """

    def __init__(self, path: Path) -> None:
        self.registers: dict[str, tuple[int, Layout]] = {}
        self.records: dict[str, Layout] = {}
        self.status: dict[int, str] = {}
        self.mode: dict[int, str] = {}
        instances: dict[str, list[tuple[str, int]]] = {}
        section = ""
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith("#"):
                section = line.lstrip("# ")
                self._begin(section, instances)
            elif line.startswith("|"):
                self._row(section, [cell.strip() for cell in line.strip("|").split("|")], instances)

    def _begin(self, section: str, instances: Mapping[str, list[tuple[str, int]]]) -> None:
        if section in _RECORDS:
            self.records[_RECORDS[section]] = Layout()
        found = re.fullmatch(r"(\w+)\.(\w+)(?:\[(\d+)\])? at `(0x\w+)(?: \+ 4·k)?`", section)
        if found is None:
            return
        block, name, count, offset = found.groups()
        self._open: list[Layout] = []
        for instance, base in instances[block]:
            # There may be as many entries of the table as the engine says, up to 15.
            for index in range(15 if count else 1):
                layout = Layout()
                suffix = f"[{index}]" if count else ""
                self.registers[f"{instance}.{name}{suffix}"] = (base + int(offset, 16) + 4 * index, layout)
                self._open.append(layout)

    def _row(self, section: str, cells: list[str], instances: dict[str, list[tuple[str, int]]]) -> None:
        if section == "Address map" and cells[0].startswith("`0x"):
            block = cells[3].partition("]")[0].strip("[")
            instances.setdefault(block, []).append((cells[2], int(cells[0].strip("`"), 16)))
        elif section in _RECORDS:
            if len(cells) == 4 and cells[0][:1].isdigit():
                byte = int(cells[0].split()[0])
                lsb, bits = self._bits(cells[1])
                self.records[_RECORDS[section]].fields[cells[2]] = (8 * byte + lsb, bits)
            elif len(cells) == 2 and cells[0].isdigit():
                names = self.mode if section == "Descriptor" else self.status
                names[int(cells[0])] = cells[1]
        elif " at `0x" in section and cells[0][:1].isdigit():
            for layout in self._open:
                layout.fields[cells[1]] = self._bits(cells[0])

    @staticmethod
    def _bits(text: str) -> tuple[int, int]:
        high, _, low = text.partition(":")
        return (int(low), int(high) - int(low) + 1) if low else (int(high), 1)
