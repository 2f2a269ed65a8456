"""The packages of ``cdma``: every folder of Python below those that pyproject.toml maps into it; its kernels in C; and the
documents that ``cdma intake`` quotes.

Everything else about the package stands in pyproject.toml, where such a list cannot be computed.
"""

import atexit
import shutil
import tempfile

from setuptools import Extension, find_packages, setup
from setuptools.command.build_py import build_py

#: They stay where their readers look for them, and lie in ``documents/`` of the package too.
DOCUMENTS = [
    "README.md",
    "SECURITY.md",
    *("docs/engine.md", "docs/integration.md", "docs/verification.md", "docs/results/records.json"),
]


class BuildWithDocuments(build_py):
    """Data of the package from outside of its folders, which ``package-data`` cannot name."""

    def _get_data_files(self):
        return [*super()._get_data_files(), self._documents()]

    def get_data_files_without_manifest(self):
        return [*super().get_data_files_without_manifest(), self._documents()]

    def _documents(self):
        """Package, folder of the sources, folder of the build, and files."""
        return ("cdma", ".", f"{self.build_lib}/cdma/documents", DOCUMENTS)


parts = ["cdma", *(f"cdma.{name}" for name in find_packages("cli"))]
for part in (
    "base",
    "hdl",
    "sim",
    "verif",
    "synth",
    "extras/pytorch/torch",
    "extras/pytorch/gpu",
    "extras/study",
):
    package = f"cdma.{part.rpartition('/')[2]}"
    parts += [package, *(f"{package}.{name}" for name in find_packages(part))]

# Without a compiler the package is complete too: numpy does the work then. One file serves every Python from 3.10 on.
native = Extension(
    "cdma.sim.codec._native",
    ["sim/codec/native.c"],
    depends=[
        f"sim/codec/native_{name}.h"
        for name in (
            "checksum",
            "format",
            "windows",
            "groups",
            "eight",
            "nibbles",
            "pairs",
            "scalar",
            "table",
            "avx512",
        )
    ],
    extra_compile_args=["-std=c11", "-O3"],
    py_limited_api=True,
    optional=True,
)

# What a build leaves behind would end in the next wheel, also when its source is gone; so nothing stays in the checkout.
scratch = tempfile.mkdtemp(prefix="cdma-build-")
atexit.register(shutil.rmtree, scratch, ignore_errors=True)

setup(
    packages=parts,
    ext_modules=[native],
    cmdclass={"build_py": BuildWithDocuments},
    options={
        "bdist_wheel": {"py_limited_api": "cp310"},
        "build": {"build_base": scratch},
        "egg_info": {"egg_base": scratch},
    },
)
