"""The command line of the site."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import docs.site


def main() -> int:
    """Builds the site and says where it begins."""
    parser = argparse.ArgumentParser(
        prog="python -m docs.site",
        description=docs.site.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("-o", "--output", type=Path, default=Path("build/site"), metavar="DIR")
    output: Path = parser.parse_args().output
    try:
        from .build import build
    except ModuleNotFoundError as error:
        print(f"{error.name} is missing: pip install '.[docs]'", file=sys.stderr)
        return 2
    build(output)
    print(output / "index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
