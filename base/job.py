"""Runs one job of :mod:`.submitted`: ``python -m cdma.base.job JOB RESULT``."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

from cdma.base.cache import replace_bytes
from cdma.base.errors import CdmaError

__all__ = ["main"]


def main(job: str, result: str) -> None:
    """Reads a function and its argument from the file ``job``; what came of it goes into ``result``, whole or not at all.

    An error of ours is a result; any other one ends the process with a traceback and without a result.
    """
    function, item = pickle.loads(Path(job).read_bytes())
    try:
        came = ("done", function(item))
    except CdmaError as error:
        came = ("lost", str(error))
    replace_bytes(Path(result), pickle.dumps(came))


if __name__ == "__main__":
    main(*sys.argv[1:])
