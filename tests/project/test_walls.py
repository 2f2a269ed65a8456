"""The walls of the house: which room may import from which, and what is not loaded before it is needed.

A room is a folder, at most two deep, as in docs/architecture.md. A file belongs to the innermost folder that
``ARROWS`` names, and may import freely within its room. Every other import of the package follows an arrow.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.imports import Import, circles, imports_of, modules_in, room_of
from tests.support.paths import DOCS, PACKAGES, ROOT


def _table(text: str) -> dict[str, list[str]]:
    """The words of each line behind its first one and a colon; an indented line goes on, and comments begin with a #."""
    rows = [line for line in text.replace("\n    ", " ").splitlines() if line and not line.startswith("#")]
    return {name: words.split() for name, _, words in (row.partition(":") for row in rows)}


#: The rooms from the ground up, each with the rooms that it may import from. An arrow to a room does not include the
#: rooms inside it: each is named by itself. A new import may need a new arrow here; an arrow without an import goes.
ARROWS = _table("""
# What runs work: caches, threads, jobs on other machines, Yosys, TOML, errors. It knows nothing of what the work is.
base:
# Parameters, records, registers: plain data, on which everything else stands.
hdl/spec: base
# What any design could use, what turns designs into Verilog, and the ports of AXI4.
hdl/blocks:
hdl/verilog: base
hdl/axi: hdl/blocks
# The codec with the stages that bound an error, and the engine. The engine loads the codec by the name in its description.
hdl/codec: hdl/spec hdl/blocks hdl/verilog
hdl/engine: hdl/spec hdl/blocks hdl/verilog hdl/axi hdl/codec
# What a user gets: the Verilog of any block by its name, texts of its registers, its package, the core of LiteX.
hdl/deliver: base hdl/spec hdl/verilog hdl/codec hdl/engine
# The public names of cdma.hdl. They are imported by name on first use, and no room imports through them.
hdl: base hdl/spec hdl/codec hdl/engine
# The software of the same bits: the codec, and the engine's model with its drivers.
sim/codec: base hdl/spec
sim/engine: base hdl/spec sim/codec
sim: base sim/codec sim/engine
# The benches: that of streams and that of engines stand beside each other, on the simulator and the monitors.
verif/simulator: base hdl/spec hdl/verilog hdl/deliver sim/codec
verif/stream: hdl/spec sim/codec verif/simulator
verif/engine: base hdl/spec sim/codec sim/engine verif/simulator
# The proofs hold single blocks and the Verilog of whole designs, and simulate nothing.
verif/proofs: base hdl/spec hdl/blocks hdl/verilog hdl/axi hdl/codec hdl/engine
# The regression, and campaigns: what it reaches, random designs, faults put into designs and at the ports of an engine.
verif/campaigns: base hdl/spec sim/codec sim/engine verif/simulator verif/stream verif/engine verif/proofs
# Area and clock.
synth/asic: base hdl/spec hdl/deliver
synth/fpga: base synth/asic
# The command and the public names of cdma.
cli: base hdl/spec sim/codec sim
cli/commands: base hdl/spec hdl/deliver sim/codec sim/engine verif/simulator verif/stream verif/engine verif/proofs
    verif/campaigns synth/asic synth/fpga cli
# The wings. Nothing above imports one.
extras/linux: base hdl/spec verif/simulator verif/engine cli
extras/pytorch: base hdl/spec sim/codec cli extras/linux
extras/study: base hdl/spec sim/codec verif/stream verif/engine synth/asic cli extras/pytorch
""")

