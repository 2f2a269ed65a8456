"""Makes a release in a folder; nothing is published.

    python -m docs.release [-o dist]

Builds the wheel and the source distribution, installs each into a fresh environment and tries it there, does so with those
of the driver for Linux, which are a distribution of their own, generates a
folder of every block with its default parameters, builds the documentation site, and takes the notes from CHANGELOG.md.
Packages come from the index that pip is configured for.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

from cdma import __version__

ROOT = Path(__file__).resolve().parents[1]
NAME = f"compressing_dma-{__version__}"
#: The blocks of which the release has a folder.
BLOCKS = ("compressor", "decompressor", "engine", "quantiser", "dequantiser")
#: The date of all files in archives, so that the same files give the same archive.
_DATE = (1980, 1, 1, 0, 0, 0)


def notes(changes: str, version: str) -> str:
    """The section of a version in the list of changes; ends the program where there is none."""
    found = re.search(
        rf"^## {re.escape(version)}(?!\S)[^\n]*\n(.*?)(?=^## |\Z)", changes, re.MULTILINE | re.DOTALL
    )
    if found is None or not found[1].strip():
        raise SystemExit(f"CHANGELOG.md has no section {version}")
    return f"# compressing-dma {version}\n\n{found[1].strip()}\n"


def pack(folder: Path, archive: Path) -> None:
    """Packs a folder, whose name is that of the archive, as the same bytes whenever it has the same files."""
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as target:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                entry = zipfile.ZipInfo(f"{archive.stem}/{path.relative_to(folder).as_posix()}", _DATE)
                entry.compress_type = zipfile.ZIP_DEFLATED
                entry.external_attr = 0o644 << 16
                target.writestr(entry, path.read_bytes())


def _run(*command: str | Path, folder: Path = ROOT) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}:\n{done.stdout}{done.stderr}")
    return done.stdout


def _install(distribution: Path, place: Path) -> tuple[Path, Path]:
    """Installs a distribution into an environment; its Python and the command."""
    python, pip = place / "bin" / "python", ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    _run(python, *pip, distribution.resolve(), folder=place)
    return python, place / "bin" / "cdma"


def _tried(distribution: Path, place: Path) -> Path:
    """Installs a distribution into a fresh environment and tries it away from the checkout; its command."""
    print(f"installing {distribution.name} into a fresh environment", flush=True)
    venv.create(place, with_pip=True)
    python, cdma = _install(distribution, place)
    version = _run(python, "-c", "import cdma; print(cdma.__version__)", folder=place).strip()
    if version != __version__:
        raise SystemExit(f"{distribution.name} has the version {version}")
    _run(python, "-c", "import cdma; cdma.decompress(cdma.compress(b'ab' * 64), 32)", folder=place)
    if "usage: cdma" not in _run(cdma, "--help", folder=place):
        raise SystemExit(f"cdma --help of {distribution.name} says nothing")
    _run(cdma, "generate", "compressor", "-o", "tried", folder=place)
    return cdma


def _add_driver(wheel: Path, place: Path) -> None:
    """Installs the driver's wheel beside the other one; it is of the same version, and adds its command."""
    if wheel.name.split("-")[1] != __version__:
        raise SystemExit(f"{wheel.name} is not of version {__version__}")
    _, cdma = _install(wheel, place)
    if "usage: cdma linux" not in _run(cdma, "linux", "--help", folder=place):
        raise SystemExit(f"cdma linux --help of {wheel.name} says nothing")


def main() -> int:
    """Runs the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m docs.release",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("-o", "--output", type=Path, default=Path("dist"), metavar="DIR")
    output: Path = parser.parse_args().output.resolve()
    said = notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), __version__)
    output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="cdma-release-") as scratch:
        place = Path(scratch)
        print("building wheel and source distribution", flush=True)
        _run(sys.executable, "-m", "build", "--quiet", "--outdir", place / "built", ROOT)
        (wheel,) = (place / "built").glob("*.whl")
        (source,) = (place / "built").glob("*.tar.gz")
        cdma = _tried(wheel, place / "of-wheel")
        _tried(source, place / "of-source")
        print("building the driver for Linux", flush=True)
        _run(
            sys.executable, "-m", "build", "--quiet", "--outdir", place / "driver", ROOT / "extras" / "linux"
        )
        driver = sorted((place / "driver").iterdir())
        _add_driver(next(path for path in driver if path.suffix == ".whl"), place / "of-wheel")
        for block in BLOCKS:
            print(f"generating {block}", flush=True)
            _run(cdma, "generate", block, "-o", place / "blocks" / block, folder=place)
        print("building the documentation site", flush=True)
        _run(sys.executable, "-m", "docs.site", "-o", place / "site")
        zips = [place / f"{NAME}-{name}.zip" for name in ("blocks", "site")]
        made = [wheel, source, *driver, *zips, place / "NOTES.md"]
        for name, archive in zip(("blocks", "site"), zips, strict=True):
            pack(place / name, archive)
        made[-1].write_text(said, encoding="utf-8")
        sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in made]
        for path in made:
            (output / path.name).write_bytes(path.read_bytes())
        (output / "SHA256SUMS").write_text("".join(sums), encoding="utf-8")
    for path in made:
        print(output / path.name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
