"""Host memory in lists of pages: any number of them, some of which cannot be reached, lists that cannot be read, and aborts
while one is read."""

from __future__ import annotations

import itertools
from typing import cast

import cocotb
from cocotbext.axi import AxiResp

from cdma.hdl.spec.options import ENTRY_BYTES, MOST_PAGED, PAGE_BYTES, packed_pages
from cdma.hdl.spec.records import Mode, Status
from cdma.verif.engine.bench import EngineBench
from cdma.verif.engine.context import (
    BUS_ERRORS,
    address_offered,
    both,
    changed,
    completed,
    engine_test,
    expect_failure,
    expect_refusal,
    pairs_of,
)
from cdma.verif.engine.memory import SIZE
from cdma.verif.engine.ring import RingBench
from cdma.verif.engine.transfer import Pages, Transfer
from cdma.verif.simulator.plan import planned

_FAILED = {"offload": BUS_ERRORS["write"], "prefetch": BUS_ERRORS["read"]}
#: Where an error is: in an entry's page, in the list, in the data of a page, and in those of one before a page that is none.
_ERRORS = ("page", "list", "data", "data before a page")
#: IDs of reads of lists on the host port.
_LISTS = {"offload": 1, "prefetch": 2}
#: Cycles for a transfer of tens of pages.
_MANY_PAGES = 100_000
#: Cycles in which everything else of a channel has come to rest.
_AT_REST = 300