#: The libraries that the package imports, each with the rooms that may import it, including the rooms inside those.
LIBRARIES = _table("""
amaranth: hdl/blocks hdl/verilog hdl/codec hdl/axi hdl/engine verif/proofs cli/commands
numpy: sim verif synth cli/commands extras
litedram: verif/engine
litex: hdl/deliver verif/simulator verif/engine
migen: hdl/deliver verif/engine
rich: cli extras
shtab: cli/commands
tomli: base
lz4: sim/codec extras
torch: extras
triton: extras/pytorch extras/study
transformers: extras/pytorch
cocotb: verif extras/linux
cocotb_tools: verif/simulator
cocotbext: verif extras/linux
find_libpython: verif/simulator
vcd: verif
wavedrom: verif
peakrdl_uvm: hdl/deliver
systemrdl: hdl/deliver
distributed: base
""")


def broken_walls(imports: list[Import], arrows: Mapping[str, list[str]]) -> list[str]:
    """Returns one sentence for each import that follows no arrow, and for each arrow that no import follows."""
    missing, used = [], set()
    for item in imports:
        source, target = room_of(item.file, arrows), room_of(item.target, arrows)
        if source is None:
            missing.append(f"{item.file} lies in no room of the table")
        elif "/" in item.target and target != source:
            used.add((source, target))
            if target not in arrows[source]:
                missing.append(f"{item}: the table has no arrow {source} -> {target}")
    unused = {(source, target) for source, targets in arrows.items() for target in targets} - used
    return [
        *missing,
        *(f"no import follows the arrow {source} -> {target}" for source, target in sorted(unused)),
    ]


def stray_libraries(imports: list[Import], libraries: Mapping[str, list[str]]) -> list[str]:
    """Returns one sentence for each import of a library by a room that is not listed for it."""
    return [
        f"{item}: the table does not list {item.file.rpartition('/')[0]} for it"
        for item in imports
        if "/" not in item.target and room_of(item.file, libraries.get(item.target, [])) is None
    ]


@pytest.fixture(scope="module")
def imports() -> list[Import]:
    """Every import of the package."""
    return imports_of(ROOT, modules_in(ROOT, PACKAGES))


def test_every_import_follows_an_arrow(imports: list[Import]) -> None:
    assert broken_walls(imports, ARROWS) == []


def test_the_core_knows_no_wing(imports: list[Import]) -> None:
    """It imports nothing of a wing, and no text of it names a module of one, as an import by name would."""
    core = [folder for folder in PACKAGES if not folder.startswith("extras/")]
    own = [item for item in imports if not item.file.startswith("extras/")]
    assert {item.file.partition("/")[0] for item in own} == {*core}
    assert [str(item) for item in own if item.target.startswith("extras/")] == []
    wings = "|".join(
        re.escape(package) for folder, package in PACKAGES.items() if folder.startswith("extras/")
    )
    named = re.compile(rf"(?<![\w.])({wings}|extras/\w+)(?!\w)")
    files = [
        path
        for folder in core
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".py", ".js", ".html")
    ]
    found = [
        f"{path}: {each.group()}"
        for path in files
        for each in named.finditer(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_every_room_of_the_table_stands() -> None:
    assert [room for room in ARROWS if not any((ROOT / room).rglob("*.py"))] == []


def test_the_document_has_every_room_before_those_that_it_imports_from() -> None:
    shown = (DOCS / "architecture.md").read_text(encoding="utf-8").partition("```\n")[2].partition("```")[0]
    rooms = [word for word in shown.split() if word in ARROWS or "/" in word]
    assert sorted(rooms) == sorted(ARROWS)
    wrong = [
        f"{a} -> {b}" for a, targets in ARROWS.items() for b in targets if rooms.index(a) > rooms.index(b)
    ]
    assert wrong == []


def test_every_library_stays_in_its_rooms(imports: list[Import]) -> None:
    assert stray_libraries(imports, LIBRARIES) == []
    assert set(LIBRARIES) == {item.target for item in imports if "/" not in item.target}


def test_no_circles(imports: list[Import]) -> None:
    assert circles(imports) == []


def test_tests_share_only_what_lies_in_support() -> None:
    """No test imports from another one, but from commands that have tests, and the codec and rules of the outsider."""
    shared = (
        "tests/support/",
        *(f"tests/extras/pytorch/{name}.py" for name in ("clockwork_link", "compiled", "interpreted")),
        "tests/extras/study/small_networks.py",
        "tests/extras/linux/linux_file.py",
        "tests/outside/axi_rules.py",
        "tests/outside/codec.py",
        "tests/same_output.py",
        "tests/mutants.py",
        "tests/weight.py",
        "tests/designer_time.py",
    )
    own = modules_in(ROOT, {"tests": "tests"})
    found = [item for item in imports_of(ROOT, own) if item.target.startswith("tests/")]
    strangers = [item for item in found if not item.file.startswith("tests/outside/")]
    assert [str(item) for item in strangers if not item.target.startswith(shared)] == []
    assert circles(found) == []


def test_the_outsider_knows_the_documents_alone() -> None:
    """Its bench imports libraries and its own files, and no name that the package could be loaded by."""
    folder = "tests/outside"
    found = imports_of(ROOT, modules_in(ROOT, {"tests": "tests"}))
    own = [item for item in found if item.file.startswith(f"{folder}/")]
    assert {item.target for item in own if not item.target.startswith(f"{folder}/")} == {
        "cocotb",
        "cocotbext",
    }
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / folder).glob("*.py")]
    assert not [word for word in ("importlib", "__import__", "import cdma") for text in texts if word in text]


