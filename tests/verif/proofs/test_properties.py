"""The free Yosys reads every file of rules, and finds assertions and assumptions in it, which parameters exchange."""

from pathlib import Path

import pytest

import cdma.verif.proofs
from cdma.base.yosys import find_yosys

FILES = sorted((Path(cdma.verif.proofs.__file__).parents[1] / "properties").glob("*.sv"))


def _counted(path, folder, **parameters):
    (folder / path.name).write_text(path.read_text())
    chosen = "".join(f" -chparam {name} {value}" for name, value in parameters.items())
    log = find_yosys().run(
        f"read_verilog -formal -sv {path.name}\nhierarchy -top {path.stem}{chosen}\nproc\nchformal -lower\n"
        "tee -o asserts select -count t:$assert\ntee -o assumes select -count t:$assume\n",
        folder,
    )
    assert "ERROR" not in log
    return tuple(int((folder / name).read_text().split()[0]) for name in ("asserts", "assumes"))


def test_the_files():
    assert [path.name for path in FILES] == ["axi4_manager.sv", "axi_lite_subordinate.sv", "axi_stream.sv"]


@pytest.mark.parametrize(
    ("name", "sides"),
    [
        ("axi4_manager", {"MANAGER_ASSUMED": 1, "SUBORDINATE_ASSERTED": 1}),
        ("axi_lite_subordinate", {"SUBORDINATE_ASSUMED": 1, "MANAGER_ASSERTED": 1}),
        ("axi_stream", {"SOURCE_ASSUMED": 1}),
    ],
)
def test_it_is_read(name, sides, tmp_path):
    (path,) = (path for path in FILES if path.stem == name)
    asserts, assumes = _counted(path, tmp_path)
    assert asserts > 3
    assert _counted(path, tmp_path, **sides) == (assumes, asserts)
