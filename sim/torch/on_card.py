"""Tensors that stay on the card: their streams stand where they were, and nothing waits for the card but the first pass.

A stream needs space before its length is known, so the length of the last pass, and a little more, is taken for it. The
elements are there until the length has come: then they go, or the stream that did not fit is made again with its exact
size. How much may be there twice is bounded, by waiting for the oldest where the card is far behind.
"""

from __future__ import annotations

import threading
import weakref
from collections import defaultdict, deque
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from cdma.base.errors import CdmaError
from cdma.hdl.spec.format import Format
from cdma.sim.gpu.compress import analyse, compress
from cdma.sim.gpu.decompress import restored
from cdma.sim.gpu.fit import fit
from cdma.sim.gpu.packed import Packed
from cdma.sim.gpu.tensors import current

from .coded import lossless_format
from .keeping import Slot
from .ledger import Entry, Ledger

__all__ = ["Card", "KeptOnCard", "WrongStream", "held_by", "order", "work_on"]

#: Passes until a tensor's format, and whether one pays, is looked for again.
REFRESH = 100
#: The part of a pass's bytes that may be there twice.
_TWICE = 8
#: Space for a stream beyond its last length: a part of it.
_MARGIN = 128
#: Sizes of that space from one power of two to the next. A block of memory that was freed is of the size that is asked for.
_SIZES, _LEAST_STEP = 16, 512
#: How many copies of a tensor a card makes in the time in which one becomes a stream and comes back, by bytes of a word.
_COPIES = {1: 10, 2: 5, 4: 2}
#: The part of a tensor's bytes that a stream must save for the time of each copy.
_PRICE = 20
#: The part of its bytes that a stream must save whatever time it takes.
_LEAST_SAVED = 8


class WrongStream(CdmaError):
    """A stream on the card is no longer what was made there."""


@dataclass(slots=True)
class _Learnt:
    """What is known of a tensor of a pass: the format that it pays to take, if any, and how long its stream was."""

    format: Format | None
    length: int
    since: int


class KeptOnCard:
    """A tensor that autograd keeps: its elements, its stream, or both for a while."""

    def __init__(self, card: Card, slot: Slot, flat: Tensor) -> None:
        self.slot, self.dtype = slot, flat.dtype
        self.elements: Tensor | None = flat
        self.packed: Packed | None = None
        self.stream: Any = None
        self.entry: Entry
        self._card = card

    def restored(self) -> Tensor:
        """The elements, in one dimension. From now on they stay, for as long as autograd would have kept them."""
        return self._card.restored(self)


@dataclass(slots=True)
class _Waiting:
    """A stream whose length has not come to the host."""

    kept: weakref.ref[KeptOnCard]
    learnt: _Learnt
    raw: int
    length: _Arriving


