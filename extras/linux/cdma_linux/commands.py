"""The command of the driver for Linux, which :mod:`cdma.wings` finds."""

__all__ = ["COMMANDS", "EXAMPLES"]

COMMANDS = ("cdma_linux.command",)

EXAMPLES: dict[str, tuple[str, ...]] = {
    "linux": ("", "--waves linux.vcd --first 9", "--torch", "--measure 10000 --json", "--feed 99999", "--run python3 my.py"),
}  # fmt: skip
