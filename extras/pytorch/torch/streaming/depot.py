"""Tensors that change: they go to the host in one block, compressed, and come back ahead of who needs them."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from cdma.hdl.spec.format import Format
from cdma.torch.memory import layout_of
from cdma.torch.swapping.link import Copy, Link

from .bundle import Bundle, bundled
from .codecs import Chosen, Codec, chosen
from .report import StreamReport

__all__ = ["Depot", "Held"]

#: Formats are fitted anew when tensors have left so many times.
_REFRESH = 16
#: Memory of the host is taken with room for streams that are longer by this part.
_MARGIN = 16


@dataclass(eq=False)
class Held:
    """Tensors on the host.

    ``block``
        Memory there, which begins with what ``sent`` has brought and ``bundle`` describes.
    ``coming``
        The copy with which they come back; None before that has been asked for.
    ``times``
        How often they have left.
    """

    bundle: Bundle
    block: Tensor
    sent: Copy
    coming: Copy | None = None
    times: int = 1


class Depot:
    """The way of tensors to the host and back.

    ``ahead``
        How many blocks may be on their way to the host; for one more the first is waited for.
    """

    def __init__(
        self, device: torch.device, link: Link, codec: Codec, ahead: int, format: Format | None, *, raw: bool
    ) -> None:
        self.device, self._link, self._codec = device, link, codec
        self._ahead, self._format, self._raw = ahead, format, raw
        self._leaving: deque[Copy] = deque()
        self._coming: set[Copy] = set()
        self._waits: list[tuple[str, Any, Any]] = []
        self._fetches = self._moved = self._left = self._late = 0

    def put(self, tensors: Sequence[Tensor], before: Held | None = None) -> Held:
        """Has tensors leave; ``before`` is what they were on the host until now, whose memory they take."""
        flats = [layout_of(tensor.detach())[0]() for tensor in tensors]
        bundle = bundled(tensors, self._choices(flats, before), self._codec)
        while len(self._leaving) >= self._ahead:
            self._leaving.popleft().synchronize()
        staging = torch.empty(bundle.held, dtype=torch.uint8, device=self.device)
        bundle.pack(flats, self._codec, staging)
        if before is not None and before.block.numel() >= bundle.held:
            block = before.block
        else:
            block = self._link.memory(bundle.held + (bundle.held // _MARGIN if before is not None else 0))
        sent = self._link.out([(staging, block[: bundle.held])])
        self._leaving.append(sent)
        self._left += bundle.held
        return Held(bundle, block, sent, times=before.times + 1 if before is not None else 1)

    def fetch(self, held: Held) -> None:
        """Has tensors come, if they are not on their way; behind the copy with which they left."""
        if held.coming is None:
            held.coming = self._link.back(held.block[: held.bundle.held], held.sent)
            self._coming.add(held.coming)
            self._fetches += 1
            self._moved += held.bundle.held

    def get(self, held: Held, name: str) -> list[Tensor]:
        """The tensors, in memory of the device that is theirs; what is computed next waits for them under this name."""
        self._late += held.coming is None
        self.fetch(held)
        copy, held.coming = held.coming, None
        assert copy is not None
        self._coming.remove(copy)
        begin = self._link.mark()
        copy.wait()
        self._waits.append((name, begin, self._link.mark()))
        memory = copy.target
        if held.bundle.is_packed:
            memory = torch.empty(held.bundle.expanded, dtype=torch.uint8, device=self.device)
            held.bundle.expand(self._codec, copy.target, memory)
        return held.bundle.tensors(memory)

    def settle(self, everything: Sequence[Held] = ()) -> list[tuple[str, float]]:
        """Waits for what is computed; the seconds that it has waited for tensors since the last time, by their names.

        Raises :class:`.CorruptStream` if a stream did not come as it left, which is one of ``everything``.
        """
        verdict = self._codec.verdict()
        if self.device.type == "cuda":
            torch.cuda.current_stream(self.device).synchronize()
        if verdict is not None and int(verdict):
            for held in everything:
                held.bundle.check(self._codec, held.block.to(self.device))
        waits, self._waits = self._waits, []
        return [(name, self._link.seconds(begin, end)) for name, begin, end in waits]

    def count(self, report: StreamReport) -> None:
        """Writes into a report what has moved."""
        report.fetches, report.moved = self._fetches, self._moved
        report.left, report.late = self._left, self._late

    def synchronize(self) -> None:
        """Returns when nothing is on its way."""
        for copy in (*self._leaving, *self._coming):
            copy.synchronize()

    def _choices(self, flats: Sequence[Tensor], before: Held | None) -> list[Chosen]:
        """How elements are held: in the format in which they were until now, or one that is fitted to them."""
        if self._raw:
            return [Chosen(None, flat.nbytes) for flat in flats]
        if before is None or before.times % _REFRESH == 0 or len(before.bundle.pieces) != len(flats):
            return [chosen(self._codec, flat, self._format) for flat in flats]
        return [
            Chosen(None, flat.nbytes)
            if piece.chosen.format is None
            else chosen(self._codec, flat, piece.chosen.format)
            for flat, piece in zip(flats, before.bundle.pieces, strict=True)
        ]
