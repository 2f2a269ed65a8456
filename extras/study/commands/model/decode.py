"""``cdma study model decode``: the next token, with a cache of keys and values that the device's memory has no room for."""

from __future__ import annotations

import argparse
from typing import Any

from cdma.base.errors import ParameterError
from cdma.command import ROWS, Command, option
from cdma.result import Columns, Result, column, named, rows_result

from .question import ALGORITHMS, models_of, question

_COLUMNS: Columns = {
    **named("network", "machine", "policy", "algorithm", "bottleneck"),
    "fits": lambda row: "yes" if row["fits"] else "no",
    "context": column("context", ","),
    "cache GiB": lambda row: f"{row['cache_bytes'] / 2**30:.1f}",
    "in the device": column("resident", ".0%"),
    "ratio": column("ratio", ".2f"),
    "ms/token": lambda row: f"{1e3 * row['token_s']:.1f}",
    "tokens/s": column("tokens_per_s", ".0f"),
}


def _run(arguments: argparse.Namespace) -> Result:
    from cdma.study.system.decoding import DECODING_POLICIES, decoding, longest_resident
    from cdma.study.system.model import usable

    for context in arguments.contexts:
        if context < 1:
            raise ParameterError(f"a context is {context}; it has 1 token or more")
    for policy in arguments.policy or ():
        if policy not in DECODING_POLICIES:
            raise ParameterError(
                f"policy is {policy!r}; to decode it must be one of {', '.join(DECODING_POLICIES)}"
            )
    rows: list[dict[str, Any]] = []
    for model in models_of(arguments):
        length = longest_resident(model)
        for context in arguments.contexts:
            for policy, algorithm in usable(arguments.policy or DECODING_POLICIES, arguments.algorithm):
                row = decoding(model, context, policy, algorithm).as_dict()
                rows.append({**row, "longest_resident": length})
    found = rows_result(rows, _COLUMNS, 6, lambda row: (row["network"], row["machine"], row["context"]))
    lengths = {(row["network"], row["machine"], row["batch"]): row["longest_resident"] for row in rows}
    said = [
        f"{network} on {machine}, {batch} sequences: up to {length:,} tokens the whole cache fits into the device: do not "
        "offload it"
        for (network, machine, batch), length in lengths.items()
    ]
    return Result(rows, [*found.parts, *said])


COMMAND = Command(
    "decode",
    "the next token of a transformer, with a cache of keys and values partly in the host",
    "Evaluate the next token of each of --batch sequences after so many tokens, with a cache of keys and values of which "
    "the host has what the device has no room for.",
    _run,
    {
        "question": (
            *question(),
            option("--policy P+", "only these policies (default: all)"),
            ALGORITHMS,
        ),
        "": (
            option("contexts TOKENS+", "lengths of the context", int),
            ROWS,
        ),
    },
    ["65536 --network gpt2"],
)  # fmt: skip
