"""The Verilog of a compressor or a decompressor."""

from __future__ import annotations

from cdma.hdl.spec.checks import check_choice
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.codecs import BLOCKS, codec_of
from cdma.hdl.verilog.emit import Verilog, emit, module_prefix
from cdma.hdl.verilog.style import PLAIN, Style

from .parts.memories import PURPOSES
from .shell import CodecShell

__all__ = ["codec_design", "codec_shell", "codec_verilog"]


def codec_shell(kind: str, config: CodecConfig) -> CodecShell:
    """The compressor or the decompressor of ``config`` with its AXI-Stream ports."""
    check_choice("kind", kind, BLOCKS)
    block = codec_of(config.format).load(kind)
    return CodecShell(block(config), config)


def codec_verilog(
    kind: str,
    config: CodecConfig,
    *,
    name: str | None = None,
    prefix: str | None = None,
    init: bool = True,
    memories: str = "wrap",
) -> str:
    """The text of :func:`codec_design`."""
    return codec_design(kind, config, name=name, prefix=prefix, init=init, memories=memories).text


def codec_design(
    kind: str,
    config: CodecConfig,
    *,
    name: str | None = None,
    prefix: str | None = None,
    init: bool = True,
    memories: str = "wrap",
    style: Style = PLAIN,
) -> Verilog:
    """The Verilog of a ``compressor`` or ``decompressor``, called ``cdma_KIND`` by default, and its memories."""
    name = f"cdma_{kind}" if name is None else name
    module_prefix(name, prefix)
    return emit(
        codec_shell(kind, config),
        name,
        prefix=prefix,
        init=init,
        memories=memories,
        style=style,
        purposes=PURPOSES,
        title=f"streaming {kind} with AXI-Stream ports",
        parameters=config.describe(),
    )
