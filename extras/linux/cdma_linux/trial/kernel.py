"""The guest's first file system, which is its only one, as the archive that the kernel unpacks. The kernel: built once
of Debian's sources as a program of user mode, and kept with what modules are built with.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import platform
import re
import shutil
import stat
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from cdma.base.cache import cache_folder, content_key, kept_folder, ready_cache
from cdma.base.errors import ToolError

_BLOCK = 4


def archive(files: Mapping[str, bytes]) -> bytes:
    """An archive of ``files``, all of which may be executed, in the format that the kernel unpacks ("newc").

    It has the folders of the files, those that file systems are mounted on, and the console.
    """
    folders = {"dev", "proc", "sys", *(name.rpartition("/")[0] for name in files if "/" in name)}
    entries: list[tuple[str, int, int, bytes]] = [
        *((folder, stat.S_IFDIR | 0o755, 0, b"") for folder in sorted(folders)),
        ("dev/console", stat.S_IFCHR | 0o600, 0x0501, b""),
        *((name, stat.S_IFREG | 0o755, 0, content) for name, content in files.items()),
        ("TRAILER!!!", 0, 0, b""),
    ]
    return b"".join(part for number, entry in enumerate(entries, 1) for part in _entry(number, *entry))


def _entry(number: int, name: str, mode: int, device: int, content: bytes) -> Iterator[bytes]:
    """An entry; ``device`` has the major and the minor number of a device in a byte each."""
    major, minor = device >> 8, device & 0xFF
    path = name.encode() + b"\0"
    # Inode, mode, owner, group, links, time, size, device of the file, device that it is, length of the name, checksum.
    fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, major, minor, len(path), 0)
    head = b"070701" + b"".join(b"%08X" % value for value in fields) + path
    for part in (head, content):
        yield part + bytes(-len(part) % _BLOCK)


#: The number of the virtio device that the kernel takes for a PCI function; none is assigned.
DEVICE_ID = 1234

#: What the kernel has beside what it cannot do without: PCI in user mode, modules, a first file system in memory; and what
#: the driver has to do with: buffers of other drivers, rings of system calls, DMA for the rest of the kernel, sleep, device
#: trees, ranges of memory (genalloc, which comes with SRAM).
_OPTIONS = (
    *("64BIT", "MODULES", "MODULE_UNLOAD", "BLK_DEV_INITRD", "BINFMT_ELF", "DEVTMPFS", "PROC_FS", "SYSFS"),
    *("STDERR_CONSOLE", "NULL_CHAN", "VIRTIO_UML", "UML_PCI_OVER_VIRTIO", "PCI", "PCI_MSI"),
    *("SHMEM", "TMPFS", "MEMFD_CREATE", "UDMABUF", "DMABUF_HEAPS", "DMABUF_HEAPS_SYSTEM"),
    *("IO_URING", "EVENTFD", "HOSTFS", "SYNC_FILE", "SW_SYNC", "DMADEVICES", "ALTERA_MSGDMA", "DMATEST"),
    *("SUSPEND", "PM", "PM_SLEEP", "PM_DEBUG", "PM_SLEEP_DEBUG", "OF", "SRAM"),
)
#: What looks for faults of a driver: accesses to memory that is nobody's; what C leaves undefined (in modules: the rest of
#: a kernel in user mode is not compiled for it); mappings for devices that are wrong or lost; objects that are used before
#: or after their time; tasks that hang; order of locks; lists; leaks; allocations that fail.
_CHECKS = (
    *("DEBUG_KERNEL", "DEBUG_FS", "KASAN", "KASAN_INLINE", "KASAN_VMALLOC"),
    *("UBSAN", "UBSAN_BOUNDS", "UBSAN_SHIFT", "UBSAN_DIV_ZERO", "UBSAN_BOOL", "UBSAN_ENUM"),
    *("DMA_API_DEBUG", "DMA_API_DEBUG_SG", "DMABUF_DEBUG", "DEBUG_SG"),
    *("DEBUG_OBJECTS", "DEBUG_OBJECTS_FREE", "DEBUG_OBJECTS_TIMERS", "DEBUG_OBJECTS_WORK"),
    *("DETECT_HUNG_TASK", "PROVE_LOCKING", "DEBUG_LIST", "DEBUG_KMEMLEAK"),
    *("FAULT_INJECTION", "FAILSLAB", "FAULT_INJECTION_DEBUG_FS", "FTRACE", "ENABLE_DEFAULT_TRACERS"),
)
#: What kernels in user mode have from 6.12 on, and is left out before.
_PREEMPTION = ("PREEMPT", "DEBUG_PREEMPT", "DEBUG_ATOMIC_SLEEP")
#: Seconds that a task may hang: more than the driver waits for an engine.
_NUMBERS = {"UML_PCI_OVER_VIRTIO_DEVICE_ID": DEVICE_ID, "DEFAULT_HUNG_TASK_TIMEOUT": 60}
_SETTINGS = {**dict.fromkeys(_OPTIONS + _CHECKS + _PREEMPTION, "y"), **_NUMBERS}
_CONFIGURATION = "".join(f"CONFIG_{name}={value}\n" for name, value in _SETTINGS.items())

#: What modules are built with, and the kernel itself.
_KEPT = ("Makefile", "scripts", "include", "arch/um", "arch/x86", "Module.symvers", ".config", "linux")

_SOURCES = Path("/usr/src")
#: The commands that a kernel is built with, and Debian's packages that have them.
_TOOLS = {"make": "make", "gcc": "gcc", "flex": "flex", "bison": "bison", "bc": "bc", "xz": "xz-utils"}
#: Lines of a tool that failed that are shown; seconds between two words about one that takes long.
_LINES, _INTERVAL = 30, 30


class KernelError(ToolError):
    """The kernel or its module could not be built."""


def missing(version: str = "") -> list[str]:
    """The packages of Debian that this machine lacks; empty if the kernel can be built."""
    found = [package for tool, package in _TOOLS.items() if shutil.which(tool) is None]
    return found if _sources(version) else [*found, f"linux-source-{version}".rstrip("-")]


def _sources(version: str) -> Path | None:
    """The sources of a version that Debian has installed here, or the newest."""
    found = _SOURCES.glob(f"linux-source-{version or '*'}.tar.xz")
    return max(found, key=lambda path: [int(part) for part in re.findall(r"\d+", path.name)], default=None)


def _key(sources: Path) -> str:
    compiler = subprocess.run(["gcc", "--version"], capture_output=True, text=True, check=True).stdout
    # Debian's revision and the time of it are in the size and the time of the archive, which is large.
    status = sources.stat()
    return content_key(sources.name, f"{status.st_size} {status.st_mtime_ns}", compiler, _CONFIGURATION)


def is_kept(version: str = "") -> bool:
    """Whether the kernel has been built here before, so that it is there at once."""
    sources = _sources(version)
    if missing(version) or sources is None:
        return False
    return (cache_folder() / "linux" / _key(sources)[:32]).is_dir()


def kernel(jobs: int = 1, version: str = "", say: Callable[[str], None] = print) -> Path:
    """The folder with a kernel, the program ``linux``, and with what modules are built with: of a version, as 6.1, or the
    newest.

    A kernel is built by one process at a time; what takes long is said.
    """
    if lacking := missing(version):
        raise KernelError(
            f"the kernel is built with what this machine lacks: on Debian apt install {' '.join(lacking)}"
        )
    if platform.machine() != "x86_64":
        raise KernelError(f"Linux in user mode is for x86_64, and this machine is {platform.machine()}")
    sources = _sources(version)
    assert sources is not None

    def make(folder: Path) -> None:
        _call(["tar", "xf", sources, "--strip-components=1"], folder, "unpacking the kernel")
        (folder / "options").write_text(_CONFIGURATION)
        build = ["make", "ARCH=um", f"-j{jobs}"]
        _call([*build, "KCONFIG_ALLCONFIG=options", "allnoconfig"], folder, "configuring the kernel")
        _check_options(folder / ".config")
        _call([*build, "linux", "modules_prepare"], folder, "building the kernel", say)
        shutil.copy(folder / "vmlinux.symvers", folder / "Module.symvers")
        _prune(folder)

    if is_kept(version):
        return kept_folder("linux", _key(sources), make)
    with _locked(say):
        return kept_folder("linux", _key(sources), make)


@contextlib.contextmanager
def _locked(say: Callable[[str], None]) -> Iterator[None]:
    """Waits until no other process builds a kernel."""
    folder = cache_folder() / "linux"
    ready_cache(folder)
    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("# another process builds a kernel")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _check_options(config: Path) -> None:
    """Objects to what the kernel did not take: then its sources ask for something more."""
    got = set(config.read_text().splitlines())
    left = {f"CONFIG_{name}=y" for name in _PREEMPTION}
    if lost := [line for line in _CONFIGURATION.splitlines() if line not in got | left]:
        raise KernelError(f"these sources of the kernel do not take {', '.join(lost)}")


def _prune(folder: Path) -> None:
    """Leaves what is kept, a tenth of what was built."""
    kept = {folder / name for name in _KEPT}
    above = {parent for path in kept for parent in path.parents}
    for directory in sorted(path for path in above if path.is_relative_to(folder)):
        for path in directory.iterdir():
            if path not in kept and path not in above:
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    for path in (folder / "arch").rglob("*.[oa]"):
        path.unlink()


def build_module(built: Path, sources: Mapping[str, Path], *, um: bool = True) -> Path:
    """The last module of ``sources``, folders by the names of their modules, for the kernel in ``built``; it is kept by what
    all of these folders have.
    """
    *_, name = sources

    def make(folder: Path) -> None:
        for each, source in sources.items():
            shutil.copytree(source, folder / each, ignore=shutil.ignore_patterns("__pycache__"))
        options = [f"M={folder / name}", "W=1", *(["ARCH=um", "UBSAN_SANITIZE=y"] if um else [])]
        command: list[str | Path] = ["make", "-C", built, *options, "modules"]
        said = _call(command, folder, "building the module")
        if "warning:" in said:
            raise KernelError(f"the module has warnings:\n{said}")
        shutil.move(folder / name / f"{name}.ko", folder)
        for each in sources:
            shutil.rmtree(folder / each)

    contents = (
        part
        for each, source in sources.items()
        for path in [*sorted(source.rglob("*.[ch]")), source / "Kbuild"]
        for part in (f"{each}/{path.relative_to(source)}", path.read_bytes())
    )
    return kept_folder("linux-modules", content_key(str(built), *contents), make) / f"{name}.ko"


def device_tree(built: Path, binding: Path, folder: Path) -> Path:
    """The tree of the first example of a binding, below a node that makes no devices of it."""
    _, _, example = binding.read_text().partition("examples:\n  - |\n")
    tree, blob = folder / "tree.dts", folder / "tree.dtb"
    cells = "#address-cells = <1>; #size-cells = <1>;"
    tree.write_text(f"/dts-v1/;\n/ {{ {cells} examples {{ {cells} ranges;\n{example} }}; }};\n")
    _call([built / "scripts" / "dtc" / "dtc", "-q", "-o", blob, tree], folder, "compiling the device tree")
    return blob


def _call(
    command: list[str | Path], folder: Path, what: str, say: Callable[[str], None] = lambda line: None
) -> str:
    """Runs a tool of the kernel's; returns what it says, and says every half a minute that it runs."""
    began = time.monotonic()
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        process = subprocess.Popen(
            command, cwd=folder, env={**os.environ, "LC_ALL": "C"}, stdout=output, stderr=subprocess.STDOUT
        )
        while True:
            try:
                process.wait(_INTERVAL)
                break
            except subprocess.TimeoutExpired:
                say(f"# {what}: {time.monotonic() - began:.0f} s")
            except BaseException:
                process.kill()
                raise
        output.seek(0)
        said = output.read()
    if process.returncode:
        last = "\n".join(said.splitlines()[-_LINES:])
        raise KernelError(f"{what} failed with status {process.returncode}:\n{last}")
    return said
