"""The user bits of addresses: the AXI sideband signals that are no constants, and the owner."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from amaranth.hdl import C, Cat, Module, Value
from amaranth.lib import data, stream, wiring

from cdma.hdl.axi.ports import ReadPort, WritePort, each_port
from cdma.hdl.blocks.arithmetic import one_of
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.options import OWNER_PORTS


def _variable(config: EngineConfig, port: str) -> dict[str, int]:
    """The sideband signals of a port, "dev" or "host", that are not the same for all of its addresses, and their bits."""
    values = config.sideband.values(port)
    rings = config.sideband.values("ring") if port == "host" and config.registers else values
    return {
        name: bits
        for name, (bits, value) in values.items()
        if config.sideband_registers or value != rings[name][1]
    }


class UserLayout(data.StructLayout):
    """The user bits of an address at a port, "dev" or "host", by the names of their pins after ``ar`` and ``aw``."""

    def __init__(self, config: EngineConfig, port: str) -> None:
        owner = {OWNER_PORTS[name]: bits for name, (_, bits) in config.records.owner_fields.items()}
        super().__init__(_variable(config, port) | owner)


class ChannelUsers(data.StructLayout):
    """User bits of a channel's addresses, as the registers of its pair set them.

    ``dev``, ``host``: Sideband signals of data in device memory, and in host memory.
    ``ring``: All user bits of rings, messages and page lists.
    """

    def __init__(self, config: EngineConfig) -> None:
        self.config = config
        dev, host = (sum(_variable(config, port).values()) for port in ("dev", "host"))
        super().__init__({"dev": dev, "host": host, "ring": UserLayout(config, "host").size})

    def drive(self, m: Module, users: data.View, registers: wiring.PureInterface) -> None:
        """Connects ``users`` to the registers of a channel."""
        config = self.config
        for target in self.members:
            if config.sideband_registers:
                fields = getattr(registers, f"{target}_sideband")
            else:
                fields = {
                    name: C(value, bits) for name, (bits, value) in config.sideband.values(target).items()
                }
            owner = registers.ring_owner if target == "ring" and config.records.owner_bits else C(0, 0)
            names = _variable(config, "dev" if target == "dev" else "host")
            m.d.comb += users[target].eq(Cat(*(fields[name] for name in names), owner))


#: Makes the user bits of an address.
User = Callable[[data.View], Value]


def data_user(config: EngineConfig, port: str, users: Sequence[data.View]) -> User:
    """For addresses of data, which carry their owner and pair number; ``users`` has one entry for each pair."""
    owner_bits = config.records.owner_bits

    def user(address: data.View) -> Value:
        sideband = _of_pair(address.user[owner_bits:], [each[port] for each in users])
        return Cat(sideband, address.user[:owner_bits])

    return user


def list_user(config: EngineConfig, users: Sequence[data.View]) -> User:
    """For addresses of page lists, which carry their owner and pair number, if there are several pairs."""
    return lambda address: _of_pair(address.user[config.records.owner_bits :], [each.ring for each in users])


def ring_user(users: Sequence[data.View]) -> User:
    """For addresses of rings, whose ID is the queue, and of messages, whose ID is the channel; ``users`` has one entry for
    each."""
    return lambda address: _of_pair(address.id, [each.ring for each in users])


def _of_pair(number: Value, values: Sequence[Value]) -> Value:
    """The value of the pair, or of the queue, with that number."""
    if len(values) == 1:
        return values[0]
    return one_of(*((number == index, value) for index, value in enumerate(values)))


def connect_with_user(m: Module, inner: Any, outer: Any, user: User) -> None:
    """Connects the ports ``inner`` to ``outer``; ``user`` makes the user bits of each address from those at ``inner``."""
    for one, other in zip(each_port(inner), each_port(outer), strict=True):
        for name in one.signature.members:
            near, far = getattr(one, name), getattr(other, name)
            if name in ("ar", "aw"):
                _pass_address(m, near, far, user)
            else:
                wiring.connect(m, near, wiring.flipped(far))


def _pass_address(m: Module, near: stream.Interface, far: stream.Interface, user: User) -> None:
    """Connects the addresses, with the ``user`` bits."""
    m.d.comb += [far.payload[name].eq(near.payload[name]) for name in ("id", "address", "len", "size")]
    m.d.comb += [
        far.payload.user.eq(user(near.payload)),
        far.valid.eq(near.valid),
        near.ready.eq(far.ready),
    ]


def host_ports(config: EngineConfig, id_bits: int) -> tuple[ReadPort, WritePort]:
    """Both halves of the host port."""
    host = (config.host_data_bits, config.host_address_bits)
    user_bits = UserLayout(config, "host").size
    return ReadPort(*host, id_bits, user_bits), WritePort(*host, config.moved_bits, id_bits, user_bits)
