"""What is parsed is everything that is printed again. Instances of equal modules become instances of one. Names are
legal, distinct and as near to the source's as can be.
"""

from __future__ import annotations

import re

import pytest
from amaranth.hdl import Cat, Module
from amaranth.lib.memory import Memory

from cdma.hdl.verilog.emit import emit
from cdma.hdl.verilog.netlist.naming import module_names, names_within, write
from cdma.hdl.verilog.netlist.operators import merge_equal
from cdma.hdl.verilog.netlist.parse import parse
from cdma.hdl.verilog.shell import CLOCK_AND_RESET, Port, Shell

_TEXT = """\
attribute \\top 1
module \\top
  attribute \\ram_style "block"
  memory width 8 size 4 \\store
  attribute \\init 4'0101
  wire width 4 \\q
  wire width 9 signed $1
  wire width 4 input 0 \\d
  wire width 1 input 1 \\aclk
  cell $add $2
    parameter \\A_SIGNED 0
    parameter \\Y_WIDTH 9
    connect \\A { 4'01xz \\d [2] \\q [3:1] }
    connect \\Y $1
  end
  process $3
    assign $1 [3:0] 4'0000
    switch { \\d [0] \\q [0] }
      case 2'1-
        assign $1 [3:0] \\q
      case
    end
  end
  connect \\q $1 [3:0]
end
"""


def test_written_netlists_parse_to_the_same() -> None:
    (module,) = parse(_TEXT)
    lines = write(module, {"\\top": "top"}, {"\\top": {}}, ["d", "aclk"])
    assert parse("\n".join(lines)) == [module]


def test_order_of_ports() -> None:
    (module,) = parse(_TEXT)
    names = ({"\\top": "top"}, {"\\top": {"\\d": "data"}})
    assert "wire width 4 input 1 \\data" in list(write(module, *names, ["d", "aclk"]))
    assert "wire width 4 input 2 \\data" in list(write(module, *names, None)), "the clock comes first"


_TOP = """
module \\top
  wire width 1 input 0 \\aclk
  cell \\top.left \\left
    connect \\port$4$0 \\aclk
  end
  cell \\top.right \\right
    connect \\port$9$0 \\aclk
  end
end
"""

_LEFT = """
module \\top.left
  wire width 1 input 0 \\port$4$0
  wire width 2 \\count$7
  cell \\top.left.inner \\inner
    connect \\value \\count$7
  end
  connect \\count$7 { \\port$4$0 1'0 }
end
module \\top.left.inner
  wire width 2 input 0 \\value
end
"""

#: The same with other serial numbers, and its wires in another order.
_RIGHT = """
module \\top.right
  wire width 2 \\count$8
  wire width 1 input 0 \\port$9$0
  cell \\top.right.inner \\inner
    connect \\value \\count$8
  end
  connect \\count$8 { \\port$9$0 1'0 }
end
module \\top.right.inner
  wire width 2 input 0 \\value
end
"""


def test_modules_that_differ_in_serial_numbers_and_order_become_one() -> None:
    modules = {module.name: module for module in parse(_TOP + _LEFT + _RIGHT)}
    assert merge_equal(modules) == {
        "\\top": ["\\top"],
        "\\top.left": ["\\top.left", "\\top.right"],
        "\\top.left.inner": ["\\top.left.inner", "\\top.right.inner"],
    }
    assert list(modules) == ["\\top", "\\top.left", "\\top.left.inner"]
    assert [(cell.kind, cell.name, list(cell.ports)) for cell in modules["\\top"].cells] == [
        ("\\top.left", "\\left", ["\\port$4$0"]),
        ("\\top.left", "\\right", ["\\port$4$0"]),
    ]


def test_modules_with_unequal_contents_stay() -> None:
    for change in (
        ("1'0", "1'1"),
        ("width 2 \\count$8", "width 2 signed \\count$8"),
        ("\\inner\n", "\\other\n"),
    ):
        modules = {module.name: module for module in parse(_TOP + _LEFT + _RIGHT.replace(*change))}
        assert merge_equal(modules)["\\top.right"] == ["\\top.right"], change


