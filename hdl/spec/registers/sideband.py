"""The registers of a channel's sideband signals."""

from __future__ import annotations

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.sideband import SIDEBAND_POSITIONS, SIDEBAND_TARGETS, SIDEBAND_USER_BITS

from .declare import register, rw
from .description import REGISTER_BYTES, Register

__all__ = ["sideband_registers"]

_BASE = 0x94
_TARGETS = dict(
    zip(
        SIDEBAND_TARGETS, ("data in device memory", "data in host memory", "the channel's rings"), strict=True
    )
)
_DOCS = {
    "cache": "AxCACHE.",
    "prot": "AxPROT.",
    "qos": "AxQOS.",
    "user": "AxUSER, of as many bits as `engine.host_port.user_bits`.",
}


def sideband_registers(config: EngineConfig, *, every: bool) -> list[Register]:
    """A register for each target of a channel, if the engine has them or with ``every``."""
    if not (config.sideband_registers or every):
        return []
    return [
        _sideband(config, target, _BASE + REGISTER_BYTES * index, every=every)
        for index, target in enumerate(SIDEBAND_TARGETS)
    ]


def _sideband(config: EngineConfig, target: str, offset: int, *, every: bool) -> Register:
    values = config.sideband.values(target)
    if every and "user" not in values:
        values["user"] = (SIDEBAND_USER_BITS, 0)
    return register(
        f"{target}_sideband",
        offset,
        f"What addresses of {_TARGETS[target]} say beside. What is written while `status.busy` is 1 waits until it is 0, so "
        "that nothing changes under way.",
        *(
            rw(name, SIDEBAND_POSITIONS[name], _DOCS[name], bits, reset=value)
            for name, (bits, value) in values.items()
        ),
    )
