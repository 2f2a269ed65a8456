"""The side of the simulation process: the settings that a cocotb test is given, and the result that it leaves."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["bench_settings", "leave_row", "leave_samples", "leaving_result"]


def bench_settings() -> dict[str, Any]:
    """The settings that :func:`.simulate` was given for the tests."""
    settings: dict[str, Any] = json.loads(os.environ["CDMA_BENCH"])
    return settings


@contextmanager
def leaving_result(
    test: str, tally: Callable[[], Mapping[str, Any]], explain: Callable[[BaseException], str]
) -> Iterator[None]:
    """Leaves the result of the test that runs inside, for :func:`.simulate` to find.

    ``tally`` gives the fields of an :class:`.Outcome` that the test counts; ``explain`` makes a sentence of a failure.
    """
    failure = None
    began = time.monotonic()
    try:
        yield
    except BaseException as error:
        failure = explain(error)
        raise
    finally:
        record = {**tally(), "test": test, "failure": failure, "seconds": time.monotonic() - began}
        _append(bench_settings()["result"], record)


def leave_row(row: Mapping[str, Any]) -> None:
    """Leaves a row of a measurement, for :func:`.measure` to find."""
    _append(bench_settings()["rows"], row)


def leave_samples(samples: Iterable[Mapping[str, Any]]) -> None:
    """Leaves what the bench observed, for :mod:`cdma.verif.campaigns.coverage` to find, if it was asked for."""
    path = bench_settings().get("samples")
    if path is not None:
        with Path(path).open("a") as file:
            file.writelines(json.dumps(sample) + "\n" for sample in samples)


def _append(path: str, record: Mapping[str, Any]) -> None:
    with Path(path).open("a") as file:
        file.write(json.dumps(record) + "\n")
