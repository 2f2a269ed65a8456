"""Whose a transfer is, as Amaranth layouts; what the fields mean stands in :mod:`~cdma.hdl.spec.options`. Descriptors and
completions as Amaranth layouts; what the fields mean stands in :mod:`~cdma.hdl.spec.records`. What controls a
channel, what it shows of itself, and how it reads its address windows.
"""

from __future__ import annotations

from collections.abc import Iterable

from amaranth.hdl import Cat, Module, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.blocks.elaboration import NamedValues, optional
from cdma.hdl.engine.shapes.segments import ShapeLayout
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.options import owner_mask
from cdma.hdl.spec.records import (
    Mode,
    RecordField,
    RecordOptions,
    Status,
    completion_fields,
    descriptor_fields,
)
from cdma.hdl.spec.registers.description import REGISTER_BITS


class OwnerLayout(data.StructLayout):
    """An owner by its fields, without the bits that an engine with ``options`` does not have."""

    def __init__(self, options: RecordOptions) -> None:
        super().__init__({name: bits for name, (_, bits) in options.owner_fields.items()})


def owner_in(word: Value, options: RecordOptions) -> Value:
    """The bits of an :class:`OwnerLayout` in a word as descriptors and registers have it."""
    return Cat(word[lsb : lsb + bits] for lsb, bits in options.owner_fields.values())


def stray_owner(word: Value, owned: Value, options: RecordOptions) -> Value:
    """Whether a descriptor says an owner and is not ``owned``, or one that the engine does not have, or a substream that is
    not valid."""
    fields = options.owner_fields
    strays = (word & ~owner_mask(fields)).any() | (~owned & word.any())
    if "substream" in fields:
        lsb, bits = fields["substream"]
        strays |= ~word[fields["substream_valid"][0]] & word[lsb : lsb + bits].any()
    return strays


_MODE_BITS = _STATUS_BITS = 8
#: A :class:`~cdma.hdl.spec.records.Status` in hardware.
StatusShape = NamedValues(_STATUS_BITS, "Status", Status)
#: The fields whose values have names.
_NAMED = {"status": StatusShape, "mode": NamedValues(_MODE_BITS, "Mode", Mode)}


def _members(record: tuple[RecordField, ...]) -> dict[str, int | NamedValues]:
    return {field.name: _NAMED.get(field.name, field.bits) for field in record}


class Descriptor(data.StructLayout):
    """64 bytes, as they lie in memory, of an engine with ``options``."""

    def __init__(self, options: RecordOptions) -> None:
        super().__init__(_members(descriptor_fields(options)))


class Completion(data.StructLayout):
    """64 bytes, as they lie in memory, of an engine with ``options``."""

    def __init__(self, options: RecordOptions) -> None:
        super().__init__(_members(completion_fields(options)))


class Delivered(data.StructLayout):
    """A completion, and whether it counts towards the interrupt."""

    def __init__(self, options: RecordOptions) -> None:
        super().__init__({"completion": Completion(options), "interrupt": 1})


class Done(data.StructLayout):
    """A completion with what belongs to it: whether it counts towards the interrupt, its raw words, and whether they went
    through the codec."""

    def __init__(self, options: RecordOptions) -> None:
        super().__init__({"completion": Completion(options), "interrupt": 1, "words": 32, "coded": 1})


class Request(data.StructLayout):
    """What a channel takes: a descriptor. Where it could not be fetched, ``fault`` is the
    :class:`~cdma.hdl.spec.records.Status` of that and ``address`` is where it lies; logic that drives a channel itself
    leaves both at 0. ``extension`` is that of a descriptor that is ``shaped``."""

    def __init__(self, options: RecordOptions) -> None:
        extension = {"extension": ShapeLayout} if options.dimensions else {}
        super().__init__(
            {"descriptor": Descriptor(options), "fault": StatusShape, "address": 64, **extension}
        )


class ExtensionPort(wiring.Signature):
    """Which half of a request is needed, seen from who has it: two bits of an engine with shapes.

    ``wants_extension``: The extension is needed: where both lie in one memory, the descriptor need not be shown.
    ``extended``: The extension is shown. While it is low, the descriptor is.
    """

    def __init__(self, options: RecordOptions) -> None:
        bits = int(options.dimensions > 0)
        super().__init__({"wants_extension": In(bits), "extended": Out(bits)})


assert max(Status) < 1 << _STATUS_BITS


#: The channels of an engine, in the order of their numbers.
CHANNELS = ("offload", "prefetch")