def _paged(bench: EngineBench, channel: str, most: int, mode: Mode | None = None) -> tuple[Transfer, Pages]:
    """A transfer of about so many bytes in the host's memory, in pages; every second one has whole beats of raw data."""
    config, rng = bench.config, bench.rng
    words = max(1, rng.randint(1, most) * 8 // config.format.word_bits)
    more = max(rng.choice((0, config.host_data_bits)), 8 * config.format.raw_bytes) // config.format.word_bits
    made = bench.transfer(channel, -(-words // more) * more, mode=mode)
    bench.put_in_pages(channel, made)
    assert made.pages is not None
    return made, made.pages


async def _several(bench: EngineBench, channel: str, most: int) -> tuple[Transfer, Pages]:
    """One in two pages at least, whose data are not compressed; those in one page are run."""
    while True:
        made, found = _paged(bench, channel, most, Mode.RAW)
        if len(found.runs) > 1:
            return made, found
        await bench.run(channel, [made])


async def _leaves_pages(bench: EngineBench) -> None:
    """An offload whose data end in their first pages: the others in its list must not be written.

    The memory answers at once and the data come late: they are written before the other pages are passed over.
    """
    host, dev = bench.memory["host"], bench.memory["dev"]
    before = host.latency, dev.latency
    host.latency, dev.latency = 0, 60
    bench.pauses(0)
    made, found = _paged(bench, "offload", bench.rng.choice((1, PAGE_BYTES)), Mode.RAW)
    moved, end = made.descriptor["capacity"], bench.channels["offload"]
    more = bench.rng.choice((2, 3, 10))
    at = found.list_at + ENTRY_BYTES * (len(found.runs) - 1)
    host.write(at, packed_pages([found.list_at] * more))
    await end.submit([changed(made, capacity=moved + more * PAGE_BYTES).record()])
    bench.check("offload", changed(made, capacity=moved), await end.next())
    host.latency, dev.latency = before
    bench.pauses(0.2)


@planned(
    "host memory in lists of up to ten pages, anywhere, with more room than is needed",
    "every byte in its page; no page behind the last that is needed is looked at",
    needs=lambda design: design.config.pages,
)
@engine_test
async def pages(bench: EngineBench, budget: int) -> None:
    beat = bench.config.host_data_bits // 8

    async def job(channel: str) -> None:
        end, host = bench.channels[channel], bench.memory["host"]
        await end.enable()
        for number in range(max(6, budget // 20)):
            made, found = _paged(bench, channel, bench.rng.choice((3 * PAGE_BYTES, 9 * PAGE_BYTES)))
            if channel == "offload" and number % 2:
                # There is room for more: no page behind the last that is needed is looked at.
                moved = made.descriptor["capacity"]
                room = bench.rng.choice((moved + beat * bench.rng.randint(1, 600), MOST_PAGED))
                if bench.rng.random() < 0.5:
                    # They are pages, which must not be written all the same.
                    others = MOST_PAGED // PAGE_BYTES - len(found.runs)
                    at = found.list_at + ENTRY_BYTES * (len(found.runs) - 1)
                    host.write(at, packed_pages([found.list_at] * others))
                following, _ = _paged(bench, channel, PAGE_BYTES)
                await end.submit([changed(made, capacity=room).record(), following.record()])
                bench.check(channel, changed(made, capacity=moved), await end.next())
                bench.check(channel, following, await end.next())
            else:
                more = bench.any_transfer(channel, 40)
                if channel == "offload":
                    # One that does not fit.
                    more = bench.transfer(
                        channel, 4 * beat, mode=Mode.ZVC, capacity=bench.rng.randint(1, 2 * beat)
                    )
                    bench.put_in_pages(channel, more)
                await bench.run(channel, [made, more])
            host.write(found.list_at, b"\xa5" * PAGE_BYTES)
            bench.pauses(bench.rng.choice((0.0, 0.2, 0.5)))

    await both(bench, job)


async def _silent_amid(
    bench: EngineBench, channel: str, made: Transfer, found: Pages, first: list[int]
) -> Transfer:
    """Submits a transfer whose list begins with pages that must not be written, and another one; the host is silent for a
    while after the first beat of the list. Returns the other one."""
    host, rest = bench.memory["host"], MOST_PAGED // PAGE_BYTES - 1 - len(first)
    host.write(found.list_at, packed_pages([*first, *[found.list_at] * rest]))
    following, its = _paged(bench, channel, 2 * PAGE_BYTES)
    while len(its.runs) < 2:
        following, its = _paged(bench, channel, 2 * PAGE_BYTES)
    valid, of = (getattr(bench.dut, f"m_axi_host_r{name}") for name in ("valid", "id"))
    await bench.channels[channel].submit([made.record(), following.record()])
    while not (int(valid.value) and int(of.value) == 2 * bench.config.channels + _LISTS[channel]):
        await bench.after(1)
    host.frozen = True
    await bench.after(_AT_REST * bench.pace)
    host.frozen = False
    return following


async def _ends_amid(bench: EngineBench) -> None:
    """The data end, and there is room for more."""
    made, found = _paged(bench, "offload", 1, Mode.RAW)
    moved, end = made.descriptor["capacity"], bench.channels["offload"]
    pages = [address for address, _ in found.runs[1:]]
    following = await _silent_amid(bench, "offload", changed(made, capacity=MOST_PAGED), found, pages)
    bench.check("offload", changed(made, capacity=moved), await end.next())
    bench.check("offload", following, await end.next())


async def _fails_amid(bench: EngineBench) -> None:
    """The first page of the list is none."""
    made, found = await _several(bench, "prefetch", 2 * PAGE_BYTES)
    end, wrong = bench.channels["prefetch"], found.runs[1][0] + ENTRY_BYTES
    following = await _silent_amid(bench, "prefetch", made, found, [wrong])
    await expect_failure(bench, "prefetch", made, Status.READ_DECERR, wrong)
    bench.check_memory("prefetch", made, exact=False)
    bench.check("prefetch", following, await end.next())


@planned(
    "data that end, and a first page that is none, while a memory is silent amid the list",
    "every byte in its page; the next transfer has the pages of its own list",
    needs=lambda design: design.config.pages,
)
@engine_test
async def page_drops(bench: EngineBench, budget: int) -> None:
    """Lists that are given up while the memory is silent amid them; data come when a page waits for them."""
    bench.memory["dev"].latency = 40
    for channel, drops in (("offload", _ends_amid), ("prefetch", _fails_amid)):
        await bench.channels[channel].enable()
        for _ in range(4):
            await drops(bench)
        await bench.channels[channel].disable()


@planned(
    "entries that are no page, or beyond all addresses; SLVERR and DECERR of lists and of pages; too many of them",
    "the first is reported with its address; no byte outside of the pages is written, and the next descriptor runs",
    needs=lambda design: design.config.pages,
)
@engine_test
async def page_errors(bench: EngineBench, budget: int) -> None:
    bench.pauses(0.2)
    config, rng = bench.config, bench.rng
    host, top = bench.memory["host"], 1 << config.host_address_bits
    beat = config.host_data_bits // 8
    block = config.burst("host") * beat

    def no_page(page: int) -> int:
        """What is no page, or one that the port has no addresses for."""
        strays = (page + rng.randrange(1, PAGE_BYTES), top, top + page)
        return rng.choice([each for each in strays if each < 1 << 64])

    def in_page(channel: str, start: int, count: int) -> tuple[int, int]:
        """Any byte of what is moved in a page, and the address that its error is told with."""
        at = start + rng.randrange(count)
        return at, max(start, at // block * block) if channel == "offload" else at // beat * beat

    async def fails(channel: str, made: Transfer, status: Status, address: int) -> None:
        """The transfer fails with this status, nothing outside of its pages is written, and the next one, with pages of
        its own, runs."""
        following, _ = _paged(bench, channel, 2 * PAGE_BYTES)
        await bench.channels[channel].submit([made.record(), following.record()])
        await expect_failure(bench, channel, made, status, address, _MANY_PAGES)
        bench.check(channel, following, await bench.channels[channel].next())
        bench.check_memory(channel, made, exact=False)

    async def job(channel: str) -> None:
        await bench.channels[channel].enable()
        for kind, response, leaves in itertools.product(_ERRORS, (AxiResp.SLVERR, AxiResp.DECERR), (0, 1)):
            # A list of many pages is read in several beats of a burst.
            many = kind == "list" and rng.random() < 0.5
            made, found = await _several(bench, channel, (24 if many else 6) * PAGE_BYTES)
            which = len(found.runs) - 1 if many else rng.randrange(1, len(found.runs))
            at = found.list_at + ENTRY_BYTES * (which - 1)
            host.latency = rng.choice((0, 2, 40))
            if channel == "offload" and leaves:
                await _leaves_pages(bench)
            if kind in ("page", "data before a page"):
                page = no_page(found.runs[which][0])
                host.write(at, page.to_bytes(ENTRY_BYTES, "little"))
            if kind == "page":
                await fails(channel, made, _FAILED[channel][AxiResp.DECERR], page % top | (page >= top))
            else:
                address = at // beat * beat
                if kind != "list":
                    at, address = in_page(channel, *found.runs[rng.randrange(which)])
                host.spoil({at: response})
                await fails(channel, made, _FAILED[channel][response], address)
                host.mend(at)
        made, _ = _paged(bench, channel, 100, Mode.RAW)
        large = dict.fromkeys(
            ("capacity",) if channel == "offload" else ("length", "capacity"), MOST_PAGED + beat
        )
        small = {name: made.descriptor[name] for name in large}
        await expect_refusal(bench, channel, changed(made, **large), Status.LENGTH, 0)
        bench.check_memory(channel, changed(made, **small), exact=False)
        await bench.run(channel, [bench.any_transfer(channel, 30)])

    await both(bench, job)


@planned(
    "the first page, the list and the last page on both sides of the window's edge",
    "nothing outside is reached, and its address is reported",
    needs=lambda design: design.config.pages,
)
@engine_test
async def page_windows(bench: EngineBench, budget: int) -> None:
    """Pages, lists and first pages on both sides of each edge of a pair's window of host memory, while those of other
    pairs are open."""
    if bench.config.channels == 1:
        await _at_edges(bench)
        return
    for pair in await pairs_of(cast(RingBench, bench)):
        await _at_edges(pair)
        pair.account()


async def _at_edges(bench: EngineBench) -> None:
    bits = bench.config.host_address_bits

    async def outcome(channel: str, made: Transfer) -> dict[str, int]:
        await bench.channels[channel].submit([made.record()])
        got = await completed(bench, channel)
        bench.check_memory(channel, made, exact=got["status"] == Status.OK)
        bench.transfers += 1
        bench.checks += 1
        return got

    for channel in ("offload", "prefetch"):
        await bench.channels[channel].enable()
        rings = (0, 0x10000 - 1)
        # Where no memory is, one is anywhere: each bit of an address counts.
        for edge in ("last page", "list", "first page", *["far page"] * 4, "all inside"):
            made, found = await _several(bench, channel, 3 * PAGE_BYTES)
            far = bench.rng.randrange(SIZE, 1 << bits, PAGE_BYTES)
            if edge == "far page":
                bench.memory["host"].write(found.list_at, packed_pages([far]))
            places = {
                "first page": found.runs[0][0] // PAGE_BYTES * PAGE_BYTES,
                "last page": found.runs[-1][0],
                "list": found.list_at,
                "far page": far,
            }
            others = [found.list_at, *(address for address, _ in found.runs)]
            at = places.get(edge)
            limit = (1 << bits) - 1 if at is None else at - 1
            wrong = [address for address in others if address > limit]
            await bench.set_window("host", rings[0], limit)
            got = await outcome(channel, made)
            if found.runs[0][0] > limit:
                want = (Status.WINDOW, found.runs[0][0])
            elif found.list_at > limit:
                want = (_FAILED[channel][AxiResp.DECERR], found.list_at)
            elif edge == "far page":
                want = (_FAILED[channel][AxiResp.DECERR], far)
            elif wrong:
                first = next(address for address, _ in found.runs[1:] if address > limit)
                want = (_FAILED[channel][AxiResp.DECERR], first)
            else:
                want = (Status.OK, 0)
            assert (got["status"], got["address"]) == want, (edge, made, got, want)
            await bench.set_window("host", 0, (1 << bits) - 1)
            if got["status"] != Status.OK:
                await bench.channels[channel].check_error(
                    Status(got["status"]), got["address"], made.descriptor["tag"]
                )
            await bench.run(channel, [bench.any_transfer(channel, 30)])


@planned(
    "aborts while a list is read from a memory that is silent for long",
    "the abort ends after the read, and the next transfer has the pages of its own list",
    needs=lambda design: design.config.pages,
)
@engine_test
async def page_stops(bench: RingBench, budget: int) -> None:
    """An abort while a list is read waits for it, however long the memory takes. No ring is needed for the completion."""
    host = bench.memory["host"]
    host.latency = 20

    async def silence(channel: str, cycles: int) -> None:
        """Silences the host some cycles after a list is asked for."""
        await address_offered(bench, "ar", 2 * bench.config.channels + _LISTS[channel])
        await bench.after(cycles)
        host.frozen = True

    for channel, wait in itertools.product(("offload", "prefetch"), range(4)):
        made, found = _paged(bench, channel, 6 * PAGE_BYTES)
        while len(found.runs) < 2:
            made, found = _paged(bench, channel, 6 * PAGE_BYTES)
        await bench.poke(f"{channel}.control", enable=1)
        # With several clocks the answer to the last write to registers may come after the read.
        silent = cocotb.start_soon(bench.blame(silence(channel, wait)))
        await bench.push(channel, made.record())
        await silent
        await bench.rings[channel].abort()
        await bench.after(_AT_REST * bench.pace)
        waiting = await bench.peek(f"{channel}.status", "completion_waiting")
        assert not waiting, f"{channel}: an abort ends before the read of its list"
        host.frozen = False
        await bench.until(f"{channel}.status", "completion_waiting")
        await bench.poke(f"{channel}.command", pop_completion=1)
        await bench.settle(channel)
        await bench.rings[channel].resume()
        bench.check_memory(channel, made, exact=False)
        bench.checks += 1
        await bench.rings[channel].enable()
        await bench.run(channel, [_paged(bench, channel, 6 * PAGE_BYTES)[0]])
        await bench.rings[channel].disable()
