"""What the stages of a channel's data have for the rest of the channel, however many ports of device memory there are."""

from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.axi.command import Command
from cdma.hdl.axi.outcome import Outcome
from cdma.hdl.axi.ports import ReadPort
from cdma.hdl.axi.span import SPAN_BITS
from cdma.hdl.blocks.crc32c import CRC_BITS
from cdma.hdl.codec.parts.streams import Error
from cdma.hdl.engine.pages.page_walk import PageWindow
from cdma.hdl.engine.shapes.layout import WalkLayout
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.pages import PAGE_LOG2
from cdma.hdl.spec.records import STEP_BITS

from .codec_switch import Route

__all__ = ["Verdict", "list_port", "path_members"]

#: The part of a codec's report that the completion of a descriptor needs.
Verdict = data.StructLayout({"literals": 32, "error": Error})


def list_port(config: EngineConfig) -> ReadPort:
    """The AXI4 port for lists of pages: with several pairs an address says whose the list is."""
    options = config.records
    return ReadPort(
        config.host_data_bits,
        config.host_address_bits,
        owner_bits=options.tag_bits if options.pair_bits else 0,
    )


def path_members(
    config: EngineConfig, read_address_bits: int, write_address_bits: int, *, compressing: bool = True
) -> dict[str, wiring.Member]:
    """The members of a data path but for its AXI4 ports; see :class:`~cdma.hdl.engine.path.data_path.DataPath`."""
    read, write = (
        Command(
            bits,
            *(("shaped",) if device and config.dimensions else ()),
            pages=bits - PAGE_LOG2 if config.pages and not device else 0,
            owner=config.records.tag_bits,
        )
        for bits, device in ((read_address_bits, compressing), (write_address_bits, not compressing))
    )
    return {
        **({"shapes": In(stream.Signature(WalkLayout))} if config.dimensions else {}),
        **(
            {
                "lists": Out(list_port(config)),
                "window": Out(PageWindow(config.records.pair_bits)),
            }
            if config.pages
            else {}
        ),
        "read": In(stream.Signature(read)),
        **({"step": In(stream.Signature(STEP_BITS))} if config.records.lossy else {}),
        "route": In(stream.Signature(Route(config.tail_bits))),
        "write": In(stream.Signature(write)),
        "read_outcome": Out(Outcome(read_address_bits)),
        "report": Out(stream.Signature(Verdict)),
        **({"crc": Out(stream.Signature(CRC_BITS))} if config.crc else {}),
        "write_outcome": Out(Outcome(write_address_bits)),
        "ahead": In(1),
        "overflow": Out(1),
        "end": Out(SPAN_BITS),
        "values": In(data.ArrayLayout(config.format.entry_bits, config.codec.table_size)),
        "flush": In(1),
        "read_idle": Out(1),
        "write_idle": Out(1),
        "read_progress": Out(1),
        "write_progress": Out(1),
        "mark": In(1),
        "starved": Out(1),
        "refused": Out(1),
        "blocked": Out(1),
    }