class ChannelEvents(data.StructLayout):
    """What the counters count: how often each happens in a cycle, at most once but for beats, of which each of several
    ``ports`` may have one. See :mod:`~cdma.hdl.spec.options`."""

    def __init__(self, ports: int = 1) -> None:
        super().__init__(
            {
                "in_flight": 1,
                "read_beat": range(ports + 1),
                "write_beat": range(ports + 1),
                "stall_source": 1,
                "stall_codec": 1,
                "stall_sink": 1,
            }
        )


#: ``busy``: a descriptor is in flight, or a ring has one. ``halted``: nothing is started until ``resume``, after an
#: error or an abort. ``aborting``: the open transactions of an abort are being finished, or its completions have not
#: left. ``stuck``: the watchdog has
#: fired, and a port has not answered since.
ChannelStatus = data.StructLayout({"busy": 1, "halted": 1, "aborting": 1, "stuck": 1})

#: One half of the addresses of a window: ``high`` or low, of the port that the channel writes (``write``) or reads.
WindowHalf = data.StructLayout({"high": 1, "write": 1})


class WindowPort(wiring.Signature):
    """How a channel's checker reads its two windows, seen from the checker.

    ``at``: The half that is asked for.
    ``base``: The half that was asked for one cycle before. The low 12 bits of a base are 0.
    ``limit``: The half that was asked for two cycles before, because a sum is compared with it a cycle later. The low
        12 bits of a limit are ones.
    """

    def __init__(self) -> None:
        super().__init__({"at": Out(WindowHalf), "base": In(REGISTER_BITS), "limit": In(REGISTER_BITS)})


class ChannelControl(wiring.Signature):
    """What controls a channel, seen from the logic that does. Every signature of a channel has these members."""

    def __init__(self, config: EngineConfig) -> None:
        super().__init__(
            {
                "enable": Out(1),  # while low, no new descriptor is started
                "halt_on_error": Out(1),  # after an error, no new descriptor is started until resume
                "resume": Out(1),  # pulse
                "abort": Out(1),  # pulse
                "values": Out(data.ArrayLayout(config.format.entry_bits, config.codec.table_size)),
                # Those bits of a descriptor's owner that the mask has must be those of the value.
                **optional(config.records.owner_bits, owner_value=Out(32), owner_mask=Out(32)),
            }
        )


class ChannelDriver(wiring.Signature):
    """All that drives a channel, seen from the logic that does. Every channel has these members.

    ``requests``, ``checking``: The next descriptor. It stays while it is checked. See :class:`ExtensionPort` for its
        extension.
    ``done``: The completions.
    ``pair``: Whose the request is, in an engine with several pairs whose addresses need that.
    ``halt``: Pulse: halts the channel as an error does.
    ``stop``, ``stopped``: As an abort without completions; and nothing is in flight then, so that the channel may be
        reset.
    ``status``, ``events``: What the channel shows, and what the counters count.
    ``windows``: The address windows of the pair, for the check.
    ``page_windows``, ``page_pair``: With ``config.pages``: those that lists and pages must be inside, and whose these
        are.
    """

    def __init__(self, config: EngineConfig) -> None:
        pair_bits = config.records.pair_bits
        pages = {"page_windows": In(WindowPort()), "page_pair": In(pair_bits)}
        super().__init__(
            {
                **ChannelControl(config).members,
                "requests": Out(stream.Signature(Request(config.records))),
                "checking": In(1),
                **ExtensionPort(config.records).members,
                "done": In(stream.Signature(Done(config.records))),
                "pair": Out(pair_bits),
                "halt": Out(1),
                "stop": Out(1),
                "stopped": In(1),
                "status": In(ChannelStatus),
                "events": In(ChannelEvents(config.units)),
                **optional(config.windows, windows=In(WindowPort())),
                **(pages if config.pages else {}),
            }
        )


def connect_members(
    m: Module, names: Iterable[str], first: wiring.PureInterface, second: wiring.PureInterface
) -> None:
    """Connects the members of these names of two interfaces that have others besides."""
    names = list(names)
    wiring.connect(m, _Part(names, first), _Part(names, second))


class _Part:
    """Some members of an interface, as an interface of their own."""

    def __init__(self, names: list[str], interface: wiring.PureInterface) -> None:
        self.signature = wiring.Signature({name: interface.signature.members[name] for name in names})
        for name in names:
            setattr(self, name, getattr(interface, name))
