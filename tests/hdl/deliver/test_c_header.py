"""The C header stands alone in every dialect that it is for."""

from __future__ import annotations

import subprocess

import pytest

from cdma.hdl.deliver.c_header import c_header
from cdma.hdl.spec.registers.map import register_map
from tests.support.register_configs import each_config


@pytest.mark.parametrize("dialect", ["c99", "c11", "c++11", "c++17"])
@each_config
def test_c_header_compiles_alone_without_a_warning(config, dialect, tmp_path):
    (tmp_path / "cdma_regs.h").write_text(c_header(register_map(config)))
    (tmp_path / "twice.c").write_text(
        '#include "cdma_regs.h"\n#include "cdma_regs.h"\nint main(void) { return 0; }\n'
    )
    language = "c++" if "+" in dialect else "c"
    command = [
        "cc",
        f"-std={dialect}",
        "-x",
        language,
        *["-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only"],
    ]
    subprocess.run([*command, "twice.c"], cwd=tmp_path, check=True)
