"""Which proofs are about a design: those of blocks that are in it, built as they are proven."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set

from amaranth.hdl import Elaboratable, Fragment

from cdma.hdl.axi.arbiter import ReadArbiter, WriteArbiter
from cdma.hdl.axi.reader import AxiReader
from cdma.hdl.axi.writer import AxiWriter
from cdma.hdl.blocks.beat_slice import BeatSlice
from cdma.hdl.blocks.counter import WideCounter
from cdma.hdl.blocks.credit import Credit
from cdma.hdl.blocks.elastic_buffer import ElasticBuffer
from cdma.hdl.blocks.fifo import Fifo
from cdma.hdl.blocks.memory_queue import MemoryQueue
from cdma.hdl.blocks.realign import Realign
from cdma.hdl.blocks.skid_buffer import SkidBuffer
from cdma.hdl.blocks.stream_register import StreamRegister
from cdma.hdl.blocks.width import Narrow, Widen
from cdma.hdl.codec.compressor import Compressor
from cdma.hdl.codec.decompressor import Decompressor
from cdma.hdl.codec.parts.packer import Packer
from cdma.hdl.codec.plain.beat_queue import BeatQueue
from cdma.hdl.codec.plain.compressor import PlainCompressor
from cdma.hdl.codec.plain.decompressor import PlainDecompressor
from cdma.hdl.codec.plain.window_store import WindowStore
from cdma.hdl.codec.shell import CodecShell
from cdma.hdl.engine.channel.channel import Channel
from cdma.hdl.engine.channel.checker import Checker
from cdma.hdl.engine.channel.completer import Completer
from cdma.hdl.engine.channel.slots import Slots
from cdma.hdl.engine.control.register_file import RegisterFile
from cdma.hdl.engine.engine import Engine
from cdma.hdl.engine.rings.rings import Rings
from cdma.hdl.engine.rings.slot import RingSlot
from cdma.hdl.lossy.dequantiser import Dequantiser
from cdma.hdl.lossy.quantiser import Quantiser
from cdma.hdl.lossy.restoring import Restoring
from cdma.hdl.lossy.rounding import Rounding
from cdma.hdl.lossy.scaling import Scaling
from cdma.hdl.lossy.shell import StageShell
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.records import NO_OPTIONS
from cdma.hdl.spec.stage import StageConfig

from .equivalence import Equivalence
from .proof import Proof

__all__ = ["ABOUT", "codec_in", "is_about", "kinds_in"]

#: What a design is made from.
Config = CodecConfig | StageConfig | EngineConfig

#: The blocks that the proofs of each name are about. They say something of designs that have all of these; of ``lossless``
#: a design has one half.
ABOUT: Mapping[str, tuple[type[Elaboratable], ...]] = {
    "stream_register": (StreamRegister,),
    "skid_buffer": (SkidBuffer,),
    "elastic_buffer": (ElasticBuffer,),
    "beat_slice": (BeatSlice,),
    "fifo": (Fifo,),
    "memory_queue": (MemoryQueue,),
    "widen": (Widen,),
    "narrow": (Narrow,),
    "realign": (Realign,),
    "wide_counter": (WideCounter,),
    "credit": (Credit,),
    "axi_reader": (AxiReader,),
    "axi_reader_progress": (AxiReader,),
    "axi_writer": (AxiWriter,),
    "axi_writer_data": (AxiWriter,),
    "read_arbiter": (ReadArbiter,),
    "write_arbiter": (WriteArbiter,),
    "checker_rests": (Checker,),
    "checker_decides": (Checker,),
    "slots": (Slots,),
    "completer": (Completer,),
    "ring_slot": (RingSlot,),
    "rings": (Rings,),
    "channel": (Channel,),
    "registers_port": (RegisterFile,),
    "butterfly_concentrate": (Compressor,),
    "butterfly_expand": (Decompressor,),
    "window_store": (WindowStore,),
    "packer": (Packer, BeatQueue),
    "lossless": (),
    "compressor_pace": (PlainCompressor,),
    "compressor_any_stream": (PlainCompressor,),
    "decompressor": (PlainDecompressor,),
    "decompressor_any_stream": (PlainDecompressor,),
    "compressor_ports": (CodecShell, PlainCompressor),
    "decompressor_ports": (CodecShell, PlainDecompressor),
    "compressor_verilog": (CodecShell, PlainCompressor),
    "decompressor_verilog": (CodecShell, PlainDecompressor),
    "compressor_modules": (CodecShell, Compressor),
    "decompressor_modules": (CodecShell, Decompressor),
    "engine_modules": (Engine,),
    "quantiser_verilog": (StageShell, Quantiser),
    "dequantiser_verilog": (StageShell, Dequantiser),
    "quantised_bound": (Scaling, Rounding),
    "restored_exact": (Restoring,),
}


def codec_in(config: Config) -> CodecConfig | None:
    """The codec of a design, or None if it has none."""
    if isinstance(config, StageConfig):
        return None
    return config.codec if isinstance(config, EngineConfig) else config


def kinds_in(block: Elaboratable) -> frozenset[type]:
    """The kinds of the blocks that a block is made of, itself among them."""
    found: set[type] = set()
    left = [Fragment.get(block, None)]
    while left:
        fragment = left.pop()
        found.update(map(type, fragment.origins or ()))
        left += [inner for inner, *_ in fragment.subfragments]
    return frozenset(found)


def is_about(proof: Proof | Equivalence, config: Config, kinds: Set[type]) -> bool:
    """Whether a proof is about a block of a design, which is made of blocks of these ``kinds``, and about one that is built
    in the same way: other sizes are no matter, but what options add to a block is not in the proof without them."""
    if not kinds >= frozenset(ABOUT[proof.name]):
        return False
    built_so = _BUILT_SO.get(proof.name)
    return built_so is None or built_so(config, proof.config)


def _plain_format(config: Config, proven: str) -> bool:
    """The codecs of the proofs are not pipelined and have codes of whole words, no padding, and the queue that loses no
    cycle."""
    codec = codec_in(config)
    return (
        codec is not None
        and isinstance(codec.format, Format)
        and not codec.pipelined
        and codec.work_conserving
        and not codec.format.field_bits
        and codec.format.align_words == 1
    )


def _by_module(config: Config, proven: str) -> bool:
    """Codecs that are pipelined are compared module by module, and others whole."""
    codec = codec_in(config)
    return codec is not None and codec.pipelined


def _engine(
    *, options: bool = False, realign: bool = False, units: bool = False
) -> Callable[[Config, str], bool]:
    """Whether a design is an engine that is not pipelined and has nothing of all this but what is said."""

    def built_so(config: Config, proven: str) -> bool:
        return isinstance(config, EngineConfig) and (
            not config.pipelined
            and (options or config.records == NO_OPTIONS)
            and (realign or not config.realign)
            and (units or config.units == 1)
        )

    return built_so


def _reader(config: Config, proven: str) -> bool:
    """A reader of a pipelined engine has registers more, and there is a proof of it."""
    registered = proven.endswith(", registered")
    return isinstance(config, EngineConfig) and not config.realign and config.pipelined == registered


def _registers(config: Config, proven: str) -> bool:
    """A register file of a pipelined engine is a fast one."""
    return isinstance(config, EngineConfig) and config.pipelined == proven.endswith(", fast")


def _completer(config: Config, proven: str) -> bool:
    """The completer of the proof knows no padding."""
    codec = codec_in(config)
    return _engine(realign=True, units=True)(config, proven) and codec is not None and not codec.format.padded


def _channel(config: Config, proven: str) -> bool:
    """The channel of the proof has the codec of the proofs in it."""
    return _engine()(config, proven) and _plain_format(config, proven)


#: How a design must be built for a proof of the configuration in words to be about its block.
_BUILT_SO: Mapping[str, Callable[[Config, str], bool]] = {
    "axi_reader": _reader,
    "axi_reader_progress": _engine(options=True, units=True),
    "axi_writer": _engine(options=True, units=True),
    "axi_writer_data": _engine(options=True, units=True),
    "write_arbiter": _engine(options=True, realign=True, units=True),
    "checker_rests": _engine(realign=True, units=True),
    "checker_decides": _engine(realign=True, units=True),
    "slots": _engine(realign=True),
    "completer": _completer,
    "ring_slot": _engine(options=True, realign=True, units=True),
    "rings": _engine(realign=True, units=True),
    "channel": _channel,
    "registers_port": _registers,
    "window_store": _plain_format,
    "packer": _plain_format,
    "lossless": _plain_format,
    "compressor_pace": _plain_format,
    "compressor_any_stream": _plain_format,
    "decompressor": _plain_format,
    "decompressor_any_stream": _plain_format,
    "compressor_ports": _plain_format,
    "decompressor_ports": _plain_format,
    "compressor_modules": _by_module,
    "decompressor_modules": _by_module,
}
