"""The benches of cards and of what autograd keeps, which :mod:`cdma.wings` finds: all are ``cdma bench …``."""

__all__ = ["BENCHES", "EXAMPLES"]

BENCHES = tuple(
    f"{__name__}.{name}" for name in ("swap", "advisor", "batch", "saved", "stream", "kernels", "gpu")
)

EXAMPLES: dict[str, tuple[str, ...]] = {
    "bench swap": ("", "--link 0.1 --policies vdnn_all cdma cswap --json"),
    "bench advisor": ("", "--cuda --networks vgg16 resnet50 --json"),
    "bench batch": ("--json", "--cpu --networks small --memory 0.004"),
    "bench saved": ("--json", "--networks resnet50 --ways saved comet"),
    "bench stream": ("", "--what optimiser cache", "--layers 6 --link 0.05 --policies raw compressed --json"),
    "bench kernels": ("", "--cuda --size 256 --json"),
    "bench gpu": ("", "--formats bf16 --densities 1 --json", "--hostile 1000"),
}  # fmt: skip
