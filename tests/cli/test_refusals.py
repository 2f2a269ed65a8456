"""What a user can get wrong is one sentence and status 2, said before the work begins."""

import contextlib
import io
import json
import os
import shlex
import signal
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cdma.app import main
from cdma.commands import formats
from tests.support.paths import TINY
from tests.support.patience import PATIENCE, awaited
from tests.support.stimuli import safetensors, tensor


def _npy(shape: tuple[int, ...], data: bytes = b"") -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": shape})
    return file.getvalue() + data


@pytest.fixture(params=["no such device", "a file"])
def unwritable(request, tmp_path: Path) -> Path:
    """A folder that cannot be made, also not by the superuser."""
    file = tmp_path / "file"
    file.touch()
    return Path("/proc/nowhere") if request.param == "no such device" else file / "folder"


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc, as Linux has it")
@pytest.mark.parametrize(
    "command",
    [
        *("generate compressor -o", "demo -o", "wave compressor -o", "wave engine -o"),
        *("verify decompressor --waves", "study model figures"),
        "study characterise --figures",
    ],
)
def test_unwritable_folders(command: str, unwritable: Path, monkeypatch, refused) -> None:
    monkeypatch.setattr("cdma.hdl.verilog.emit.subprocess.run", _no_work)
    assert f"cannot write to the directory {unwritable}" in refused(*command.split(), unwritable)


def _no_work(*arguments: object, **options: object) -> None:
    raise AssertionError("the work began")


@pytest.mark.parametrize(
    "command", ["wave compressor", "verify compressor", "area compressor --no-breakdown"]
)
def test_unwritable_cache(command: str, tmp_path: Path, monkeypatch, refused) -> None:
    file = tmp_path / "file"
    file.touch()
    monkeypatch.setenv("CDMA_CACHE", str(file / "cache"))
    monkeypatch.chdir(tmp_path)
    said = refused(*command.split())
    assert f"cannot keep results in {file / 'cache'}" in said
    assert "CDMA_CACHE names another folder" in said


def test_unwritable_cache_of_the_tools(tmp_path: Path, monkeypatch, refused) -> None:
    """Yosys is compiled once for the machine, and the result is kept beside what cdma keeps."""
    file = tmp_path / "file"
    file.touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(file))
    monkeypatch.setenv("CDMA_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    said = refused("generate", "compressor", "--lanes", "2", "-o", "made")
    assert f"failed to create cache directory: {file}" in said
    assert "XDG_CACHE_HOME names another folder" in said
    assert not (tmp_path / "made").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, as Linux has it")
@pytest.mark.parametrize(
    "command",
    [
        *("formats", "formats --json", "study model list", "verify compressor --list", "prove --list"),
        "study profile {} --json",
    ],
)
@pytest.mark.parametrize("buffered", [True, False])
def test_full_disk(command: str, buffered: bool, tmp_path: Path, monkeypatch, capsys) -> None:
    np.save(tmp_path / "a.npy", tensor())
    with open("/dev/full", "wb", buffering=0) as full:
        output = io.TextIOWrapper(io.BufferedWriter(full), write_through=not buffered)
        monkeypatch.setattr(sys, "stdout", output)
        assert main(command.format(tmp_path / "a.npy").split()) == 2
        # What Python does at exit complains no more.
        output.flush()
    monkeypatch.undo()
    assert capsys.readouterr().err == "cdma: cannot read or write: No space left on device\n"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (_npy((-4,)), "it has the shape (-4,); no dimension may be negative"),
        (_npy((-2, -2), bytes(16)), "it has the shape (-2, -2); no dimension may be negative"),
        (_npy((10**12, 10**9)), "4"),
        (np.random.default_rng(0).bytes(3000), "it is not a .npy file: the magic string is not correct"),
        (b"abc", "it is not a .npy file: EOF"),
    ],
)
@pytest.mark.parametrize(
    "command",
    [
        *("compress {} {}.cdma", "study profile {}", "bench software --rounds 1 --input {}"),
        "wave compressor --input {}",
    ],
)
def test_npy(data: bytes, message: str, command: str, tmp_path: Path, refused) -> None:
    path = tmp_path / "a.npy"
    path.write_bytes(data)
    said = refused(*command.format(path, path).split())
    assert message in said
    assert "pickle" not in said


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize(
    "member", [b"abc", _npy((-4,)), _npy((10**12, 10**9)), _npy((64,), bytes(256)), None]
)
def test_npz(member: bytes | None, compression: int, tmp_path: Path, refused) -> None:
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr(
            "a.npy", member if member is not None else _npy((1000,), tensor(0.5, 1000).tobytes())
        )
    data = bytearray(path.read_bytes())
    if member is None or len(member) > 200:
        data[60:90] = bytes(30)
    path.write_bytes(data)
    assert f"{path}, a" in refused("study", "profile", path)


