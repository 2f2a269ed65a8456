"""The walls of the house: which room may import from which, and what is not loaded before it is needed.

A room is a folder. A file belongs to the innermost folder that ``ARROWS`` names, and may import freely within its
room. Every other import of the package follows an arrow.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.imports import Import, circles, imports_of, modules_in, room_of
from tests.support.paths import PACKAGES, ROOT

#: The rooms from the ground up, each with the rooms that it may import from. An arrow to a room does not include the
#: rooms inside it: each is named by itself. A new import may need a new arrow here; an arrow without an import goes.
ARROWS: dict[str, list[str]] = {
    # Parameters, records, registers: plain data, on which everything else stands.
    "hdl/spec": [],
    "hdl/spec/registers": ["hdl/spec"],
    # What any design could use, and what turns designs into Verilog.
    "hdl/blocks": [],
    "hdl/verilog": ["hdl/spec"],
    # The register document, the C header and the SystemRDL.
    "hdl/texts": ["hdl/spec", "hdl/spec/registers"],
    # What lies beside the Verilog of a block.
    "hdl/package": ["hdl/verilog", "hdl/spec/registers"],
    # The codec: its two kinds of parts never import one another.
    "hdl/codec/parts": ["hdl/blocks", "hdl/spec"],
    "hdl/codec/plain": ["hdl/codec/parts", "hdl/blocks", "hdl/spec"],
    "hdl/codec/pipelined": ["hdl/codec/parts", "hdl/blocks", "hdl/spec"],
    "hdl/codec": [
        "hdl/codec/plain",
        "hdl/codec/pipelined",
        "hdl/codec/parts",
        "hdl/blocks",
        "hdl/verilog",
        "hdl/spec",
    ],
    # The stage in front of the codec that bounds an error.
    "hdl/lossy": ["hdl/blocks", "hdl/verilog", "hdl/spec"],
    # The engine: rings on control on channels, channels on the paths of their data, and these on the AXI ports and on what
    # codecs are connected by. The codec itself is loaded by the name in its description.
    "hdl/axi": ["hdl/blocks", "hdl/spec"],
    "hdl/engine/path": ["hdl/codec/parts", "hdl/lossy", "hdl/axi", "hdl/blocks", "hdl/spec"],
    "hdl/engine/units": ["hdl/engine/path", "hdl/codec/parts", "hdl/axi", "hdl/blocks", "hdl/spec"],
    "hdl/engine/channel": [
        "hdl/engine/path",
        "hdl/engine/units",
        "hdl/codec/parts",
        "hdl/lossy",
        "hdl/axi",
        "hdl/blocks",
        "hdl/spec",
        "hdl/spec/registers",
    ],
    "hdl/engine/control": ["hdl/engine/channel", "hdl/axi", "hdl/blocks", "hdl/spec", "hdl/spec/registers"],
    "hdl/engine/rings": [
        "hdl/engine/control",
        "hdl/engine/channel",
        "hdl/axi",
        "hdl/blocks",
        "hdl/spec",
        "hdl/spec/registers",
    ],
    "hdl/engine": [
        "hdl/engine/rings",
        "hdl/engine/control",
        "hdl/engine/channel",
        "hdl/codec/parts",
        "hdl/axi",
        "hdl/blocks",
        "hdl/verilog",
        "hdl/spec",
        "hdl/spec/registers",
    ],
    # The engine as a core of LiteX.
    "hdl/litex": ["hdl/engine", "hdl/verilog", "hdl/spec", "hdl/spec/registers"],
    # The public names of cdma.hdl. They are imported by name on first use, and no room imports through them.
    "hdl": ["hdl/engine", "hdl/codec", "hdl/codec/parts", "hdl/blocks", "hdl/spec"],
    # The models take from the hardware what is plain data, and nothing else.
    "sim/support": ["hdl/spec"],
    "sim/codec": ["sim/support", "hdl/spec"],
    "sim/lossy": ["hdl/spec"],
    "sim/compare": ["sim/codec", "sim/support", "hdl/spec"],
    "sim/engine": ["sim/codec", "sim/lossy", "hdl/spec", "hdl/spec/registers"],
    "sim/driver": ["sim/engine", "hdl/spec", "hdl/spec/registers"],
    "sim/system": ["sim/support", "hdl/spec"],
    # What autograd keeps, compressed.
    "sim/saved": ["sim/codec", "hdl/spec"],
    "sim/training": ["sim/saved", "sim/system", "sim/compare", "sim/codec", "sim/support", "hdl/spec"],
    "sim/profile": ["sim/system", "sim/codec", "sim/support", "hdl/spec"],
    "sim": ["sim/driver", "sim/engine", "sim/codec", "hdl/spec"],
    # The benches: codec and engine stand beside each other, on the simulator and the monitors.
    "verif/monitors": ["hdl/verilog"],
    "verif/simulator": ["verif/monitors", "hdl/verilog", "hdl/spec"],
    "verif/codec": [
        "verif/simulator",
        "verif/monitors",
        "sim/codec",
        "hdl/codec",
        "hdl/verilog",
        "hdl/spec",
    ],
    "verif/engine": [
        "verif/simulator",
        "verif/monitors",
        "sim/codec",
        "sim/engine",
        "sim/lossy",
        "hdl/engine",
        "hdl/verilog",
        "hdl/spec",
        "hdl/spec/registers",
    ],
    "verif/lossy": [
        "verif/simulator",
        "verif/monitors",
        "sim/lossy",
        "hdl/lossy",
        "hdl/verilog",
        "hdl/spec",
    ],
    # A SoC of LiteX whose CPU runs the driver.
    "verif/litex": ["verif/simulator", "hdl/litex", "hdl/spec"],
    # The proofs hold single blocks and the Verilog of whole designs, and simulate nothing.
    "verif/proofs": [
        "synth",
        "hdl/engine",
        "hdl/engine/channel",
        "hdl/engine/control",
        "hdl/engine/rings",
        "hdl/spec/registers",
        "hdl/codec",
        "hdl/codec/plain",
        "hdl/codec/parts",
        "hdl/lossy",
        "hdl/axi",
        "hdl/blocks",
        "hdl/verilog",
        "hdl/spec",
    ],
    "verif": [
        "verif/codec",
        "verif/engine",
        "verif/lossy",
        "verif/simulator",
        "synth",
        "hdl/verilog",
        "hdl/spec",
    ],
    # What the regression reaches of the Verilog, and of the situations that matter.
    "verif/coverage": [
        "verif",
        "verif/codec",
        "verif/engine",
        "verif/lossy",
        "verif/simulator",
        "sim/codec",
        "hdl/spec",
    ],
    # Random designs.
    "verif/soak": [
        "verif",
        "synth",
        "verif/codec",
        "verif/engine",
        "verif/lossy",
        "verif/simulator",
        "hdl/spec",
    ],
    # Faults put into whole designs: the regression must find them, or Yosys and ABC prove that nobody could.
    "verif/mutation": [
        "verif",
        "verif/monitors",
        "verif/proofs",
        "verif/simulator",
        "synth",
        "hdl/verilog",
        "hdl/spec",
    ],
    # Faults at the ports of an engine, between memories in C++.
    "verif/faults": [
        "verif/engine",
        "verif/simulator",
        "synth",
        "sim/engine",
        "hdl/verilog",
        "hdl/spec",
        "hdl/spec/registers",
    ],
    # Area and clock.
    "synth": ["hdl/codec", "hdl/lossy", "hdl/engine", "hdl/verilog", "hdl/spec"],
    "synth/library": ["synth"],
    "synth/asic": ["synth", "synth/library", "hdl/verilog", "hdl/spec"],
    "synth/fpga": ["synth", "hdl/verilog", "hdl/spec"],
    "synth/sweep": ["synth", "synth/asic", "synth/library", "hdl/spec"],
    # The command and the public names of cdma.
    "cli": [
        "sim/saved",
        "sim/codec",
        "sim/engine",
        "sim/driver",
        "sim/support",
        "hdl/litex",
        "hdl/spec",
    ],
    "cli/commands": [
        "cli",
        "synth",
        "synth/asic",
        "synth/fpga",
        "synth/library",
        "synth/sweep",
        "verif",
        "verif/codec",
        "verif/coverage",
        "verif/engine",
        "verif/faults",
        "verif/lossy",
        "verif/mutation",
        "verif/proofs",
        "verif/simulator",
        "verif/soak",
        "sim/codec",
        "sim/compare",
        "sim/driver",
        "sim/profile",
        "sim/support",
        "sim/system",
        "sim/training",
        "hdl/codec",
        "hdl/lossy",
        "hdl/engine",
        "hdl/package",
        "hdl/texts",
        "hdl/spec/registers",
        "hdl/spec",
        "hdl/verilog",
    ],
}

#: The libraries that the package imports, each with the rooms that may import it, including the rooms inside those.
LIBRARIES: dict[str, list[str]] = {
    "amaranth": [
        "hdl/blocks",
        "hdl/verilog",
        "hdl/codec",
        "hdl/lossy",
        "hdl/axi",
        "hdl/engine",
        "verif/proofs",
        "cli/commands",
    ],
    "numpy": ["sim", "verif", "synth", "cli/commands"],
    "litex": ["hdl/litex", "verif/litex"],
    "migen": ["hdl/litex"],
    "rich": ["cli"],
    "shtab": ["cli/commands"],
    "tomli": ["sim/support"],
    "lz4": ["sim/compare"],
    "torch": ["sim/training", "sim/profile", "sim/saved", "cli"],
    "cocotb": ["verif"],
    "cocotb_tools": ["verif/simulator"],
    "cocotbext": ["verif"],
    "find_libpython": ["verif/simulator"],
    "vcd": ["verif"],
    "wavedrom": ["verif"],
    "matplotlib": ["synth", "cli/commands"],
    "peakrdl_uvm": ["cli/commands"],
    "systemrdl": ["cli/commands"],
    "distributed": ["synth"],
}


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


def test_every_room_of_the_table_stands() -> None:
    assert [room for room in ARROWS if not any((ROOT / room).glob("*.py"))] == []


def test_every_library_stays_in_its_rooms(imports: list[Import]) -> None:
    assert stray_libraries(imports, LIBRARIES) == []
    assert set(LIBRARIES) == {item.target for item in imports if "/" not in item.target}


def test_no_circles(imports: list[Import]) -> None:
    assert circles(imports) == []


def test_tests_share_only_what_lies_in_support() -> None:
    """No test imports from another one; the check of sameness is a command, which has a test."""
    shared = ("tests/support/", "tests/same_output.py")
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
    own = {Path("docs"), Path("project")}
    assert [folder for folder in sorted(folders - own) if not any((ROOT / folder).glob("*.py"))] == []


def test_what_the_walls_refuse() -> None:
    """The checks above expect empty lists; here every kind of sentence appears once."""
    arrows = {"a": [], "a/inner": ["a"], "b": ["a", "a/inner"]}
    imports = [
        Import("a/inner/x.py", 1, "a/y.py"),
        Import("a/inner/x.py", 2, "a/inner/z.py"),
        Import("a/y.py", 3, "b/x.py"),
        Import("b/x.py", 4, "a/y.py"),
        Import("c/x.py", 5, "a/y.py"),
    ]
    assert broken_walls(imports, arrows) == [
        "a/y.py:3 imports b/x.py: the table has no arrow a -> b",
        "c/x.py lies in no room of the table",
        "no import follows the arrow b -> a/inner",
    ]
    strangers = [
        Import("a/inner/x.py", 1, "numpy"),
        Import("b/x.py", 2, "numpy"),
        Import("b/x.py", 3, "torch"),
    ]
    assert stray_libraries(strangers, {"numpy": ["a"]}) == [
        "b/x.py:2 imports numpy: the table does not list b for it",
        "b/x.py:3 imports torch: the table does not list b for it",
    ]


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


#: Modules of models that are of use with torch alone, and import it.
_WITH_TORCH = (
    ".networks",
    ".transformer_model",
    ".saved.coded",
    ".saved.context",
    ".saved.memory",
    ".saved.observed",
)


def test_the_models_do_not_load_amaranth() -> None:
    names = [name for name in modules_in(ROOT, {"sim": "cdma.sim"}) if not name.endswith(_WITH_TORCH)]
    assert _loads("import " + ", ".join(names), "amaranth", "numpy", "cocotb") == ["numpy"]
