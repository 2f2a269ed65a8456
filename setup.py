"""The packages of ``cdma``: every folder of Python below the five that pyproject.toml maps into it.

Everything else about the package stands in pyproject.toml, where such a list cannot be computed.
"""

from setuptools import find_packages, setup

parts = ["cdma", *(f"cdma.{name}" for name in find_packages("cli"))]
for part in ("hdl", "sim", "verif", "synth"):
    parts += [f"cdma.{part}", *(f"cdma.{part}.{name}" for name in find_packages(part))]

setup(packages=parts)