def test_module_names() -> None:
    modules = ["\\top", "\\top.a", "\\top.a.b", "\\top.a_b", "\\top.always"]
    assert module_names({module: [module] for module in modules}, "\\top", "my_") == {
        "\\top": "top",
        "\\top.a": "my_a",
        "\\top.a.b": "my_a_b",
        "\\top.a_b": "my_a_b_2",
        "\\top.always": "my_always_",
    }


def test_a_submodule_does_not_take_the_name_of_the_top() -> None:
    names = module_names({"\\my_a": ["\\my_a"], "\\my_a.a": ["\\my_a.a"]}, "\\my_a", "my_")
    assert names == {"\\my_a": "my_a", "\\my_a.a": "my_a_2"}


def test_a_word_that_the_prefix_ends_with_is_not_said_again() -> None:
    paths = ["\\e", "\\e.engine", "\\e.engine.rings", "\\e.engine.engine"]
    names = module_names({path: [path] for path in paths}, "\\e", "my_engine_")
    assert [*names.values()] == ["e", "my_engine_core", "my_engine_rings", "my_engine_engine"]


@pytest.mark.parametrize(
    ("paths", "name"),
    [
        (["in.path.reader", "out.path.reader"], "my_path_reader"),
        (["rings.in_fetcher", "rings.out_fetcher", "rings.late_fetcher"], "my_rings_fetcher"),
        # Nothing in common, or what another module is called.
        (["left", "right"], "my_left"),
        (["other.left", "other.right"], "my_other_left"),
    ],
)
def test_a_module_is_called_after_what_its_places_have_in_common(paths: list[str], name: str) -> None:
    places = [f"\\top.{path}" for path in paths]
    modules = {"\\top": ["\\top"], places[0]: places, "\\top.other": ["\\top.other"]}
    assert module_names(modules, "\\top", "my_")[places[0]] == name


def test_names_within() -> None:
    modules = {
        module.name: module
        for module in parse(
            """
module \\top
  wire width 4 \\x.y
  wire width 4 \\x_y
  wire width 4 \\reg
  wire width 4 \\count$7
  wire width 4 \\signal$1
  wire width 4 \\in__payload.last
  wire width 4 input 0 \\count
  wire width 4 $2
  cell \\sub \\inner
    connect \\out$3 \\signal$1
  end
end
module \\sub
  wire width 4 output 0 \\out$3
end
"""
        )
    }
    assert names_within(modules["\\top"], modules) == {
        "\\count": "count",
        "\\inner": "inner",
        "\\signal$1": "inner_out",
        "\\x.y": "x_y",
        "\\x_y": "x_y_2",
        "\\reg": "reg_",
        "\\count$7": "count_2",
        "\\in__payload.last": "in_last",
    }


class _Stores(Shell):
    """Two memories whose ports stand in a list, so that Amaranth finds no names for them."""

    def __init__(self) -> None:
        super().__init__([*CLOCK_AND_RESET, Port("a", "input", 8), Port("z", "output", 24)])

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self.add_domain(m)
        given = []
        for index in range(2):
            m.submodules[f"row_{index}"] = row = Memory(shape=8, depth=8, init=[])
            reads = [row.read_port() for _ in range(1 + index)]
            ports = [row.write_port(granularity=4), *reads]
            m.d.sync += [port.addr.eq(port.addr + self.port("a")) for port in ports]
            m.d.comb += [ports[0].data.eq(self.port("a") + index), ports[0].en.eq(self.port("a")[6:] ^ index)]
            given += [port.data ^ self.port("a") for port in reads]
        m.d.comb += self.port("z").eq(Cat(given))
        return m


def test_nets_of_a_memory_are_called_after_it() -> None:
    text = emit(_Stores(), "stores").text
    declared = set(re.findall(r"^  (?:reg|wire) +(?:\[\d+:0\] )?(\w+);", text, re.MULTILINE))
    assert {name for name in declared if name.startswith("row")} == {
        *("row_0_write_address", "row_0_read_address", "row_0_read_data"),
        *("row_1_write_address", "row_1_write_data", "row_1_write_enable"),
        *("row_1_read0_address", "row_1_read0_data", "row_1_read1_address", "row_1_read1_data"),
    }
    for port in ("read0", "read1"):
        assert f".{port}_address(row_1_{port}_address)" in text
        assert f".{port}_data(row_1_{port}_data)" in text
    assert not [name for name in declared if re.search(r"signature|_addr\b|_en\b", name)]
