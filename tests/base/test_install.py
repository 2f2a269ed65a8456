"""What an error tells a user to install works from where the user is."""

import json
from pathlib import Path

import pytest

from cdma.base import errors
from tests.support.paths import ROOT


class _Installed:
    def __init__(self, origin: dict[str, object] | None) -> None:
        self._origin = origin

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return None if self._origin is None else json.dumps(self._origin)


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch):
    """Says how pip installed the distribution, whose build lies in the path before it."""

    def say(url: str | None) -> None:
        origin = None if url is None else {"url": url, "dir_info": {}}
        monkeypatch.setattr(
            errors, "distributions", lambda name: iter([_Installed(None), _Installed(origin)])
        )

    return say


def test_checkout(installed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "a folder"
    folder.mkdir()
    installed(folder.as_uri())
    monkeypatch.chdir(folder)
    assert errors.install_command("verif") == "pip install '.[verif]'"
    monkeypatch.chdir(tmp_path)
    assert errors.install_command("verif") == f"pip install '{folder}[verif]'"


def test_wheel_and_index(installed, tmp_path: Path) -> None:
    wheel = tmp_path / "compressing_dma-1-py3-none-any.whl"
    installed(wheel.as_uri())
    assert errors.install_command("plot") == "pip install 'compressing-dma[plot]'", "the wheel is gone"
    wheel.touch()
    assert errors.install_command("plot") == f"pip install 'compressing-dma[plot] @ {wheel.as_uri()}'"
    installed(None)
    assert errors.install_command("plot") == "pip install 'compressing-dma[plot]'"


def test_sources_that_are_not_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(errors, "distributions", lambda name: iter([]))
    monkeypatch.chdir(ROOT)
    assert errors.install_command("dask") == "pip install '.[dask]'"
    monkeypatch.chdir(tmp_path)
    assert errors.install_command("dask") == "pip install 'compressing-dma[dask]'"


def test_no_text_names_the_distribution_of_others() -> None:
    """``cdma`` on PyPI is another project: nothing may tell a user to install it."""
    found = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for folder in ("cli", "hdl", "sim", "verif", "synth", "extras", "docs", "README.md", "pyproject.toml")
        for path in ([ROOT / folder] if (ROOT / folder).is_file() else (ROOT / folder).rglob("*"))
        if path.suffix in (".py", ".md", ".toml")
        for line in path.read_text(encoding="utf-8").splitlines()
        if "cdma[" in line.replace("cdma[int]", "")
    ]
    assert found == []
