"""The guest's file system."""

from __future__ import annotations

import stat

from cdma_linux.trial.initrd import archive


def _entries(text: bytes) -> dict[str, tuple[int, bytes, tuple[int, int]]]:
    """Reads an archive as the kernel does: the mode, the content and the device of each entry."""
    found, at = {}, 0
    while True:
        assert text[at : at + 6] == b"070701"
        fields = [int(text[at + 6 + 8 * k : at + 14 + 8 * k], 16) for k in range(13)]
        name = text[at + 110 : at + 110 + fields[11] - 1].decode()
        content = -(-(at + 110 + fields[11]) // 4) * 4
        if name == "TRAILER!!!":
            return found
        found[name] = fields[1], text[content : content + fields[6]], (fields[9], fields[10])
        at = -(-(content + fields[6]) // 4) * 4


def test_the_archive_has_its_files_their_folders_and_a_console() -> None:
    found = _entries(archive({"init": b"abcde", "vectors/x": b""}))
    assert found["init"] == (stat.S_IFREG | 0o755, b"abcde", (0, 0))
    assert found["vectors/x"][1] == b""
    assert found["dev/console"] == (stat.S_IFCHR | 0o600, b"", (5, 1))
    folders = {name for name, (mode, _, _) in found.items() if stat.S_ISDIR(mode)}
    assert folders == {"dev", "proc", "sys", "vectors"}
    assert list(found).index("vectors") < list(found).index("vectors/x")
