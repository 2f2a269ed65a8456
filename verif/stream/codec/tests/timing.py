"""The performance contract: cycles per packet, alone and back to back, and latency; stalls as long as can be."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cdma.verif.simulator.monitors.rules import RuleError
from cdma.verif.simulator.plan import planned
from cdma.verif.stream.bench import Delivery, long_stalls, resets
from cdma.verif.stream.codec import stimulus
from cdma.verif.stream.codec.context import Context, codec_test
from cdma.verif.stream.codec.stimulus import CodecPacket


def _check_bound(context: Context, delivery: Delivery[CodecPacket], what: str) -> None:
    limit = delivery.packet.cost + context.limits.constant
    context.tally.checks += 1
    slack = limit - delivery.cycles
    notes = context.tally.notes
    notes["least_slack"] = min(slack, notes.get("least_slack", slack))
    if slack < 0 or (context.limits.exact and slack > 0):
        bound = "the number" if context.limits.exact else "the bound"
        raise RuleError(
            f"{what}: {delivery.cycles} cycles from the first beat in to the last beat out, "
            f"{bound} is {limit} ({delivery.packet.cost} + {context.limits.constant})"
        )


@planned(
    "densities, clusters, alternating windows, adversarial and random periods, windows short of dense",
    "every packet within the work-conserving bound",
    weight=5,
)
@codec_test
async def bound(context: Context) -> None:
    config, bench = context.config, context.bench
    repeats = max(4, 64 // config.beats)
    bench.set_pauses()

    async def alone(mask: stimulus.Mask, what: str) -> None:
        for delivery in await bench.run([context.from_mask(mask)]):
            _check_bound(context, delivery, what)

    for index, mask in enumerate(stimulus.adversarial(config, repeats)):
        await alone(mask, f"adversarial pattern {index}")
    for index, mask in enumerate(stimulus.short_of_dense(config, repeats)):
        await alone(mask, f"windows short of dense {index}")
    await alone(np.tile(stimulus.costly(config), repeats), "costly windows")
    window = config.format.window
    for density in (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0):
        await alone(stimulus.scattered(context.np, 12 * window, density), f"density {density}")
        await alone(stimulus.clustered(context.np, 12 * window + 3, density), f"clustered, density {density}")
        await alone(stimulus.alternating(context.np, 13 * window, config), "alternating windows")
    for index in range(max(10, context.budget // 40)):
        await alone(stimulus.periodic(context.np, config, repeats), f"random period {index}")
    for index in range(max(10, context.budget // 20)):
        count = stimulus.some_length(context.np, config)
        await alone(stimulus.mixed(context.np, count, config), f"random packet {index}")


@planned(
    "packets without a gap, packets of one word included",
    "each costs at most the additional cycles of the contract",
    weight=3,
)
@codec_test
async def back_to_back(context: Context) -> None:
    config, bench = context.config, context.bench
    more = context.limits.back_to_back
    bench.set_pauses()

    async def run(packets: Sequence[CodecPacket], what: str) -> None:
        deliveries = await bench.run(packets)
        start, allowed = deliveries[0].taken[0], context.limits.constant
        for index, delivery in enumerate(deliveries):
            allowed += delivery.packet.cost + (more if index else 0)
            context.tally.checks += 1
            if delivery.given[-1] - start + 1 > allowed:
                raise RuleError(
                    f"{what}: packet {index} is out {delivery.given[-1] - start + 1} cycles after the first "
                    f"of them began, the bound is {allowed}"
                )

    for density in (0.0, 1.0):
        for length in {1, 2, config.lanes, config.lanes + 1, config.format.window, config.format.window + 1}:
            shape = stimulus.scattered(context.np, length, density)
            await run([context.from_mask(shape) for _ in range(40)], f"packets of {length} words")
    for index in range(max(5, context.budget // 200)):
        await run([context.any_packet() for _ in range(30)], f"random packets {index}")


@planned("dense windows", "the first beat comes out within the limits of the contract")
@codec_test
async def latency(context: Context) -> None:
    config, bench = context.config, context.bench
    bench.set_pauses()
    limit = context.limits.latency
    worst = 0
    for windows in (1, 1, 2, 5):
        mask = np.ones(windows * config.format.window, bool)
        for delivery in await bench.run([context.from_mask(mask)]):
            worst = max(worst, delivery.latency)
            context.tally.checks += 1
    context.tally.notes["latency"] = worst
    if worst > limit:
        raise RuleError(
            f"the first beat of a dense window comes out {worst} cycles after the first in, limit {limit}"
        )


@planned(
    "sinks that wait for valid, long stalls on each stream in turn, late lengths and reports",
    "valid does not wait for ready; nothing hangs or is lost",
)
@codec_test
async def patience(context: Context) -> None:
    bench = context.bench
    packets = await long_stalls(context)
    waited = 0

    def late() -> bool:
        nonlocal waited
        waited = (waited + 1) % 80
        return waited != 0

    bench.set_pauses()
    if bench.length is not None:
        bench.length.gate = late
        await bench.run(packets[:10])
        bench.length.gate = None
    # Beats that come late, so that a decompressor runs dry that has much to make of each: of headers without a literal.
    form = context.config.format
    windows = 3 * context.config.units // max(1, form.header_words) + 1
    bench.input.gate = late
    await bench.run([context.from_mask(np.zeros(windows * form.window, bool)), packets[0]])
    bench.input.gate = None


reset = planned("reset in mid-packet at any moment", "the next packet is whole", weight=3)(
    codec_test(resets, "reset")
)