def test_many_dimensions(tmp_path: Path, printed) -> None:
    path = tmp_path / "a.safetensors"
    path.write_bytes(
        safetensors({"a": {"dtype": "F32", "shape": [1] * 80, "data_offsets": [0, 4]}}, b"\1\0\0\0")
    )
    assert printed("study", "profile", str(path))["tensors"][0]["density"] == 1


@pytest.mark.parametrize("text", ["a = " + "[" * 5000 + "]" * 5000, "a = " + "{a=" * 5000 + "1" + "}" * 5000])
@pytest.mark.parametrize(
    "command",
    ["generate compressor --config {}", "study model step --network {}", "study model step --assumptions {}"],
)
def test_nested_toml(text: str, command: str, tmp_path: Path, refused) -> None:
    path = tmp_path / "deep.toml"
    path.write_text(text)
    assert f"{path} is nested too deeply" in refused(*command.format(path).split())


#: Command lines, and what is said of each: what was given and what is allowed. ``LIB`` is a cell library, ``EMPTY`` and
#: ``CODEC`` are files of settings, of which one names a codec.
_REFUSED = """
generate compressor --name module => name is 'module', which is a reserved word of Verilog
generate compressor --name a/b => name is 'a/b'; it must be a letter followed by letters, digits and underscores
generate compressor --prefix - => prefix is '-'; it must be a letter
generate compressor --pipelined --lanes 16 => lanes is 16 with a window of 32 words; a pipelined codec needs
generate compressor --lanes 3 => lanes is 3; it must be one of 1, 2, 4, 8, 16, 32, 64:
generate quantiser --number fp16 --bits 16 => bits is 16; it must be one of 4, 8
generate quantiser --config CODEC => has the unknown key 'codec'
mutate --block codec => must be compressor, decompressor, quantiser, dequantiser, engine or a block of one of
mutate --block compressor.core.pucker => block is 'compressor.core.pucker'; the blocks of the design are
mutate --list --count 0 => count is 0; it must be 1 or more
mutate --list --jobs 0 => jobs is 0; it must be 1 or more
mutate --list --goal 101 => goal is 101; it must be 0 to 100 percent
faults --count 0 => count is 0; it must be 1 or more
faults rain => campaign is 'rain'; it must be one of responses, stalls, aborts, resets, memories, streams
faults --case 'own: 1' => case needs the one campaign
faults streams --case 4 => must begin with one of aie-ml, bf16, own, own+crc, zvc32, zvc8 and a colon
prove fido => there is no proof 'fido'; did you mean fifo
prove --list --jobs 0 => jobs is 0; it must be 1 or more
prove --list --timeout 0.5 => timeout is 0.5; it must be 1 or more
soak --minutes 0 => minutes is 0; it must be more than 0
soak --minutes 1e-9 --first 0 => first is 0; it must be 1 or more
soak --log none/log => log is 'none/log': No such file or directory
verify engine --tests bound => tests has 'bound'; the tests of the engine are soak, lengths, dense,
verify compressor --list --jobs 0 => jobs is 0; it must be 1 or more
intake compressor --seconds 0 => seconds is 0; it must be 1 or more
intake quantiser --mutants 0 => mutants is 0; it must be 1 or more
generate compressor --values 1 --runtime-values => values and runtime-values are both given
generate compressor --config EMPTY => is empty
generate engine --config EMPTY => is empty
generate engine --name entity => name is 'entity', which is a word of VHDL
generate compressor --word-bits 2 => word_bits is 2; it must be one of 4, 8, 16, 32
bench codec --word-bits 2 => word_bits is 2; it must be one of 4, 8, 16, 32
wave compressor --words 0 => words is 0; it must be 1 or more
wave compressor --words 3 => words is given without input; it says how much of a tensor is shown
area compressor --liberty none.lib => the library none.lib cannot be read: No such file or directory
area compressor --liberty EMPTY => is not a Liberty library: it does not begin with
area compressor --liberty LIB LIB => both have the cell INV;
area compressor --period 0 => the clock period is 0.0 ns; it must be from 0.001 to 1000
area compressor --lanes 3 => lanes is 3; it must be one of
area compressor --depth 0 => --depth is 0; it must be from 1 to 20
area compressor --compare 0 --liberty LIB => the library's feature size is 0.0 nm; it must be from 3
area compressor --compare 45 => --compare scales µm²; give the library with --liberty
area compressor --sweep lanes=1 --sweep lanes=2 => --sweep names lanes twice
area compressor --sweep lanes=64 => no point of the sweep can be: lanes is 64
area compressor --sweep lanes=1 --jobs -1 => jobs is -1; it must be 1 or more
area compressor --dask tcp://127.0.0.1:1 => --dask says how to sweep; give it with --sweep
area compressor --sweep lanes=1 --compare 45 => --sweep and --compare are two questions
fpga compressor --seeds 0 => --seeds is 0; it must be from 1 to 100
fpga compressor --jobs 0 => jobs is 0; it must be 1 or more
fpga compressor --timeout 0 => --timeout is 0; it must be 1 second or more
fpga compressor --frequency 0 => --frequency is 0.0; it must be from 1 to 2000 MHz
fpga compressor --timing-weight 0 => --timing-weight is 0; it must be from 1 to 100000
bench engine --port-bits 64 --dev-data-bits 64 => dev-data-bits and port-bits are both given
bench engine --port-bits 96 => dev_data_bits is 96
bench engine --tensors 65 => tensors is 65; it must be from 1 to 64, which the bench's ring holds
bench engine --tensors 0 => tensors is 0; it must be from 1 to 64
bench engine --modes lossy => modes has lossy; the engine has no error-bounded stage (--lossy)
bench engine --rows 64 => rows are given; the engine takes no shapes (--dimensions)
bench engine --dimensions 1 --rows 48 => rows has 48; a row is a multiple of 32 bytes (--alignment)
bench engine --dimensions 1 --rows 96 --bytes 4096 => rows has 96; a tensor of 4096 bytes is not of whole rows
bench engine --host-periods 2 --clocks registers => host-periods are given; host and device have one clock
bench engine --clocks host --host-periods 11 => host-periods has 11; it must be from 0.1 to 10
bench engine --lists => takes no lists
bench engine --pages --lists --bytes 2097152 => must be 1048576 at most
bench engine --offsets 4 => must be a multiple of 32
bench engine --alignment byte --offsets 4096 => must be a multiple of 1 below 4096
bench engine --dimensions 1 --rows 64 --jumps => needs --dimensions 2, rows that divide 8192
bench engine --host ddr3 => host-data-bits is 256; the port of ddr3 has 128
bench engine --host ddr3 pcie --host-data-bits 128 => a DRAM is alone
bench engine --host pcie --memory ddr3 --dev-data-bits 128 => is measured by itself
bench software --density 1.5 => density is 1.5; it is the fraction of words that are not 0, from 0 to 1
bench software --rounds 0 => rounds is 0; at least one is needed
bench software --size 0 => size is 0.0 MB; it must be above 0 and at most 10000
bench software --word-bits 4 --window 16 --size 0.1 => word_bits is 4; bytes hold words of 8, 16 or 32 bits
bench software --input /nowhere.npy => cannot read /nowhere.npy: No such file or directory
power compressor => liberty is not given
power compressor --liberty LIB --bytes 0 => bytes is 0; it must be from 1 to 1048576
power compressor --liberty LIB --densities 2 => density is 2.0; it is the fraction
power compressor --liberty LIB --link-pj-per-bit 0 => link-pj-per-bit must be above 0
bench units --units 2 --unit-counts 4 => units and unit-counts are both given; either says
bench units --unit-counts 3 => units is 3
bench units --cycles 255 => cycles is 255; it must be from 256 to 1048576
bench units --cycles 1048576 --unit-counts 8 --densities 0 => and the bench's memory has 7340032
bench units --memory-latency -1 => memory-latency is -1; it must be from 0 to 10000 cycles
bench units --densities 1.5 => densities has 1.5; a density is from 0 to 1
"""


