"""``cdma bench stream``: tokens, or steps, of a model of which a part comes from the host, raw and compressed."""

from __future__ import annotations

import argparse
from typing import Any

from cdma.base.errors import ParameterError
from cdma.options import check_between
from cdma.rows import Columns, Row, add_row_options, column, show_rows

__all__ = ["POLICY_NAMES", "WHAT_NAMES", "register"]

#: The policies of the bench, which PyTorch need not be loaded to name.
POLICY_NAMES = ("raw", "compressed", "accelerate")
#: What may come from the host.
WHAT_NAMES = ("weights", "optimiser", "cache")
_COLUMNS: Columns = {
    "model": column("model"),
    "what": column("what"),
    "policy": column("policy"),
    "MB": lambda row: f"{row['bytes'] / 1e6:.1f}",
    "ms": column("ms", ".2f"),
    "per second": column("rate", ".2f"),
    "ratio": column("ratio", ".3f"),
    "share": column("share", ".3f"),
    "moved MB": lambda row: "" if row["moved"] is None else f"{row['moved'] / 1e6:.1f}",
    "on device MB": lambda row: "" if row["on_device"] is None else f"{row['on_device'] / 1e6:.1f}",
    "waits ms": column("wait_ms", ".2f"),
}


def register(subparsers: Any) -> None:
    """Adds the command's parser."""
    parser = subparsers.add_parser(
        "stream",
        help="tokens or steps of a model whose weights, states, or keys come from the host, raw and compressed",
        description="Compute with a stack of layers of Llama's shape of which a part waits on the host and comes layer "
        "by layer, raw and compressed: the weights, for each token (also as the package accelerate does it, if that is "
        "installed); the states of Adam, for each step, whose gradients do not count; or a cache of keys and values, for "
        "each token behind others. Each output, or weight behind a step, must be that of the plain model, bit for bit. "
        "Times are medians over rounds in which every policy has some tokens; share is what was reached of the ratio. On a "
        "processor times are those of a link in software, and not what a card does.",
    )
    parser.add_argument(
        "--what",
        nargs="+",
        choices=WHAT_NAMES,
        default=["weights"],
        metavar="NAME",
        help=f"some of {', '.join(WHAT_NAMES)} (default weights)",
    )
    parser.add_argument("--layers", type=int, default=4, metavar="N", help="layers of the model (default 4)")
    parser.add_argument(
        "--width", type=int, default=256, metavar="N", help="numbers of a token (default 256; Llama-7B: 4096)"
    )
    parser.add_argument(
        "--hidden",
        type=int,
        default=688,
        metavar="N",
        help="numbers between the maps of a layer (default 688; Llama-7B: 11008)",
    )
    parser.add_argument(
        "--policies",
        nargs="+",
        choices=POLICY_NAMES,
        default=list(POLICY_NAMES),
        metavar="NAME",
        help=f"some of {', '.join(POLICY_NAMES)} (default all)",
    )
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="rounds to time (default 5)")
    parser.add_argument(
        "--link", type=float, default=0.1, metavar="GBPS", help="the link in software, in GB/s (default 0.1)"
    )
    parser.add_argument(
        "--device-bytes",
        type=int,
        metavar="BYTES",
        help="the most that this takes on the device (default: so little that all of it comes, or about all)",
    )
    parser.add_argument(
        "--ahead", type=int, default=2, metavar="N", help="layers that are on their way (default 2)"
    )
    parser.add_argument(
        "--context",
        type=int,
        default=512,
        metavar="N",
        help="tokens in a cache before the first that counts (default 512)",
    )
    parser.add_argument("--cuda", action="store_true", help="compute on a card, over its own link")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of weights and token (default 1)")
    add_row_options(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from cdma.torch.networks.versions import versions

    check_between("layers", arguments.layers, 1, 1000)
    check_between("width", arguments.width, 128, 1 << 16)
    check_between("hidden", arguments.hidden, 1, 1 << 18)
    check_between("rounds", arguments.rounds, 1, 1000)
    check_between("ahead", arguments.ahead, 1, 1000)
    check_between("context", arguments.context, 1, 1 << 20)
    if arguments.width % 128:
        raise ParameterError(f"width is {arguments.width}; it must be a multiple of 128, which a head has")
    if not arguments.link > 0:
        raise ParameterError(f"link is {arguments.link:g} GB/s; it must be more than 0")
    # Says what is missing, before anything imports it.
    versions()
    from cdma.torch.bench.stream_bench import StreamBench, stream_rows
    from cdma.torch.networks.llama import Shape

    bench = StreamBench(
        Shape(arguments.layers, arguments.width, arguments.hidden),
        rounds=arguments.rounds,
        link=None if arguments.cuda else arguments.link * 1e9,
        device_bytes=arguments.device_bytes,
        ahead=arguments.ahead,
        context=arguments.context,
        device="cuda" if arguments.cuda else "cpu",
        seed=arguments.seed,
    )
    rows: list[Row] = []
    for what in arguments.what:
        rows += stream_rows(what, arguments.policies, bench)
    show_rows(arguments, rows, columns=_COLUMNS, texts=3, group=lambda row: row["what"])
    return 0
