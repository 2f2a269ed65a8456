"""``cdma study profile``: what compression buys on the user's own tensors."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from cdma.base.document import Table
from cdma.command import Command, flag, option
from cdma.result import Result
from cdma.study.commands.model.modes import count, positive, time

if TYPE_CHECKING:
    from cdma.sim.codec.fit import TensorProfile
    from cdma.study.profile.files import StoredTensor
    from cdma.study.profile.link import Hidden, Settings
    from cdma.study.profile.report import Report


def _run(arguments: argparse.Namespace) -> Result:
    from cdma.study.profile.report import Report, advise

    settings = _settings(arguments)
    report = Report(_found(arguments.path), settings)
    verdict = advise(report)
    return Result(
        {**report.as_dict(), "verdict": asdict(verdict)}, [_table(report), *_answers(report), str(verdict)]
    )


def _found(path: Path) -> tuple[TensorProfile, ...]:
    """The tensors of files, or those that are recorded of a network of that name."""
    from cdma.output import warn
    from cdma.study.profile.files import find_tensors
    from cdma.study.real.record import recorded, recorded_names

    if str(path) in recorded_names() and not path.exists():
        return tuple(tensor.profile() for tensor in recorded(str(path)).tensors)
    return tuple(_profiles(find_tensors(path, warn)))


def _settings(arguments: argparse.Namespace) -> Settings:
    from cdma.study.profile.link import Hidden, Settings

    giga = {
        name: getattr(arguments, name) for name in ("link", "link_back", "unit_rate", "memory", "kernel_rate")
    }
    given = [arguments.hidden_forward, arguments.hidden_backward]
    return Settings(
        **{name: rate and rate * 1e9 for name, rate in giga.items()},
        units=arguments.units,
        hidden=None if given == [None, None] else Hidden(*(1e-3 * (time or 0) for time in given)),
        hidden_by_name=_hidden(arguments.hidden) if arguments.hidden is not None else {},
    )


def _hidden(path: Path) -> dict[str, Hidden]:
    from cdma.base.toml_table import read_toml
    from cdma.study.profile.link import Hidden

    table = read_toml(path)
    return {name: table.table(name).read(Hidden) for name in table.names()}


def _profiles(stored: Iterable[StoredTensor]) -> list[TensorProfile]:
    from cdma.output import byte_progress
    from cdma.sim.codec.fit import profile

    stored = list(stored)
    profiles = []
    with byte_progress("profiling", sum(tensor.bytes for tensor in stored)) as progress:
        for tensor in stored:
            profiles.append(profile(tensor.name, tensor.read(), tensor.dtype, progress))
    return profiles


def _table(report: Report) -> Table:
    from cdma.study.profile.report import worth

    titles = ("tensor", "MB", "density", "ratio", "us saved", "worth", "CSWAP", "units", "alone", "suits")
    rows = [
        (
            transfer.tensor.name,
            f"{transfer.tensor.raw / 1e6:,.3f}",
            f"{transfer.tensor.density:.3f}",
            f"{transfer.ratio:.2f}",
            f"{(sum(transfer.plain) - sum(transfer.compressed())) * 1e6:,.1f}",
            worth(transfer.ours),
            worth(transfer.cswap),
            str(transfer.units),
            f"{transfer.tensor.ratio:.2f}",
            str(transfer.tensor.best),
        )
        for transfer in report.transfers
    ]
    return Table(titles, rows, range(1, 9))


def _answers(report: Report) -> list[str]:
    settings = report.settings
    plain, compressed = (report.link_seconds(compressed=which) * 1e3 for which in (False, True))
    answers = [
        f"One engine for all tensors, {report.engine}, with a table for each: {report.raw / 1e6:,.3f} MB become "
        f"{report.compressed / 1e6:,.3f} MB, ratio {report.ratio:.2f}.",
        f"On the link, both ways: {plain:.4g} ms without compression, {compressed:.4g} ms compressed with "
        f"{settings.units} unit(s): {report.speedup:.2f} times as fast.",
        f"Units for this link: {report.units_enough} are enough in all, {report.units_at_peak} so that no "
        "tensor is limited by them.",
        f"If each tensor had the format that suits it (alone, suits), which no one engine has: ratio "
        f"{report.raw / report.apart:.2f}.",
    ]
    if report.speedup_selected is not None:
        answers.insert(
            2, f"Compressing only what is worth it, waits are {report.speedup_selected:.2f} times shorter."
        )
    minus = sum(tensor.minus_zeros for tensor in report.tensors)
    if minus:
        answers.append(f"{minus:,} elements are -0.0: not zero to the codec, because it is lossless.")
    return answers


COMMAND = Command(
    "profile",
    "what compression buys on your own tensors",
    "Profile activations: density, ratio, time on the link, whether compressing each tensor is worth it, the format that "
    "suits it, and how many units the link needs. In a PyTorch program cdma.study.record(model) gives the same report.",
    _run,
    {
        "": (
            option("path", ".npy, .npz or .safetensors file, a directory of such files, or a network of cdma study "
                "collect", Path),
        ),
        "link and engine": (
            option("--link GB/S", "effective rate of the link to the host (default 12.8, PCIe 3 x16)", positive,
                default=12.8),
            option("--link-back GB/S", "rate from the host back (default: the same)", positive),
            option("--unit-rate GB/S", "raw data per second of one unit (default 32: 8 words of 32 bits at 1 GHz)", positive,
                default=32.0),
            option("--units N", "units of the engine (default 1)", count, default=1),
        ),
        "computation beside the transfers": (
            option("--hidden-forward MS", "time of each tensor's offload that computation hides; there is no verdict "
                "without it", time),
            option("--hidden-backward MS", "time of each tensor's prefetch that computation hides; there is no verdict "
                "without it", time),
            option("--hidden FILE", "TOML file with a table for each tensor that has its own: forward and backward, in "
                "ms", Path),
            option("--kernel-rate GB/S", "one rate of CSWAP's kernels, in the place of the measured times", positive),
            option("--memory GB/S", "bandwidth of the device's memory, whose copies the measured times of CSWAP's kernels "
                "are told in (default 547.7, a Titan Xp)", positive, default=547.7),
        ),
        "report": (
            flag("--json", "print the report as JSON"),
        ),
    },
    ["activations/", "crepe --link 51", "activations.npz --link 25 --units 2"],
)  # fmt: skip