@pytest.mark.slow
@pytest.mark.parametrize("row", _REFUSED.strip().splitlines())
def test_a_command_line_that_cannot_be(row: str, tmp_path: Path, monkeypatch, refused) -> None:
    """Refused before anything is written."""
    command, message = row.split(" => ")
    monkeypatch.chdir(tmp_path)
    Path("EMPTY").touch()
    Path("CODEC").write_text("codec = 1\n")
    assert message in refused(*shlex.split(command.replace("LIB", str(TINY))))
    assert {path.name for path in tmp_path.iterdir()} == {"EMPTY", "CODEC"}


def test_densities(tmp_path: Path, refused) -> None:
    layer = {"name": "a", "kind": "relu", "progress": [0], "density": [0.5]}
    networks = {"vgg": {"layers": [layer]}}
    path = tmp_path / "d.json"
    for table, key in (
        ({"networks": networks, "defualt": "vgg"}, "defualt"),
        ({"networks": {"vgg": {"layers": [layer], "layer": 1}}}, "layer"),
        ({"networks": {"vgg": {"layers": [layer | {"shpae": [1]}]}}}, "shpae"),
    ):
        path.write_text(json.dumps(table))
        assert f"unknown key '{key}'" in refused(
            "study", "model", "step", "--network", "vgg16", "--densities", path
        )
    network = tmp_path / "n.toml"
    network.write_text(
        'name = "n"\ninput = [3, 8, 8]\nbatch = 1\ndensities = "vgq"\n'
        'layers = [{name = "a", kind = "conv", filters = 4, kernel = 3, relu = true}]\n'
    )
    said = refused("study", "model", "step", "--network", network)
    assert "densities = 'vgq'; it must be one of transformer, alexnet, vgg, squeezenet, resnet" in said


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        ("--dev-data-bits 64 --host-data-bits 64 --lanes 2", ""),
        (
            "--dev-data-bits 64 --host-data-bits 64 --lanes 16",
            "the codec takes 512 bits per cycle and its device port gives 64: 2 lanes are as fast, in less area\n",
        ),
        (
            "--lanes 1 --dev-data-bits 1024",
            "the codec takes 4 of the 128 bytes per cycle of its device port; ",
        ),
        (
            "--outstanding 1 --burst-beats 4",
            "(latency): 0.37 of 32 bytes per cycle; outstanding and burst_beats",
        ),
    ],
)
def test_wasteful_engines_warn(shape: str, said: str, tmp_path: Path, refused) -> None:
    """And nothing is generated where nothing can be written."""
    file = tmp_path / "file"
    file.touch()
    captured = refused("generate", "engine", *shape.split(), "-o", str(file))
    assert captured.startswith("cdma: warning: ") == bool(said)
    assert said in captured


