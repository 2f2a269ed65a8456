"""What changed between files and folders of tensors, and back: byte for byte, or refused with nothing written."""

from __future__ import annotations

import filecmp
import json
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cdma
from cdma import delta
from cdma.app import main
from cdma.sim.codec import patch as patches
from cdma.sim.codec import sources
from cdma.sim.codec.container import crc32c
from tests.support.stimuli import safetensors

TYPES = {"BF16": "<u2", "F32": "<f4", "I8": "<i1", "F64": "<f8", "BOOL": "<u1"}


def write_model(path: Path, tensors: dict[str, tuple[str, np.ndarray]]) -> None:
    header, data = {}, b""
    for name, (kind, values) in tensors.items():
        raw = values.astype(TYPES[kind]).tobytes()
        header[name] = {
            "dtype": kind,
            "shape": list(values.shape),
            "data_offsets": [len(data), len(data) + len(raw)],
        }
        data += raw
    path.write_bytes(safetensors(header, data))


def model(rng: np.random.Generator) -> dict[str, tuple[str, np.ndarray]]:
    return {
        "q": ("BF16", rng.integers(0, 65536, (40, 300))),
        "k": ("F32", rng.standard_normal((70, 30))),
        "scale": ("F64", rng.standard_normal(5)),
        "none": ("F32", np.zeros((0, 4))),
        "mask": ("BOOL", rng.random(99) < 0.5),
    }


