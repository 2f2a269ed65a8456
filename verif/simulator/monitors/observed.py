"""What of a module's outputs anyone may look at, and when.

- A valid, a ready and whatever belongs to no channel: always.
- The payload of a channel: while its valid is high; of data, the bytes that keep or the strobes keep.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cdma.hdl.verilog.ports import Port

__all__ = ["Observed", "channel_valid", "observed"]


@dataclass(frozen=True)
class Observed:
    """An output.

    ``port``
        The port.
    ``valid``
        The valid of the channel whose payload it is; None for everything else.
    ``masks``
        The keep and the strobes of the bytes of the port, where it has some.
    """

    port: Port
    valid: Port | None
    masks: tuple[Port, ...]

    def value(self, prefix: str = "") -> str:
        """The Verilog expression of the bytes that count, the others being 0; ``prefix`` stands before all names."""
        value = f"{prefix}{self.port.name}"
        for mask in self.masks:
            bits, name = self.port.width // mask.width, f"{prefix}{mask.name}"
            lanes = [
                f"{{{bits}{{{name}{f'[{lane}]' if mask.width > 1 else ''}}}}}" for lane in range(mask.width)
            ]
            value = f"({value} & {{{', '.join(reversed(lanes))}}})"
        return value


def observed(ports: Sequence[Port]) -> Iterator[Observed]:
    """All outputs among the ports of a module."""
    names = {port.name: port for port in ports}
    for port in ports:
        if port.direction != "output":
            continue
        valid = channel_valid(port, ports)
        masks: list[Port] = []
        if valid is not None and port.name.endswith("data"):
            channel = valid.name.removesuffix("valid")
            masks = [names[name] for part in ("keep", "strb") if (name := f"{channel}{part}") in names]
        yield Observed(port, valid, tuple(masks))


def channel_valid(port: Port, ports: Sequence[Port]) -> Port | None:
    """The valid of the channel whose payload ``port`` is part of; None for everything else."""
    if port.times:
        return None
    for valid in ports:
        channel = valid.name.removesuffix("valid")
        if (
            channel != valid.name
            and valid.direction == port.direction
            and port.name.startswith(channel)
            and port.name != valid.name
        ):
            return valid
    return None
