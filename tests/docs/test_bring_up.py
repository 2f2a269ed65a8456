"""The bring-up of docs/engine.md moves a tensor: its Verilog in the delivered bench, its C on the model."""

from __future__ import annotations

import ctypes as ct
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from cdma import app
from cdma.hdl.spec.engine import EngineConfig
from cdma.sim.codec.model import compress
from cdma.sim.engine.memory import Memory
from cdma.sim.engine.model import EngineModel
from tests.support.c_driver_library import CALL, READ, SIM, WARNINGS, WRITE, Io
from tests.support.documents import blocks
from tests.support.paths import DOCS
from tests.support.simulate import needs_icarus

_WORDS = np.arange(1024, dtype="u4") * (np.arange(1024) % 3 == 0)


@pytest.mark.slow
@needs_icarus
def test_the_verilog_moves_a_tensor(tmp_path: Path) -> None:
    assert app.main(["generate", "engine", "-o", str(tmp_path)]) == 0
    bench = tmp_path / "cdma_engine_tb.v"
    text = bench.read_text(encoding="utf-8").replace("HOST_BYTES = 4096", "HOST_BYTES = 8192")
    (task,) = blocks(DOCS / "engine.md", "verilog")
    fill = "for (at = 0; at < 4096; at = at + 1) put_device(at, at % 12 == 1 ? at / 12 : 0);"
    body = f'{fill}\n first_tensor(count);\n $display("%0d bytes", count);\n $finish;\n'
    text, count = re.subn(
        r"^    start;\n.*?^    finish;\n", lambda _: body, text, flags=re.MULTILINE | re.DOTALL
    )
    assert count == 1
    bench.write_text(text.replace("  integer at;", f"  integer at;\n  reg [31:0] count;\n{task}", 1))
    program = tmp_path / "bench"
    sources = [tmp_path / "cdma_engine.v", bench]
    subprocess.run(["iverilog", "-g2005", "-o", program, *sources], check=True)
    done = subprocess.run(["vvp", "-N", program], check=True, capture_output=True, text=True)
    # The bytes at 1, 13, ...: each is in a word that is stored, but for the first, which is 0.
    raw = np.zeros(4096, "u1")
    raw[1::12] = np.arange(len(raw[1::12])) % 256
    assert f"{len(compress(raw.view('u4')))} bytes" in done.stdout.splitlines()


def test_the_c_moves_a_tensor(tmp_path: Path) -> None:
    (code,) = blocks(DOCS / "engine.md", "c")
    source, library = tmp_path / "first.c", tmp_path / "first.so"
    run = "uint32_t run(const struct cdma_io *io)"
    source.write_text(f"{code}\n{run};\n{run} {{ return first_tensor(io); }}\n")
    command = ["cc", "-std=c99", *WARNINGS, "-shared", "-fPIC", f"-I{SIM}", str(source), "-o", str(library)]
    subprocess.run(command, check=True)
    device, host = bytearray(_WORDS.tobytes()), bytearray(1 << 13)
    engine = EngineModel(EngineConfig(), Memory(device, 0x1000_0000), Memory(host, 0x8000_0000))

    def read(_: object, offset: int) -> int:
        engine.step()
        return engine.read32(offset)

    io = Io(None, READ(read), WRITE(lambda _, offset, value: engine.write32(offset, value)), CALL(), CALL())
    stream = compress(_WORDS)
    assert ct.CDLL(str(library)).run(ct.byref(io)) == len(stream)
    assert host.startswith(stream)
