"""The sizes that follow from an engine's parameters for a channel with several units."""

from __future__ import annotations

from dataclasses import dataclass, replace

from amaranth.utils import exact_log2

from cdma.hdl.axi.port_shape import PortShape
from cdma.hdl.spec.engine import EngineConfig

from .stripes import Stripe

__all__ = ["UnitPlan"]


@dataclass(frozen=True)
class UnitPlan:
    """What the blocks of a channel with several units must know.

    ``config``
        The engine.
    ``dev``, ``host``
        The ports, as this channel uses them.
    """

    config: EngineConfig
    dev: PortShape
    host: PortShape

    @property
    def units(self) -> int:
        """Number of units."""
        return self.config.units

    @property
    def stripe(self) -> Stripe:
        """What a unit gets of a descriptor."""
        return Stripe(
            self.dev.address_bits,
            self.units,
            self.stripe_words,
            self.dev.owner_bits,
            self.config.tail_bits,
            shaped=self.shaped,
        )

    @property
    def shaped(self) -> bool:
        """Whether descriptors may have shapes."""
        return self.config.dimensions > 0

    @property
    def word_log2(self) -> int:
        """Bits of an address below the raw word."""
        return exact_log2(self.config.format.word_bits // 8)

    @property
    def stripe_words(self) -> int:
        """Raw words of a stripe."""
        return self.config.stripe_bytes * 8 // self.config.format.word_bits

    @property
    def place_bits(self) -> int:
        """Bits of an address below the stripe."""
        return exact_log2(self.config.stripe_bytes)

    @property
    def unit_port(self) -> PortShape:
        """The device port as a unit uses it: no command leaves its stripe.

        A bit above the stripe and above the longest burst is counted too, so that the end of a stripe is not taken for its
        beginning, and there is more than one block.
        """
        block_bits = exact_log2(self.dev.burst * self.dev.data_bits // 8)
        return replace(self.dev, span_bits=max(self.place_bits, block_bits) + 1, contained=True, rows=False)

    @property
    def in_flight(self) -> int:
        """The most stripes that a unit has in flight, a power of two: as many as its buffers hold, and four more."""
        config = self.config
        beats = self.dev.buffer + config.piece_beats
        stripes = beats * self.dev.data_bits // 8 // config.stripe_bytes + 4
        return 1 << (stripes - 1).bit_length()

    @property
    def total_in_flight(self) -> int:
        """Room for the stripes that all units have in flight, a power of two."""
        return 1 << (self.units * self.in_flight - 1).bit_length()
