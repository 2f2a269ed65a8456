"""``cdma model --decode``: the next token, with a cache of keys and values that the device's memory has no room for."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from cdma.base.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cdma.sim.study.system.decoding import Decoding
    from cdma.sim.study.system.model import Model

__all__ = ["show_decoding"]


def show_decoding(arguments: argparse.Namespace, models: Sequence[Model]) -> None:
    """Prints a row for every length of the context and every policy, and a verdict on each."""
    from cdma.sim.study.system.decoding import DECODING_POLICIES, decoding, longest_resident
    from cdma.sim.study.system.model import usable

    _check(arguments, DECODING_POLICIES)
    rows: list[Decoding] = []
    lengths: list[int] = []
    for model in models:
        for context in arguments.decode:
            for policy, algorithm in usable(arguments.policy or DECODING_POLICIES, arguments.algorithm):
                rows.append(decoding(model, context, policy, algorithm))
                lengths.append(longest_resident(model))
    if arguments.json:
        told = [
            {**row.as_dict(), "longest_resident": length} for row, length in zip(rows, lengths, strict=True)
        ]
        print(json.dumps(told, indent=1))
        return
    _print(rows)
    for (network, machine, batch), length in {
        (row.network, row.machine, row.batch): length for row, length in zip(rows, lengths, strict=True)
    }.items():
        print(
            f"{network} on {machine}, {batch} sequences: up to {length:,} tokens the whole cache fits into the device: "
            "do not offload it"
        )


def _check(arguments: argparse.Namespace, policies: Sequence[str]) -> None:
    for name in ("devices", "links", "tensors", "trace", "plot"):
        if getattr(arguments, name):
            raise ParameterError(f"{name} is given with decode; it is about a step of training")
    for context in arguments.decode:
        if context < 1:
            raise ParameterError(f"decode is {context}; a context has 1 token or more")
    for policy in arguments.policy or ():
        if policy not in policies:
            raise ParameterError(f"policy is {policy!r}; with decode it must be one of {', '.join(policies)}")


def _print(rows: Sequence[Decoding]) -> None:
    from cdma.output import new_table, output

    table = new_table(
        *("network", "machine", "policy", "algorithm", "bottleneck", "fits"),
        *("context", "cache GiB", "in the device", "ratio", "ms/token", "tokens/s"),
        texts=6,
    )
    previous = None
    for row in rows:
        group = (row.network, row.machine, row.context)
        if previous not in (None, group):
            table.add_section()
        previous = group
        table.add_row(
            *(row.network, row.machine, row.policy, row.algorithm, row.bottleneck),
            *("yes" if row.fits else "no", f"{row.context:,}", f"{row.cache_bytes / 2**30:.1f}"),
            *(f"{row.resident:.0%}", f"{row.ratio:.2f}"),
            *(f"{1e3 * row.token_s:.1f}", f"{row.tokens_per_s:.0f}"),
        )
    output().print(table)
