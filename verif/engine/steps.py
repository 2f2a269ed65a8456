"""Steps that several tests of an engine take."""

from __future__ import annotations

from collections.abc import Sequence

from cdma.hdl.spec.records import Status
from cdma.sim.engine.transfer import Outcome

from .bench import EngineBench
from .promises import check_promises
from .transfer import Transfer

__all__ = ["address_offered", "changed", "expect_refusal", "some_length", "some_table"]

#: Cycles for a transfer of tens of thousands of rows of a byte each.
_LONG = 100_000


async def address_offered(bench: EngineBench, channel: str, id: int) -> None:
    """Waits until the host's port offers an address with this ID: 0 is data, and what comes after it the channels' rings."""
    valid, of = (getattr(bench.dut, f"m_axi_host_{channel}{name}") for name in ("valid", "id"))
    [port] = bench.ports["host"]
    before = port.came(channel, id)
    for _ in range(2000 * bench.pace):
        await bench.after(1)
        # One of a faster clock may have come between two cycles.
        if (int(valid.value) and int(of.value) == id) or port.came(channel, id) != before:
            return
    raise AssertionError(f"no {channel} with ID {id} at the host's port")


def some_table(bench: EngineBench) -> list[int]:
    top = (1 << bench.config.format.entry_bits) - 1
    return [
        bench.rng.choice((0, 1, top, bench.rng.randint(0, top))) for _ in range(bench.config.codec.table_size)
    ]


def some_length(bench: EngineBench) -> int:
    """Words: short ones, boundaries of beats, windows, bursts and pages, one more and one less."""
    config, rng = bench.config, bench.rng
    form = config.format
    # Raw data are whole bytes.
    more = 8 * form.raw_bytes // form.word_bits
    choice = rng.random()
    if choice < 0.3:
        return rng.randint(1, 3 * config.lanes)
    if choice < 0.8:
        beat = rng.choice((config.dev_data_bits, config.host_data_bits)) // 8
        unit = rng.choice((beat, beat * config.burst_beats, form.window * form.word_bits // 8, 4096))
        return max(1, unit * 8 // form.word_bits * rng.randint(1, 2) + rng.choice((-more, 0, more)))
    return rng.randint(1, 2000)


def changed(made: Transfer, **fields: int) -> Transfer:
    made.descriptor |= fields
    return made


async def expect_refusal(
    bench: EngineBench,
    channel: str,
    made: Transfer,
    status: Status,
    address: int,
    *,
    behind: Sequence[Transfer] = (),
) -> None:
    """Runs a descriptor that must be refused, by the specification and by the engine, ``behind`` others that are not.

    ``address`` -1 stands for the first byte past the capacity.
    """
    if address == -1:
        address = made.descriptor["destination"] + made.descriptor["capacity"]
    made.expected = Outcome(status, address=address)
    assert bench.refusal(channel, made) == made.expected, (made.descriptor, bench.refusal(channel, made))
    end = bench.channels[channel]
    await end.submit([each.record() for each in (*behind, made)])
    for each in behind:
        bench.check(channel, each, await end.next(_LONG))
    bench.checks += made.check(await end.next())
    check_promises(bench.config, channel, made.descriptor, made.completion, made.moved)
    bench.transfers += 1
