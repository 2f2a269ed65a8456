"""The Python of the documents runs as it stands there, all blocks of a document one after the other. The examples of
docs/format.md are true: every one is read out of the document and checked. The tutorial's tensor, what it prints of
it, and its waveform. The bring-up of docs/engine.md moves a tensor in the delivered bench.
"""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from amaranth.hdl import Elaboratable, Fragment

import cdma
from cdma import app
from cdma.app import main
from cdma.hdl.spec.format import PRESETS
from cdma.sim.codec.container import pack_file, read_header, unpack_file
from cdma.sim.codec.files import Tensor
from cdma.sim.codec.model import compress
from tests.outside.codec import Form
from tests.support.documents import blocks, browser, shown
from tests.support.paths import DOCS, ROOT
from tests.support.simulate import needs_icarus

#: What a document's examples print, where they do.
PRINTED = {"driver": "4000 bytes became ", "README": "1."}
#: They need what only a reader has: a SoC, a network, a GPU, a driver.
OF_THE_READER = ("litex.md", "profile.md", "gpu.md", "linux.md")
DOCUMENTS = [
    path
    for path in (ROOT / "README.md", *sorted(DOCS.rglob("*.md")))
    if blocks(path, "python") and path.name not in OF_THE_READER
]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.stem)
def test_the_examples_run(
    document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    examples = "\n".join(blocks(document, "python"))
    if "import torch" in examples:
        pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    made: dict[str, object] = {}
    exec(compile(examples, document.name, "exec"), made)
    for each in made.values():
        # What an example makes for the reader's design is hardware.
        if isinstance(each, Elaboratable):
            Fragment.get(each, None)
    assert PRINTED.get(document.stem, "") in capsys.readouterr().out


def test_every_preset_is_explained() -> None:
    text = (DOCS / "study" / "formats.md").read_text(encoding="utf-8")
    assert [name for name in PRESETS if f"`{name}`" not in text] == []


if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DOCUMENT = DOCS / "format.md"
GOOD = [tomllib.loads(text) for text in blocks(DOCUMENT, "toml")]
#: The rows of what a decoder refuses: words, parameters in TOML or those of the first example with a field, stream, fault.
REFUSED = re.findall(
    r"^\| (\d+) \| (?:`(.*)`|(of the eight bf16 numbers)|) ?\| `([0-9a-f ]+)` \| `(\w+)` (\d+) \|",
    DOCUMENT.read_text(encoding="utf-8"),
    re.MULTILINE,
)


def format_of(example):
    return cdma.Format(**{name: example[name] for name in vars(cdma.Format()) if name in example})


def test_every_example_is_checked():
    assert len(GOOD) >= 8
    assert len(REFUSED) >= 7
    assert {kind for *_, kind, _ in REFUSED} == {"truncated", "trailing", "code", "padding"}


@pytest.mark.parametrize("example", GOOD, ids=lambda example: example["stream"][:11])
def test_worked_example(example):
    format = format_of(example)
    words = np.array(example["words"], f"<u{format.word_bits // 8}")
    stream = bytes.fromhex(example["stream"])
    assert cdma.compress(words, format) == stream
    assert cdma.decompress(stream, len(words), format).tolist() == example["words"]
    form = Form(**vars(format))
    assert form.compress(example["words"])[0] == stream
    assert form.fault(stream, len(words)) is None
    assert form.decompress(stream, len(words), format.window)[0] == example["words"]


@pytest.mark.parametrize(("count", "toml", "fields", "dump", "kind", "word"), REFUSED)
def test_refused_stream(count, toml, fields, dump, kind, word):
    parameters = tomllib.loads(f"given = {{{toml}}}")["given"]
    format = format_of(next(each for each in GOOD if "field_bits" in each) if fields else parameters)
    stream, wrong = bytes.fromhex(dump), (kind, int(word))
    with pytest.raises(cdma.CorruptStream) as caught:
        cdma.decompress(stream, int(count), format)
    assert (caught.value.kind, caught.value.word) == wrong
    form = Form(**vars(format))
    kind, at = form.fault(stream, int(count))
    assert (kind, at // form.unit) == wrong


def test_file_example():
    (dump,) = blocks(DOCUMENT, "hexdump")
    stated = bytes.fromhex("".join(line[6:53] for line in dump.splitlines()))
    tensor = np.array([[0, 7, 0], [0, 0, 9]], np.uint8)
    made = io.BytesIO()
    raw = io.BytesIO(tensor.tobytes())
    pack_file(raw, Tensor(tensor.shape, tensor.dtype), made, cdma.Format(word_bits=8), lambda done: None)
    assert made.getvalue() == stated
    source, back = io.BytesIO(stated), io.BytesIO()
    container = read_header(source)
    unpack_file(source, container, back, lambda done: None)
    assert container.tensor.shape == tensor.shape
    assert back.getvalue() == tensor.tobytes()


def rows_of_deltas():
    """The rows of the tables of docs/deltas.md, of its record."""
    record = json.loads((DOCS / "deltas.json").read_text())
    for row in record.pop("random"):
        yield f"| {100 * row['changed']:.1f} % | {row['one level']} | {row['two levels']} |"
    for row in record.pop("rates"):
        yield f"| {row['kernels']} | {row['compress']} | {row['decompress']} |"
    for name, run in record.items():
        for row in run["tools"]:
            (made, applied), (most, most_applied) = row["seconds"], row["MiB"]
            what = (
                f"{name} | {100 * run['changed']:.1f} % | {row['tool']} | {row['bytes']:,} | {row['ratio']}"
            )
            yield f"| {what} | {made}; {most} | {applied}; {most_applied} |"


def test_the_tables_of_deltas_are_those_of_the_record():
    lines = (DOCS / "deltas.md").read_text(encoding="utf-8").splitlines()
    assert [row for row in rows_of_deltas() if row not in lines] == []


TUTORIAL = DOCS / "tutorial.md"


@pytest.fixture
def tensor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (script,) = blocks(TUTORIAL, "python")
    exec(compile(script, "tensor.py", "exec"), {})
    return tmp_path / "activations.npy"


def test_the_ratio_is_the_one_that_it_prints(tensor: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compress", tensor.name, "activations.cdma"]) == 0
    (printed,) = blocks(TUTORIAL, "text")
    assert capsys.readouterr().out.startswith(printed.strip())


@pytest.mark.verilator
def test_the_waveform_is_of_the_tensor(tensor: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from cdma.verif.simulator.vcd_trace import read_trace
    from cdma.verif.stream.codec.design import CodecDesign

    assert main(["wave", "compressor", "--input", tensor.name, "--words", "40", "-o", "waves"]) == 0
    design = CodecDesign("compressor")
    cycles = read_trace(Path("waves/compressor.vcd"), design.top, design.port_names).cycles
    beats = [each for each in cycles if each["s_axis_tvalid"] and each["s_axis_tready"]]
    went_in = b"".join(beat["s_axis_tdata"].to_bytes(32, "little") for beat in beats)
    assert went_in == np.load(tensor).tobytes()[:160]
    # Three cycles after the fourth beat the first one of the stream leaves, with a header and seven words.
    came = next(number for number, each in enumerate(cycles) if each["m_axis_tvalid"])
    assert came - cycles.index(beats[3]) == 3
    words = np.load(tensor).view("<u4").ravel()[:32]
    header = int(np.packbits(words != 0, bitorder="little").view("<u4")[0])
    stored = [header, *words[words != 0][:7].tolist()]
    assert cycles[came]["m_axis_tdata"] == int.from_bytes(np.array(stored, "<u4").tobytes(), "little")


@pytest.mark.verilator
def test_the_page_says_what_it_prints(tensor: Path) -> None:
    with browser() as running:
        assert main(["wave", "compressor", "--input", tensor.name, "--only", "html", "-o", "waves"]) == 0
        with shown(running, Path("waves/compressor.html")) as page:
            assert f"`{page.inner_text('#flight')}`" in TUTORIAL.read_text()


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
