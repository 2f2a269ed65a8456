"""What the driver is asked for in Python is what its header says."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from cdma_linux import requests
from tests.support.paths import MODULE

_STRUCTURES = {
    "cdma_info": requests.Info,
    "cdma_range": requests.Range,
    "cdma_request": requests.Request,
    "cdma_reply": requests.Reply,
    "cdma_batch": requests.Batch,
}
_COMMANDS = {
    "CDMA_IOC_INFO": requests.INFO,
    "CDMA_IOC_ALLOC": requests.ALLOCATE,
    "CDMA_IOC_SUBMIT": requests.SUBMIT,
    "CDMA_IOC_REAP": requests.REAP,
    "CDMA_CHECK_CRC": requests.CHECK_CRC,
    "CDMA_NO_FAULT": requests.NO_FAULT,
    "CDMA_OFFLOAD": requests.Direction.OFFLOAD,
    "CDMA_PREFETCH": requests.Direction.PREFETCH,
}


def test_structures_and_numbers_are_those_of_the_header(tmp_path: Path) -> None:
    header = MODULE / "cdma_ioctl.h"
    if not Path("/usr/include/linux/ioctl.h").exists():
        pytest.skip("the headers of Linux are not installed here")
    claims = [f"{name} == {int(value)}ull" for name, value in _COMMANDS.items()]
    for name, kind in _STRUCTURES.items():
        claims.append(f"sizeof(struct {name}) == {requests.ctypes.sizeof(kind)}")
        for field, _ in kind._fields_:
            place = getattr(kind, field)
            claims.append(f"offsetof(struct {name}, {field}) == {place.offset}")
            claims.append(f"sizeof(((struct {name} *)0)->{field}) == {place.size}")
    source = tmp_path / "claims.c"
    asserts = "".join(f'_Static_assert({claim}, "");\n' for claim in claims)
    source.write_text(f'#include <stddef.h>\n#include "{header}"\n{asserts}')
    done = subprocess.run(["gcc", "-fsyntax-only", source], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
