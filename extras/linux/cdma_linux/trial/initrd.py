"""The guest's first file system, which is its only one, as the archive that the kernel unpacks."""

from __future__ import annotations

import stat
from collections.abc import Iterator, Mapping

__all__ = ["archive"]

_BLOCK = 4


def archive(files: Mapping[str, bytes]) -> bytes:
    """An archive of ``files``, all of which may be executed, in the format that the kernel unpacks ("newc").

    It has the folders of the files, those that file systems are mounted on, and the console.
    """
    folders = {"dev", "proc", "sys", *(name.rpartition("/")[0] for name in files if "/" in name)}
    entries: list[tuple[str, int, int, bytes]] = [
        *((folder, stat.S_IFDIR | 0o755, 0, b"") for folder in sorted(folders)),
        ("dev/console", stat.S_IFCHR | 0o600, 0x0501, b""),
        *((name, stat.S_IFREG | 0o755, 0, content) for name, content in files.items()),
        ("TRAILER!!!", 0, 0, b""),
    ]
    return b"".join(part for number, entry in enumerate(entries, 1) for part in _entry(number, *entry))


def _entry(number: int, name: str, mode: int, device: int, content: bytes) -> Iterator[bytes]:
    """An entry; ``device`` has the major and the minor number of a device in a byte each."""
    major, minor = device >> 8, device & 0xFF
    path = name.encode() + b"\0"
    # Inode, mode, owner, group, links, time, size, device of the file, device that it is, length of the name, checksum.
    fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, major, minor, len(path), 0)
    head = b"070701" + b"".join(b"%08X" % value for value in fields) + path
    for part in (head, content):
        yield part + bytes(-len(part) % _BLOCK)