class Card:
    """What :class:`.Saved` has of the tensors on cards.

    ``least_bytes``
        Tensors of fewer bytes are kept as they are.
    ``dense``
        Whether numbers of 16 bits become streams of their exponents, and time is no matter.
    """

    def __init__(self, ledger: Ledger, least_bytes: int, dense: bool) -> None:
        self._ledger, self._least, self._dense = ledger, least_bytes, dense
        self._learnt: dict[tuple[Slot, int, torch.dtype], _Learnt] = {}
        self._waiting: deque[_Waiting] = deque()
        self._twice = self._seen = self._pass = self._in_doubt = 0
        self._spare: defaultdict[torch.device, list[_Mail]] = defaultdict(list)
        self._faults: dict[torch.device, Tensor] = {}
        self._verdicts: list[_Arriving] = []
        self._lock = threading.RLock()

    def begin_pass(self) -> None:
        """A forward pass begins; this looks at the verdicts on the streams of the last but one."""
        with self._lock:
            verdicts, self._verdicts = (
                self._verdicts,
                [self._arriving(each) for each in self._faults.values()],
            )
            if any(verdict.wait() for verdict in verdicts):
                raise WrongStream("a stream on the card is no longer what was made there")
            self._pass += 1
            self._twice, self._seen = self._seen // _TWICE, 0

    def hold(self, flat: Tensor, slot: Slot) -> KeptOnCard:
        """Takes elements in one dimension."""
        kept, raw = KeptOnCard(self, slot, flat), flat.numel() * flat.element_size()
        with self._lock, current(flat.device):
            self._look()
            self._seen += raw
            learnt = self._known(flat, slot) if raw >= self._least else None
            if learnt is None or learnt.format is None:
                kept.entry = self._ledger.keep(kept, slot[0], raw, raw)
                return kept
            self._pack(kept, flat, learnt.format, _space(learnt.length + learnt.length // _MARGIN))
            assert kept.packed is not None
            kept.entry = self._ledger.keep(kept, slot[0], raw, held_by(kept.packed))
            self._ledger.there(kept.entry, raw + kept.entry.held)
            self._waiting.append(_Waiting(weakref.ref(kept), learnt, raw, self._arriving(kept.packed.length)))
            self._in_doubt += raw
            while self._in_doubt - raw > self._twice:
                self._settle(self._waiting.popleft())
        return kept

    def settle(self) -> None:
        """Waits for all lengths, so that nothing is there twice."""
        with self._lock:
            while self._waiting:
                self._settle(self._waiting.popleft())

    def restored(self, kept: KeptOnCard) -> Tensor:
        """The elements of a tensor, for the current stream of work."""
        with self._lock:
            self._look()
            packed, kept.packed = kept.packed, None
            if kept.elements is None:
                assert packed is not None
                device = packed.data.device
                with current(device):
                    order(kept.stream, packed.data, packed.index, packed.length)
                    kept.elements = restored(packed, self.fault(device)).view(torch.uint8).view(kept.dtype)
                    kept.stream = work_on(device)
            elif kept.stream is not None:
                order(kept.stream, kept.elements)
            self._ledger.there(kept.entry, kept.entry.raw)
            return kept.elements

    def fault(self, device: torch.device) -> Tensor:
        """A number of a card that becomes 1 where a stream is no longer what was made there."""
        if device not in self._faults:
            self._faults[device] = torch.zeros(1, dtype=torch.int32, device=device)
        return self._faults[device]

    def _known(self, flat: Tensor, slot: Slot) -> _Learnt:
        """What is known of a tensor; of a new one, and of all from time to time, all of it is looked at."""
        key = slot, flat.numel(), flat.dtype
        learnt = self._learnt.get(key)
        if learnt is None or self._pass - learnt.since >= REFRESH:
            formats = [lossless_format(flat.dtype)]
            # A quarter of the bytes for the time of nine copies is not worth it, but to who needs the memory.
            if self._dense and flat.dtype in (torch.bfloat16, torch.float16):
                formats.append(fit(flat, Format.preset("bf16")))
            found = [(analyse(flat, format).compressed_bytes, format) for format in formats]
            length, format = min(found, key=lambda each: each[0])
            paying = self._pays(length, flat.numel() * flat.element_size(), format)
            learnt = self._learnt[key] = _Learnt(format if paying else None, length, self._pass)
        return learnt

    def _pays(self, length: int, raw: int, format: Format) -> bool:
        """Whether a stream is so much shorter that its time is worth it."""
        least = raw // _LEAST_SAVED
        if not self._dense:
            least = max(least, raw * _COPIES[format.word_bits // 8] // _PRICE)
        return raw - length >= least

    def _arriving(self, number: Tensor) -> _Arriving:
        return _Arriving(number.view(()), self._spare[number.device])

    def _pack(self, kept: KeptOnCard, flat: Tensor, format: Format, capacity: int) -> None:
        kept.packed = compress(flat, format, capacity=capacity)
        kept.stream = work_on(flat.device)
        if kept.stream is not None:
            # The elements may be of another stream of work, and go before they are read.
            flat.record_stream(kept.stream)

    def _look(self) -> None:
        """Settles what has come."""
        while self._waiting and self._waiting[0].length.there:
            self._settle(self._waiting.popleft())

    def _settle(self, waiting: _Waiting) -> None:
        """Frees the elements of a tensor whose stream is whole, and makes one that is not again."""
        self._in_doubt -= waiting.raw
        length, kept, learnt = waiting.length.wait(), waiting.kept(), waiting.learnt
        learnt.length = length
        if learnt.format is not None and not self._pays(length, waiting.raw, learnt.format):
            learnt.format = None
        if kept is None or kept.packed is None:
            return
        assert kept.elements is not None
        if length > kept.packed.data.numel():
            format, kept.packed = kept.packed.format, None
            if learnt.format is None:
                self._ledger.size(kept.entry, waiting.raw)
                return
            with current(kept.elements.device):
                self._pack(kept, kept.elements, format, _space(length))
            assert kept.packed is not None
        kept.elements = None
        self._ledger.size(kept.entry, held_by(kept.packed))


class _Mail:
    """Memory of the host for a number of a card, and the event that says that it has come."""

    def __init__(self, device: torch.device) -> None:
        card = device.type == "cuda"
        self.number = torch.empty((), dtype=torch.int64, pin_memory=card)
        self.event = torch.cuda.Event() if card else None


class _Arriving:
    """A number on its way from the card. Its mail is spare once the number was read."""

    def __init__(self, number: Tensor, spare: list[_Mail]) -> None:
        self._spare = spare
        self._mail: _Mail | None = spare.pop() if spare else _Mail(number.device)
        self._number = 0
        with current(number.device):
            self._mail.number.copy_(number, non_blocking=True)
            if self._mail.event is not None:
                self._mail.event.record()

    @property
    def there(self) -> bool:
        """Whether it has come."""
        return self._mail is None or self._mail.event is None or bool(self._mail.event.query())

    def wait(self) -> int:
        """The number, once it has come."""
        if self._mail is not None:
            if self._mail.event is not None:
                self._mail.event.synchronize()
            self._number = int(self._mail.number)
            self._spare.append(self._mail)
            self._mail = None
        return self._number


def _space(length: int) -> int:
    """Bytes for a stream of that length: the next of a few sizes."""
    step = max((1 << length.bit_length()) // (2 * _SIZES), _LEAST_STEP)
    return -(-length // step) * step


def held_by(packed: Packed) -> int:
    """The bytes of a stream and of what stands beside it."""
    return packed.data.nbytes + packed.index.nbytes + packed.length.nbytes


def work_on(device: torch.device) -> Any:
    """The current stream of work, on a card."""
    return torch.cuda.current_stream(device) if device.type == "cuda" else None


def order(made: Any, *tensors: Tensor) -> None:
    """Has the current stream of work wait for the one that made the tensors, which it reads."""
    if made is None or made == (reading := work_on(tensors[0].device)):
        return
    reading.wait_stream(made)
    for tensor in tensors:
        tensor.record_stream(reading)
