"""What docs/verilog.md explains is what the generator prints. What docs/integration.md shows: its settings are accepted,
its instantiation has the ports, its list names the files. The C of docs/driver.md compiles and runs as it stands
there. The table of causes in the guide of the engine has the order that hardware and model have.
"""

from __future__ import annotations

import ctypes as ct
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cdma.app import parser
from cdma.hdl.deliver.block import LANGUAGES
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.records import CAUSES, Status
from cdma.options import codec_config_from
from cdma.sim.codec.model import compress
from cdma.sim.engine.driver.driver import c_driver
from cdma.sim.engine.memory import Memory
from cdma.sim.engine.model import EngineModel
from cdma.verif.engine.design import EngineDesign
from docs.printed import HEADER, PAGE, header, page
from tests.support.c_driver_library import CALL, READ, SIM, WARNINGS, WRITE, Io
from tests.support.commands import Shown
from tests.support.documents import blocks
from tests.support.paths import DOCS


@pytest.mark.slow
def test_the_module_is_as_it_is_printed_and_the_page_speaks_of_its_names() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text == page(), "python -m docs.printed writes it anew"
    _, module, said = re.split(r"^```verilog\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    names = re.findall(r"`([a-z]+(?:_[a-z0-9]+)+)`", said)
    unknown = {name for name in names if not re.search(rf"\b{name}\b", module)}
    assert unknown == {"input_ready"}


if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def block(language: str, mark: str) -> str:
    """Returns the one block that contains ``mark``."""
    (chosen,) = (text for text in blocks(DOCS / "integration.md", language) if mark in text)
    return chosen


def test_the_settings_are_accepted(tmp_path: Path) -> None:
    settings = block("toml", "codec.toml")
    config = tmp_path / "codec.toml"
    config.write_text(settings)
    parsed = parser().parse_args(["generate", "compressor", "--config", str(config)])
    assert codec_config_from(parsed).settings().items() >= tomllib.loads(settings).items()


@pytest.mark.slow
@pytest.mark.usefixtures("generated_once")
def test_the_folder_has_the_files_that_the_page_lists(tmp_path: Path, shown: Shown) -> None:
    section = (
        (DOCS / "integration.md")
        .read_text(encoding="utf-8")
        .partition("## The folder\n")[2]
        .partition("\n## ")[0]
    )
    cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    listed = {name for cell in cells for name in re.findall(r"`(.+?)`", cell)}
    options = EngineDesign().options().split()
    written = set()
    for language in LANGUAGES:
        asked = ["--language", language, *options, "--json", "-o", str(tmp_path / language)]
        files = json.loads(shown("generate", "engine", *asked))["files"]
        written |= {Path(file).name.replace("cdma_engine", "NAME") for file in files}
    assert {name for name in written if not name.endswith(".svg")} == listed


def _compiled(folder: Path, document: str, run: str) -> Any:
    """The function ``run`` beside the C of a document."""
    (folder / "run.c").write_text("\n".join([*blocks(DOCS / document, "c"), run]))
    command = ["cc", "-std=c99", *WARNINGS, "-shared", "-fPIC", f"-I{SIM}", "run.c", "-o", "run.so"]
    subprocess.run(command, check=True, cwd=folder)
    return ct.CDLL(str(folder / "run.so")).run


def _io(engine: EngineModel) -> Io:
    return Io(
        None,
        READ(lambda _, offset: engine.read32(offset)),
        WRITE(lambda _, offset, value: engine.write32(offset, value)),
        CALL(lambda _: engine.step() and None),
        CALL(),
    )


def test_the_c_examples_compile_and_run(tmp_path):
    run = _compiled(
        tmp_path,
        "driver.md",
        "int64_t run(const struct cdma_io *, void *, uint64_t, uint64_t, uint64_t, uint32_t);\n"
        + "int64_t run(const struct cdma_io *io, void *r, uint64_t a, uint64_t f, uint64_t t, uint32_t n) {\n"
        + "    (void)mapped_read;\n    (void)mapped_write;\n    return offload_all(io, r, a, f, t, n);\n}\n",
    )
    count = 40
    device = bytearray(np.random.default_rng(2).integers(0, 2, count * 1024, "u4").tobytes())
    host = bytearray(1 << 20)
    engine = EngineModel(EngineConfig(), Memory(device, 0x4000_0000), Memory(host, 0x8000_0000))
    run.restype = ct.c_int64
    rings = (ct.c_ubyte * len(host)).from_buffer(host)
    addresses = map(ct.c_uint64, (0x8000_0000, 0x4000_0000, 0x8000_1000))
    total = run(ct.byref(_io(engine)), rings, *addresses, count)
    packed = [compress(np.frombuffer(device[4096 * k : 4096 * (k + 1)], "u4")) for k in range(count)]
    assert total == sum(map(len, packed))
    for k, stream in enumerate(packed):
        assert host[0x1000 + 8192 * k :][: len(stream)] == stream


def test_the_c_of_the_tiles_hands_over_the_shape_that_it_says(tmp_path):
    call = "offload_head(&engine.offload, from, to)"
    run = _compiled(
        tmp_path,
        "tiles.md",
        "int run(const struct cdma_io *, void *, uint64_t, uint64_t, uint64_t);\n"
        + "int run(const struct cdma_io *io, void *rings, uint64_t at, uint64_t from, uint64_t to) {\n"
        + "    struct cdma engine;\n    struct cdma_result done;\n    int status = cdma_open(&engine, io);\n"
        + "    status = status != CDMA_OK ? status : cdma_set_window(&engine, CDMA_DEV_WINDOW_BASE, 0, ~0ull, 0);\n"
        + "    status = status != CDMA_OK ? status : cdma_set_window(&engine, CDMA_HOST_WINDOW_BASE, 0, ~0ull, 0);\n"
        + "    status = status != CDMA_OK ? status : cdma_start(&engine.offload, rings, at, 16, 0);\n"
        + f"    status = status != CDMA_OK ? status : {call};\n"
        + "    status = status != CDMA_OK ? status : cdma_wait(&engine.offload, CDMA_BY_MEMORY, &done, 1, 1000);\n"
        + "    return status != CDMA_OK ? status : (int)done.bytes_written;\n}\n",
    )
    keys = np.random.default_rng(2).integers(0, 2, (64, 8, 32), "u4")
    host = bytearray(1 << 16)
    engine = EngineModel(
        EngineConfig(dimensions=1), Memory(bytearray(keys.tobytes()), 0x4000_0000), Memory(host, 0x8000_0000)
    )
    rings = (ct.c_ubyte * len(host)).from_buffer(host)
    addresses = map(ct.c_uint64, (0x8000_0000, 0x4000_0000 + 3 * 128, 0x8000_4000))
    written = run(ct.byref(_io(engine)), rings, *addresses)
    stream = compress(np.ascontiguousarray(keys[:, 3]))
    assert written == len(stream)
    assert host[0x4000:][:written] == stream


def test_the_text_of_the_c_driver_is_the_file():
    assert c_driver() == (SIM / "cdma.h").read_text(encoding="utf-8")


def test_the_header_is_that_of_the_register_map():
    assert HEADER.read_text(encoding="utf-8") == header(), "write it with: python docs/printed.py"


_REFUSALS = (
    {Status.FETCH_SLVERR, Status.FETCH_DECERR},
    {Status.RESERVED},
    {Status.OWNER},
    {Status.ZERO_LENGTH},
    {Status.LENGTH},
    {Status.SHAPE},
    {Status.CAPACITY},
    {Status.ALIGNMENT},
    {Status.WINDOW},
)


def test_the_causes_are_in_the_order_of_the_guide() -> None:
    text = (DOCS / "engine.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d*) ?\| (`[A-Z_`, ]+`) \|", text.partition("## Errors")[2], re.MULTILINE)
    ranked = [
        (int(order), {Status[name] for name in re.findall(r"\w+", names)}) for order, names in rows if order
    ]
    assert ranked == list(enumerate([*_REFUSALS, *map(set, CAUSES)], 1))
    unranked = {Status[name] for order, names in rows if not order for name in re.findall(r"\w+", names)}
    named = set.union(unranked, *(names for _, names in ranked))
    assert named == set(Status) - {Status.OK}
