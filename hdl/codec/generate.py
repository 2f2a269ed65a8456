"""The Verilog of a compressor or a decompressor."""

from __future__ import annotations

from importlib import import_module

from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.errors import ParameterError
from cdma.hdl.verilog.emit import emit, module_prefix

from .shell import CodecShell

__all__ = ["codec_shell", "codec_verilog"]


#: What a codec block is: its class's module and name.
_CODECS = {"compressor": "Compressor", "decompressor": "Decompressor"}


def codec_shell(kind: str, config: CodecConfig) -> CodecShell:
    """The compressor or the decompressor of ``config`` with its AXI-Stream ports."""
    if kind not in _CODECS:
        raise ParameterError(f"kind is {kind!r}; it must be one of {', '.join(_CODECS)}")
    block = getattr(import_module(f".{kind}", __package__), _CODECS[kind])
    return CodecShell(block(config), config)


def codec_verilog(
    kind: str, config: CodecConfig, *, name: str | None = None, prefix: str | None = None, init: bool = True
) -> str:
    """The Verilog of a ``compressor`` or ``decompressor``, called ``cdma_KIND`` by default."""
    name = f"cdma_{kind}" if name is None else name
    module_prefix(name, prefix)
    values = ", ".join(f"{value:#x}" for value in config.format.values)
    return emit(
        codec_shell(kind, config),
        name,
        prefix=prefix,
        init=init,
        title=f"streaming {kind} with AXI-Stream ports",
        parameters={
            "word bits": config.format.word_bits,
            "lanes": config.lanes,
            "window": config.format.window,
            "code bits": config.format.code_bits,
            "values": f"{config.table_size} at run time" if config.runtime_values else values,
            **({"pipelined": "yes"} if config.pipelined else {}),
        },
    )
