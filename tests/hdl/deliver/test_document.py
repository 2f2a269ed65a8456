"""A document in both forms: each kind of part, and nothing of a text taken as Markdown's or HTML's own. The lists of
memories: each has a purpose, what is listed is in the text, and the documents' formulas hold.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from cdma.base.document import (
    Anchor,
    Bullets,
    Code,
    Drawing,
    Heading,
    Paragraph,
    Part,
    Table,
    as_html,
    as_markdown,
)
from cdma.hdl.blocks.memories import columns
from cdma.hdl.codec.generate import codec_design
from cdma.hdl.deliver.datasheet import MemoryGroup, memory_document, memory_groups, memory_row
from cdma.hdl.engine.generate import engine_design
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.verilog.emit import Verilog
from cdma.hdl.verilog.printer.design import PlacedMemory
from tests.support.engines import CHECKED_CROSSINGS
from tests.support.paths import ROOT
from tests.support.verilog_designs import DESIGNS, kept_circuit, verilog_of


@pytest.mark.parametrize(
    ("part", "markdown", "html"),
    [
        (Heading("A < B", 3), "### A < B", "<h3>A &lt; B</h3>"),
        (
            Paragraph("one `a<b` & [c](#d)"),
            "one `a<b` & [c](#d)",
            '<p>one <code>a&lt;b</code> &amp; <a href="#d">c</a></p>',
        ),
        (Code("| a |\n\n<b>"), "```text\n| a |\n\n<b>\n```", "<pre>| a |\n\n&lt;b&gt;</pre>"),
        (Bullets(["a `b`", "<c>"]), "- a `b`\n- <c>", "<ul><li>a <code>b</code></li><li>&lt;c&gt;</li></ul>"),
        (Anchor("here"), '<a id="here"></a>', '<a id="here"></a>'),
        (
            Drawing("a.svg", "`a`", "<svg/>"),
            "![`a`](a.svg)",
            "<figure><svg/><figcaption><code>a</code></figcaption></figure>",
        ),
        (
            Table(("a", ""), [("`b`", "c | d"), ("", "")], numbers=[1]),
            "| a | |\n|---|---:|\n| `b` | c \\| d |\n|  |  |",
            "<table><tr><th>a</th><th></th></tr><tr><td><code>b</code></td><td>c | d</td></tr>"
            "<tr><td></td><td></td></tr></table>",
        ),
    ],
)
def test_a_part_reads_alike_in_both_forms(part: Part, markdown: str, html: str) -> None:
    parts = [Heading("A & B", 1), part, Paragraph("more")]
    assert as_markdown(parts) == f"# A & B\n\n{markdown}\n\nmore\n"
    page = as_html(parts)
    assert f"<body>\n<h1>A &amp; B</h1>\n{html}\n<p>more</p>\n</body>" in page
    assert "<title>A &amp; B</title>" in page


def test_headings_are_places_where_links_need_them() -> None:
    assert '<h2 id="ab_c-at-0x0">' in as_html([Heading("a.b_c at `0x0`")], anchors=True)


_CODEC = CodecConfig(Format(8, 16), lanes=2, pipelined=True)


@cache
def _codec(kind: str) -> Verilog:
    return codec_design(kind, _CODEC)


@pytest.mark.slow
def test_purposes_of_one_shape_are_each_said_once() -> None:
    shape = _codec("compressor").memories[0].shape
    said = ["jobs: when", "jobs: where", "a buffer", "jobs: when"]
    placed = tuple(PlacedMemory("a", "b", shape, purpose) for purpose in said)
    assert MemoryGroup(shape, placed).purpose == "jobs: when; where; a buffer"


@pytest.mark.slow
@pytest.mark.parametrize("key", ["compressor", "decompressor"])
def test_memories_of_codecs(key: str) -> None:
    design = _codec(key)
    assert all(memory.purpose for memory in design.memories), design.memories
    rows = [memory_row(memory) for memory in design.memories]
    for row in rows:
        body = re.search(rf"^module {row['module']} \(.*?^endmodule", design.text, re.DOTALL | re.MULTILINE)
        assert body is not None
        assert f"reg [{row['width'] - 1}:0] contents [0:{row['depth'] - 1}];" in body[0]
        assert ("assign read" in body[0]) == (row["read_latency"] == 0)
        assert row["bits"] == row["depth"] * row["width"]
        assert design.text.count(f"  {row['module']} ") >= 1
    inferred = codec_design(key, _CODEC, memories="infer")
    assert [memory.path for memory in inferred.memories] == [memory.path for memory in design.memories]
    assert " contents [" not in inferred.text
    assert re.search(r"\breg +\[\d+:0\] (\w+) \[0:\d+\];", inferred.text)
    assert {row["read_latency"] for row in rows} == ({1} if key == "compressor" else {0, 1})
    listed = memory_document("top", design.memories)
    assert all(f"`{memory.path}`" in listed for memory in design.memories)
    groups = memory_groups(design.memories)
    assert sum(len(group.memories) for group in groups) == len(rows)
    # A module of its own for each, as a designer replaces them.
    assert len({group.module for group in groups}) == len(groups)
    assert {group.module for group in groups} == {row["module"] for row in rows}
    assert sum(group.bits for group in groups) == sum(row["bits"] for row in rows)


def test_plain_codecs_have_none() -> None:
    assert codec_design("compressor", CodecConfig(Format(8, 16), lanes=2)).memories == ()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("style", "asked"), [("block", '"block", no_rw_check'), ("distributed", '"distributed"')]
)
def test_verilog_asks_for_block_ram_or_look_up_tables(style: str, asked: str) -> None:
    """In modules whose names end with that, which a pipelined engine has."""
    design = verilog_of("engine-pipelined")
    modules = {memory_row(memory)["module"] for memory in design.memories}
    asking = re.findall(
        rf"^module (\w+) \([^;]*;\s*\(\* ram_style = {re.escape(asked)} \*\)", design.text, re.MULTILINE
    )
    assert asking
    assert set(asking) == {module for module in modules if module.endswith(f"_{style}")}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["engine-default", "engine-pipelined"])
def test_memories_of_an_engine(name: str) -> None:
    """Their purposes, and the two kinds that hold nearly all bits, as docs/engine.md calculates them."""
    config, design = DESIGNS[name].config, verilog_of(name)
    assert isinstance(config, EngineConfig)
    assert not [memory.path for memory in design.memories if not memory.purpose]
    bits = dict.fromkeys(("read buffer of a channel", "write buffer of a channel"), 0)
    for memory in design.memories:
        if memory.purpose in bits:
            bits[memory.purpose] += memory.bits
    word_bits = config.format.word_bits
    read = write = 0
    for port in (config.dev_data_bits, config.host_data_bits):
        words = port // word_bits
        read += config.read_buffer * (port + words.bit_length() - 1 + 2 + (config.alignment != "beat"))
        write += config.write_buffer * (port + words)
    assert list(bits.values()) == [read, write]


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize(
    "options",
    [
        {"channels": 2, "dimensions": 2, "pages": True, "stream_id_bits": 4, "memories_protect": "parity"},
        {"units": 2, "alignment": "byte"},
    ],
    ids=str,
)
def test_memories_of_options_have_purposes(options: dict[str, Any]) -> None:
    design = engine_design(replace(EngineConfig(lanes=2, dev_data_bits=64, host_data_bits=64), **options))
    assert not [memory.path for memory in design.memories if not memory.purpose]


@pytest.mark.slow
def test_the_readme_has_the_bits_of_the_default_engine() -> None:
    kbit = sum(memory.bits for memory in verilog_of("engine-default").memories) / 1000
    for name in ("README.md", "docs/engine.md"):
        said = re.search(r"(\d+) kbit of memor", Path(ROOT, name).read_text())
        assert said is not None, name
        assert int(said[1]) == round(kbit), f"{name}: the default engine has {kbit:.1f} kbit"


@pytest.mark.slow
def test_bits_of_checks_are_listed() -> None:
    """Of each part of a word that is written by itself: those of the code, and of one that corrects where addresses go to
    a bus at once. An address of bursts comes with its own."""
    design = kept_circuit(CHECKED_CROSSINGS)
    for memory in design.memories:
        assert memory.purpose, memory.path
        shape = memory.shape
        parts = shape.width // shape.granule
        bits = (shape.width - memory.checks) // parts
        code = "secded" if re.search(r"rings\.(asking|writer\.addresses)", memory.path) else "parity"
        if not re.search(r"bursts that a (reader|writer) has|bus error", memory.purpose):
            assert shape.granule == len(columns(bits, code)), memory
        assert memory_row(memory)["check_bits"] == memory.checks * shape.depth
    all_checks = sum(memory.check_bits for memory in design.memories)
    assert f" of which {all_checks:,} are checks" in memory_document("top", design.memories)


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize("memories", ["wrap", "infer"])
def test_memories_below_the_smallest_are_flip_flops(memories: str) -> None:
    small = EngineConfig(
        lanes=2, dev_data_bits=64, host_data_bits=64, latency=32, burst_beats=8, registers=False
    )
    whole = engine_design(small, memories=memories).memories
    limit = 256
    design = engine_design(replace(small, smallest_memory=limit), memories=memories)
    assert design.memories == tuple(memory for memory in whole if memory.bits >= limit)
    found = re.findall(r'\(\* ram_style = "registers" \*\)\n  reg \[(\d+):0\] \w+ \[0:(\d+)\];', design.text)
    # A module with a memory may serve several instances.
    shapes = {(memory.shape.width, memory.shape.depth) for memory in whole if memory.bits < limit}
    assert {(int(width) + 1, int(depth) + 1) for width, depth in found} == shapes
    assert shapes
