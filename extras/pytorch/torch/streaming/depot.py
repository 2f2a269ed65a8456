"""Tensors on the host: they go there in one block, compressed, and come back ahead of who needs them."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from cdma.hdl.spec.format import Format
from cdma.torch.coded import Codec, Expected
from cdma.torch.ledger import Arriving, Mail
from cdma.torch.transport import Copy, Transport, WrongReturn

from .units import Bundle, StreamReport, bundled, elements_of, fitted

#: Formats are fitted anew when tensors have left so many times.
_REFRESH = 16
#: Memory of the host is taken with room for streams that are longer by this part.
_MARGIN = 16
#: Rounds of which the device's verdict is not there yet; then the oldest is waited for.
ROUNDS = 2


@dataclass(eq=False)
class Held:
    """Tensors on the host.

    ``block``: Memory there, which begins with what ``sent`` has brought and ``bundle`` describes.
    ``coming``: The copy with which they come back; None before that has been asked for.
    ``expected``: What is expected of the stream of each.
    ``times``: How often they have left.
    ``elements``, ``lengths``: As long as it is not known whether the streams had room: the elements of each, and the
        lengths on their way to the host.
    """

    bundle: Bundle
    block: Tensor
    sent: Copy
    expected: list[Expected]
    times: int = 1
    coming: Copy | None = None
    elements: list[Tensor] = field(default_factory=list)
    lengths: Arriving | None = None


class Depot:
    """The way of tensors to the host and back.

    ``ahead``: Of how many blocks copies to the host, and lengths, may be on their way; behind more of them what is computed
        waits for the first.
    """

    def __init__(
        self, transport: Transport, codec: Codec, ahead: int, format: Format | None, *, raw: bool
    ) -> None:
        self.transport, self.device, self.codec = transport, transport.device, codec
        self._ahead, self._format, self._raw = ahead, format, raw
        self._leaving: deque[Copy] = deque()
        self._doubts: deque[Held] = deque()
        self._coming: set[Held] = set()
        self._spare: list[Mail] = []
        # Waits of this round, and of those whose end the device has not passed, with the verdicts on their streams.
        self._waits: list[tuple[str, Any, Any]] = []
        self._rounds: deque[tuple[list[tuple[str, Any, Any]], Tensor | None, Any]] = deque()
        self.report = StreamReport()

    @property
    def coming(self) -> int:
        """How many blocks have been asked for, and not been taken."""
        return len(self._coming)

    def expected(self, tensors: Sequence[Tensor]) -> list[Expected]:
        """What is expected of the stream of each; waits for the device."""
        flats = (elements_of(tensor).to(self.device) for tensor in tensors)
        if self._raw:
            return [Expected(None, flat.nbytes, flat.nbytes) for flat in flats]
        return [fitted(self.codec, flat, self._format) for flat in flats]

    def put(
        self, tensors: Sequence[Tensor], before: Held | None = None, expected: list[Expected] | None = None
    ) -> Held:
        """Has tensors leave.

        ``before``: What they were on the host until now, whose memory they take. Nothing waits then for how long their
            streams are, but when formats are fitted anew.
        ``expected``: What is known of their streams, which have these lengths.
        """
        known = before is not None and len(before.expected) == len(tensors) and before.times % _REFRESH
        if known:
            assert before is not None
            expected = before.expected
        elif expected is None:
            expected = self.expected(tensors)
        flats = [elements_of(tensor).to(self.device) for tensor in tensors]
        bundle = bundled(tensors, expected, self.codec, exact=not known)
        block = None if before is None else before.block
        times = 1 if before is None else before.times + 1
        held, lengths = self._sent(flats, bundle, expected, block, times)
        if known and lengths:
            held.elements, held.lengths = flats, Arriving(torch.stack(lengths), self._spare)
            self._doubts.append(held)
        while self._doubts and (len(self._doubts) > self._ahead or self._is_known(self._doubts[0])):
            self._settle_lengths(self._doubts.popleft())
        return held

    def _sent(
        self, flats: list[Tensor], bundle: Bundle, expected: list[Expected], block: Tensor | None, times: int
    ) -> tuple[Held, list[Tensor]]:
        """Tensors on their way, and the lengths of their streams."""
        while len(self._leaving) >= self._ahead:
            self._leaving.popleft().wait()
        staging = torch.empty(bundle.held, dtype=torch.uint8, device=self.device)
        lengths = bundle.pack(flats, self.codec, staging)
        if block is None or block.numel() < bundle.held:
            block = self.transport.memory(bundle.held + (bundle.held // _MARGIN if times > 1 else 0))
        sent = self.transport.out([(staging, block[: bundle.held])])
        self._leaving.append(sent)
        self.report.left += bundle.held
        return Held(bundle, block, sent, expected, times), lengths

    @staticmethod
    def _is_known(held: Held) -> bool:
        return held.lengths is None or held.lengths.query()

    def _settle_lengths(self, held: Held) -> None:
        """Lets go of elements whose streams are whole; else they go again, with the space that they need."""
        if held.lengths is None:
            return
        lengths, elements = iter(held.lengths.wait()), held.elements
        held.lengths, held.elements = None, []
        short = False
        for piece in held.bundle.pieces:
            if piece.format is not None:
                length = next(lengths)
                piece.expected.was(length)
                short |= length > piece.space
        if short:
            self.report.again += 1
            tensors = held.bundle.over(elements)
            bundle = bundled(tensors, held.expected, self.codec, exact=True)
            again, _ = self._sent(elements, bundle, held.expected, held.block, held.times)
            held.bundle, held.block, held.sent = again.bundle, again.block, again.sent

    def fetch(self, held: Held) -> None:
        """Has tensors come, if they are not there or on their way; behind the copy with which they left."""
        if held.lengths is not None and held.lengths.query():
            self._settle_lengths(held)
        if held.coming is None and held.lengths is None:
            held.coming = self.transport.back(held.block[: held.bundle.held], held.sent.end)
            self._coming.add(held)
            self.report.fetches += 1
            self.report.moved += held.bundle.held

    def drop(self, held: Held) -> None:
        """Nobody needs what is coming."""
        held.coming = None
        self._coming.discard(held)

    def get(self, held: Held, name: str) -> list[Tensor]:
        """The tensors, in memory of the device that is theirs; what is computed next waits for them under this name."""
        if held.lengths is not None:
            elements, held.lengths, held.elements = held.elements, None, []
            return held.bundle.over(elements)
        self.report.late += held.coming is None
        self.fetch(held)
        copy = held.coming
        assert copy is not None
        self.drop(held)
        begin = self.transport.mark()
        arrived = memory = copy.take()
        self._waits.append((name, begin, self.transport.mark()))
        if held.bundle.is_packed:
            memory = torch.empty(held.bundle.expanded, dtype=torch.uint8, device=self.device)
            held.bundle.expand(self.codec, arrived, memory)
        return held.bundle.tensors(memory)

    def turn(self) -> None:
        """A round ends; the verdict on its streams is on its way."""
        waits, self._waits = self._waits, []
        self._rounds.append((waits, self.codec.verdict(), self.transport.mark()))

    def settle(self, everything: Sequence[Held], most: int = 0) -> None:
        """Enters the waits of rounds that have ended in the report, until at most so many are left.

        Raises :class:`.CorruptStream` if a stream did not come as it left, which is one of ``everything``: one error for all
        rounds until now, and what is on its way comes anew.
        """
        while self._rounds and (len(self._rounds) > most or self._rounds[0][2].query()):
            waits, verdict, passed = self._rounds.popleft()
            passed.synchronize()
            for name, begin, end in waits:
                seconds = self.transport.seconds(begin, end)
                self.report.rows[name].wait += seconds
                self.report.wait += seconds
            if verdict is not None and int(verdict):
                self._rounds.clear()
                for held in everything:
                    self.drop(held)
                for held in everything:
                    held.bundle.check(self.codec, held.block[: held.bundle.held].to(self.device))
                raise WrongReturn("tensors came to the device other than they are on the host")

    def synchronize(self) -> None:
        """Returns when nothing is on its way."""
        for copy in (*self._leaving, *(held.coming for held in self._coming)):
            if copy is not None:
                copy.end.synchronize()