def test_tests_have_the_rooms_of_what_they_test() -> None:
    folders = {path.parent.relative_to(ROOT / "tests") for path in (ROOT / "tests").rglob("test_*.py")}
    tested = {str(folder) for folder in folders} - {"docs", "project"}
    sources = {folder: folder.replace("extras/linux", "extras/linux/cdma_linux") for folder in tested}
    assert [folder for folder in sorted(tested) if not any((ROOT / sources[folder]).rglob("*.py"))] == []


def test_the_reader_sees_every_import(tmp_path: Path) -> None:
    files = {
        "src/__init__.py": "",
        "src/low.py": "import os\nimport numpy.random\nvalue = 1\n",
        "src/room/__init__.py": "from .. import low\n",
        "src/room/high.py": """
from typing import TYPE_CHECKING
from ..low import value
from . import other
if TYPE_CHECKING:
    from made.room.other import Thing
def later():
    import made.low
""",
        "src/room/other.py": "class Thing: from .high import later\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found = imports_of(tmp_path, modules_in(tmp_path, {"src": "made"}))
    assert [str(item) for item in found] == [
        "src/low.py:2 imports numpy",
        "src/room/__init__.py:1 imports src/low.py",
        "src/room/high.py:3 imports src/low.py",
        "src/room/high.py:4 imports src/room/other.py",
        "src/room/high.py:6 imports src/room/other.py",
        "src/room/high.py:8 imports src/low.py",
        "src/room/other.py:1 imports src/room/high.py",
    ]
    assert circles(found) == [["src/room/high.py", "src/room/other.py"]]


def _loads(code: str, *libraries: str) -> list[str]:
    """Returns those of ``libraries`` that a new interpreter has loaded after running ``code``."""
    asked = f"print(*(name for name in {libraries!r} if name in sys.modules), file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\ntry:\n    {code}\nexcept SystemExit:\n    pass\n{asked}"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stderr.split()


@pytest.mark.parametrize(
    "code",
    [
        "import cdma, cdma.hdl, cdma.sim",
        "import " + ", ".join(modules_in(ROOT, {"hdl/spec": "cdma.hdl.spec"})),
        "import cdma.app; cdma.app.main(['--help'])",
    ],
    ids=["doors", "spec", "help"],
)
def test_loads_neither_amaranth_nor_numpy(code: str) -> None:
    assert _loads(code, "amaranth", "numpy") == []


@pytest.mark.slow
def test_the_models_do_not_load_amaranth() -> None:
    names = modules_in(ROOT, {"sim": "cdma.sim"})
    assert _loads("import " + ", ".join(names), "amaranth", "numpy", "cocotb") == ["numpy"]