def step(rng: np.random.Generator, tensors: dict[str, tuple[str, np.ndarray]], share: float) -> dict:
    changed = {}
    for name, (kind, values) in tensors.items():
        moved = np.where(rng.random(values.shape) < share, np.roll(values, 1), values)
        changed[name] = (kind, moved.astype(values.dtype))
    return changed


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Two checkpoints in the current folder, of several chunks."""
    monkeypatch.setattr(patches, "CHUNK_BYTES", 1 << 12)
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    old = model(rng)
    write_model(Path("old.safetensors"), old)
    new = step(rng, old, 0.01) | {"came": ("BF16", rng.integers(0, 99, 77)), "mask": ("BOOL", np.ones(3))}
    del new["scale"]
    write_model(Path("new.safetensors"), new)
    return old, new


def test_a_model_becomes_the_next_one(files, printed, shown):
    said = printed("delta", "old.safetensors", "new.safetensors", "-o", "step.patch")
    assert (said["tensors"], said["changed"]) == (4, 2)
    assert (said["new"], said["replaced"], said["gone"]) == (["came"], ["mask"], ["scale"])
    assert said["patch_bytes"] == Path("step.patch").stat().st_size
    assert printed("patch", "old.safetensors", "step.patch", "-o", "made.safetensors")["tensors"] == 4
    assert Path("made.safetensors").read_bytes() == Path("new.safetensors").read_bytes()
    # Onto the base itself, and one tensor alone.
    assert main(["patch", "old.safetensors", "step.patch", "-o", "q.npy", "--tensor", "q"]) == 0
    assert (np.load("q.npy") == files[1]["q"][1]).all()
    said = shown("delta", "old.safetensors", "new.safetensors", "-o", "step.patch").splitlines()
    assert said[-3:] == ["came: new", "mask: of another type or shape", "scale: gone"]
    assert main(["patch", "old.safetensors", "step.patch", "-o", "old.safetensors"]) == 0
    assert Path("old.safetensors").read_bytes() == Path("new.safetensors").read_bytes()
    assert "0 changed" in shown("delta", "made.safetensors", "new.safetensors", "-o", "step.patch")


def test_a_folder_becomes_the_next_one(files, printed, refused):
    rng = np.random.default_rng(4)
    for folder, source in (("a", "old"), ("b", "new")):
        Path(folder, "in").mkdir(parents=True)
        Path(f"{source}.safetensors").rename(Path(folder, "model.safetensors"))
        np.save(
            Path(folder, "in", "x.npy"), np.asfortranarray(np.arange(60).reshape(6, 10) + (source == "new"))
        )
        Path(folder, "config.json").write_text(json.dumps({"step": source}))
        Path(folder, f"{source}.txt").write_bytes(rng.bytes(9000))
    said = printed("delta", "a", "b", "-o", "step.patch")
    assert said["gone"] == ["old.txt", "scale"]
    assert main(["patch", "a", "step.patch", "-o", "c"]) == 0
    made = {path.relative_to("c"): path.read_bytes() for path in Path("c").rglob("*") if path.is_file()}
    assert made == {
        path.relative_to("b"): path.read_bytes() for path in Path("b").rglob("*") if path.is_file()
    }
    assert "c exists; the output for a folder must be a new one" in refused(
        "patch", "a", "step.patch", "-o", "c"
    )
    assert not list(Path().glob(".*partial"))


def test_what_cannot_be_is_refused_with_nothing_written(files, refused):
    assert main(["delta", "old.safetensors", "new.safetensors", "-o", "step.patch"]) == 0
    whole = Path("step.patch").read_bytes()
    Path("other.safetensors").write_bytes(Path("old.safetensors").read_bytes()[:-9000] + bytes(9000))
    Path("not.safetensors").write_bytes(b"no")
    np.save("x.npy", np.zeros(3))
    Path("folder").mkdir()
    Path("cut.patch").write_bytes(whole[:-1])
    Path("bad.patch").write_bytes(whole[:60] + bytes([whole[60] ^ 1]) + whole[61:])
    Path("index.patch").write_bytes(whole[:-30] + bytes([whole[-30] ^ 1]) + whole[-29:])
    for words, message in (
        (["delta", "old.safetensors", "none", "-o", "y"], "cannot read none: there is no such file or folder"),
        (["delta", "old.safetensors", "folder", "-o", "y"], "old.safetensors and folder are a file and a folder"),
        (["delta", "old.safetensors", "x.npy", "-o", "y"], "old.safetensors and x.npy are files of two kinds"),
        (["delta", "old.safetensors", "not.safetensors", "-o", "y"], "cannot read not.safetensors: it is not a"),
        (["delta", "old.safetensors", "new.safetensors", "-o", "new.safetensors"], "new.safetensors is an input;"),
        (["patch", "other.safetensors", "step.patch", "-o", "y"], "tensor 'q' of the base is another one: its CRC"),
        (["patch", "x.npy", "step.patch", "-o", "y"], "the base has no tensor 'q', which the patch changes"),
        (["patch", "folder", "step.patch", "-o", "y"], "cannot use the patch step.patch: it is for a file, which"),
        (["patch", "old.safetensors", "x.npy", "-o", "y"], "cannot use the patch x.npy: it is no patch"),
        (["patch", "old.safetensors", "cut.patch", "-o", "y"], "cannot use the patch cut.patch: it is truncated"),
        (["patch", "old.safetensors", "bad.patch", "-o", "y"], "it is damaged"),
        (["patch", "old.safetensors", "index.patch", "-o", "y"], "the checksum of its index is wrong"),
        (["patch", "old.safetensors", "step.patch", "-o", "y", "--tensor", "z"], "it has no tensors 'z', of 4"),
    ):  # fmt: skip
        assert message in refused(*words), words
        assert not Path("y").exists()
    assert not list(Path().glob(".*partial"))


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**32), st.sampled_from([0, 0.003, 0.3, 1]), st.booleans())
def test_tensors_of_a_program(tmp_path, seed, share, in_place):
    rng = np.random.default_rng(seed)
    base = {name: values.astype(TYPES[kind]) for name, (kind, values) in model(rng).items()}
    new = {name: np.where(rng.random(each.shape) < share, each[::-1], each) for name, each in base.items()}
    said = delta.save(tmp_path / "x", new, base, plain=seed % 2 == 0)
    assert said["changed"] <= sum((new[name] != base[name]).any() for name in base)
    made = delta.load(tmp_path / "x", base, in_place=in_place)
    for name, each in new.items():
        assert made[name].tobytes() == each.tobytes()
        assert (made[name] is base[name]) == in_place
        assert made[name].shape == each.shape


def test_tensors_of_pytorch_are_changed_in_place(files):
    torch = pytest.importorskip("torch")
    main(["delta", "old.safetensors", "new.safetensors", "-o", "step.patch"])
    old, new = files
    as_tensor = {
        "q": torch.from_numpy(old["q"][1].astype(np.uint16).view(np.int16)).view(torch.bfloat16),
        "k": torch.from_numpy(old["k"][1].astype(np.float32)),
    }
    made = delta.load("step.patch", as_tensor, in_place=True)
    assert made["q"] is as_tensor["q"]
    assert (as_tensor["q"].view(torch.int16).numpy().view(np.uint16) == new["q"][1]).all()
    assert (made["k"].numpy() == new["k"][1].astype(np.float32)).all()
    assert (made["came"] == new["came"][1]).all()
    with pytest.raises(delta.DeltaError, match="tensor 'q' of the base is another one"):
        delta.load("step.patch", as_tensor)
    delta.save("own.patch", {"q": as_tensor["q"]}, {})
    with pytest.raises(delta.DeltaError, match="it was made of the tensors of a program"):
        delta.apply(Path("old.safetensors"), Path("own.patch"), Path("y"))


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_a_damaged_patch_is_refused(files, data):
    delta.make(Path("old.safetensors"), Path("new.safetensors"), Path("step.patch"))
    patch = bytearray(Path("step.patch").read_bytes())
    place = data.draw(st.integers(0, len(patch) - 1))
    if data.draw(st.booleans()):
        patch[place] ^= 1 << data.draw(st.integers(0, 7))
    else:
        del patch[place:]
    Path("damaged").write_bytes(patch)
    with pytest.raises(delta.DeltaError, match="cannot use the patch damaged: it "):
        delta.apply(Path("old.safetensors"), Path("damaged"), Path("made"))
    assert not Path("made").exists()


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_an_index_of_another_program_is_refused_or_carried_out(files, data):
    delta.make(Path("old.safetensors"), Path("new.safetensors"), Path("step.patch"))
    patch = Path("step.patch").read_bytes()
    begin, *_ = patches._END.unpack(patch[-patches._END.size :])
    index = json.loads(zlib.decompress(patch[begin : -patches._END.size]))
    where = data.draw(st.sampled_from([index, index["files"][0], *index["files"][0]["tensors"]]))
    key = data.draw(st.sampled_from(sorted(where)))
    if isinstance(where[key], dict) and data.draw(st.booleans()):
        where, key = where[key], data.draw(st.sampled_from(sorted(where[key])))
    anything = st.sampled_from(
        [None, True, -1, 0, 1, 7, 1 << 40, 0.5, "", "npy", "<u4", [], [3, 2], {}, "../x"]
    )
    where[key] = data.draw(anything)
    text = zlib.compress(json.dumps(index).encode())
    Path("hostile").write_bytes(patch[:begin] + text + patches._END.pack(begin, crc32c(text), patches._LAST))
    Path("made").unlink(missing_ok=True)
    try:
        delta.apply(Path("old.safetensors"), Path("hostile"), Path("made"))
    except cdma.CdmaError:
        assert not Path("made").exists()


@pytest.mark.slow
def test_memory_stays_the_same_with_the_size_of_a_tensor(tmp_path):
    """A tensor of 256 MiB within 64 MiB beyond what a small one takes: no tensor is ever in memory."""
    script = (
        "import sys; from cdma.app import main; main(sys.argv[1:]);"
        "print(next(line for line in open('/proc/self/status') if 'VmHWM' in line).split()[1])"
    )
    tensor = (
        "import sys, numpy; path, size, step = sys.argv[1:];"
        "numpy.lib.format.open_memmap(path, 'w+', 'u1', (int(size),))[::int(step)] = 1"
    )
    most = {}
    for size in (1 << 10, 1 << 28):
        old, new, patch = (tmp_path / f"{name}.npy" for name in ("old", "new", "patch"))
        for path, step in ((old, 4097), (new, 5000)):
            subprocess.run([sys.executable, "-c", tensor, path, str(size), str(step)], check=True)
        for words in (["delta", old, new, "-o", patch], ["patch", old, patch, "-o", tmp_path / "made.npy"]):
            done = subprocess.run(
                [sys.executable, "-c", script, *words], capture_output=True, text=True, check=True
            )
            most[size, words[0]] = int(done.stdout.split()[-1]) * 1024
        assert filecmp.cmp(tmp_path / "made.npy", new, shallow=False)
    for command in ("delta", "patch"):
        assert most[1 << 28, command] - most[1 << 10, command] < 64 << 20


def test_a_hostile_patch_stays_in_its_folder(tmp_path, refused, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        Path(name).mkdir()
    Path("b", "x").write_bytes(b"x")
    found = sources.sources_of(Path("b"))
    for path in ("../x", "/x"):
        monkeypatch.setattr(
            delta, "sources_of", lambda _, path=path: [sources.Source(path, "bytes", b"", found[0].pieces)]
        )
        assert main(["delta", "a", "b", "-o", "p"]) == 0
        monkeypatch.setattr(delta, "sources_of", sources.sources_of)
        assert "which is outside of the folder" in refused("patch", "a", "p", "-o", "c")
