"""``cdma bench stream``: tokens, or steps, of a model of which a part comes from the host, raw and compressed."""

from __future__ import annotations

import argparse

from cdma.base.errors import ParameterError
from cdma.command import ROWS, Command, flag, option
from cdma.options import check_between
from cdma.result import Columns, Result, column, rows_result

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


def _run(arguments: argparse.Namespace) -> Result:
    from cdma.torch.extras import versions

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
    from cdma.torch.networks.networks import Shape

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
    rows = [row for what in arguments.what for row in stream_rows(what, arguments.policies, bench)]
    return rows_result(rows, _COLUMNS, 3, lambda row: row["what"])


COMMAND = Command(
    "stream",
    "tokens or steps of a model whose weights, states, or keys come from the host, raw and compressed",
    "Compute with a stack of layers of Llama's shape of which a part waits on the host and comes layer by layer, raw and "
    "compressed: the weights, for each token (also as the package accelerate does it, if that is installed); the states of "
    "Adam, for each step, whose gradients do not count; or a cache of keys and values, for each token behind others. Each "
    "output, or weight behind a step, must be that of the plain model, bit for bit. Times are medians over rounds in which "
    "every policy has some tokens; share is what was reached of the ratio. On a processor times are those of a link in "
    "software, and not what a GPU does.",
    _run,
    {
        "": (
            option("--what NAME+", "some of weights, optimiser, "
                "cache", ["weights"], choices=WHAT_NAMES),
            option("--layers N", "layers of the model", 4),
            option("--width N", "numbers of a token (default 256; Llama-7B: 4096)", 256),
            option("--hidden N", "numbers between the maps of a layer (default 688; Llama-7B: 11008)", 688),
            option("--policies NAME+", "some of raw, compressed, accelerate (default "
                "all)", list(POLICY_NAMES), choices=POLICY_NAMES),
            option("--rounds N", "rounds to time", 5),
            option("--link GBPS", "the link in software, in GB/s", 0.1),
            option("--device-bytes BYTES", "the most that this takes on the device (default: so little that all of it "
                "comes, or about all)", int),
            option("--ahead N", "layers that are on their way", 2),
            option("--context N", "tokens in a cache before the first that counts", 512),
            flag("--cuda", "compute on a GPU, over its own link"),
            option("--seed N", "of weights and token", 1),
            ROWS,
        ),
    },
    ["", "--what optimiser cache", "--layers 6 --link 0.05 --policies raw compressed --json"],
)  # fmt: skip