def test_the_library_is_read_before_yosys_is_looked_for(monkeypatch, refused) -> None:
    monkeypatch.setattr("cdma.base.yosys.find_spec", lambda module: None)
    for command in ("area compressor --liberty none.lib", "area compressor --compare 45 --liberty none.lib"):
        assert "the library none.lib cannot be read" in refused(*command.split())


@pytest.mark.parametrize(
    "command", ["generate compressor -o", "wave engine -o", "compress a.npy", "generate engine --config"]
)
def test_an_empty_name_is_none_of_a_file(command: str, capsys) -> None:
    with pytest.raises(SystemExit, match="2"):
        main([*command.split(), ""])
    assert "'' is no name of a file or a directory" in capsys.readouterr().err


def test_escapes_in_names(tmp_path: Path, shown, refused) -> None:
    path = tmp_path / "a.safetensors"
    name = "a\x1b[31mred\x07\x9b[bold]"
    path.write_bytes(safetensors({name: {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}}, bytes(16)))
    out = shown("study", "profile", str(path))
    assert "\\x1b[31mred\\x07\\x9b[bold]" in out
    assert not {"\x1b", "\x07", "\x9b"} & set(out)
    said = refused("study", "profile", tmp_path / "\x1b[31m.npy")
    assert "\\x1b[31m.npy" in said


def test_own_errors_have_no_traceback(monkeypatch, capsys) -> None:
    monkeypatch.setattr("cdma.hdl.spec.format.PRESETS", None)
    assert main(["formats"]) == 3
    said = capsys.readouterr().err
    assert said.startswith("cdma: an error of cdma itself, please report it; the option -v shows where: ")
    assert main(["formats", "-v"]) == 3
    assert "Traceback" in capsys.readouterr().err


def test_a_card_without_enough_memory_is_no_error_of_cdma(monkeypatch, refused):
    class OutOfMemoryError(RuntimeError):
        """As PyTorch has it."""

    def full(*_):
        raise OutOfMemoryError("CUDA out of memory. Tried to allocate 9 GiB.\nA second line.")

    monkeypatch.setattr("cdma.commands.formats.COMMAND", replace(formats.COMMAND, run=full))
    said = refused("formats")
    assert "the card has not enough memory: CUDA out of memory. Tried to allocate 9 GiB." in said
    assert "second" not in said


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="needs SIGHUP, as POSIX has it")
def test_hangup_leaves_no_part(tmp_path: Path) -> None:
    fifo = tmp_path / "a.npy"
    os.mkfifo(fifo)
    target = tmp_path / "a.cdma"
    # Whoever runs the tests under nohup hands down a hangup that is ignored.
    process = subprocess.Popen(
        [sys.executable, "-m", "cdma", "compress", fifo, target],
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
    )
    with fifo.open("wb") as file, contextlib.suppress(BrokenPipeError):
        file.write(_npy((1 << 20,)))
        file.flush()
        awaited(lambda: list(tmp_path.glob(".*.partial")))
        process.send_signal(signal.SIGHUP)
        assert process.wait(PATIENCE) == 128 + signal.SIGHUP
    assert list(tmp_path.iterdir()) == [fifo]
