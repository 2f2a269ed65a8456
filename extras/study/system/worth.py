"""Whether offloading and compressing is worth it for networks that people run, on one machine with several links."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from cdma.base.document import Paragraph, Part, Table
from cdma.study.real.record import Record

from .assumptions import load_assumptions
from .density_table import load_densities, with_run
from .machine import load_link, load_machine
from .model import Model
from .networks import load_network, network_names, recorded_network
from .verdict import fastest, nearest_change

#: The machine, and its links by what the table calls them.
MACHINE = "h100"
LINKS = {"PCIe 5": "pcie5", "10 GbE": "10gbe"}
_PLAIN = (("vdnn_all", "zv"), ("vdnn_conv", "zv"))
_OURS = tuple((policy, algorithm) for policy in ("cdma", "cdma_conv") for algorithm in ("zv", "fields"))


@dataclass(frozen=True)
class Worth:
    """A network at the least batch that does not fit the device.

    ``fits``: The greatest batch that does.
    ``compute_s``: A step if nothing ever waited.
    ``steps``: By link, how many times as long as that a step takes that offloads, as it is and with an engine.
    """

    network: str
    fits: int
    compute_s: float
    steps: dict[str, tuple[float, float]]


def worth(record: Record) -> Worth:
    """A network on the machine, with whichever of its policies and formats is fastest."""
    assumed, densities = load_assumptions(), load_densities()
    # What is recorded of these networks does not change over a training.
    assumed = replace(assumed, training=replace(assumed.training, moments=1))
    known = record.name in network_names()
    network = load_network(record.name) if known else recorded_network(record)
    model = Model(network, load_machine(MACHINE), assumed, with_run(densities), densities)

    def too_much(batch: int) -> bool:
        return fastest(model.with_batch(batch), [("none", "zv")]) is None

    batch = nearest_change(1, too_much, reach=1 << 30)
    assert batch is not None, "a device has less than so much memory"
    model = model.with_batch(batch)
    steps = {}
    for link, name in LINKS.items():
        here = model.on(model.machine.with_link(load_link(name)))
        plain, ours = (min(here.evaluate(*pair).step_s for pair in pairs) for pairs in (_PLAIN, _OURS))
        steps[link] = plain / model.compute_seconds, ours / model.compute_seconds
    return Worth(record.name, batch - 1, model.compute_seconds, steps)


def worth_parts(records: Sequence[Record]) -> list[Part]:
    """A table with a row for each network whose operations are known."""
    titles = ["network", "batch that fits", "ms a step beyond"]
    for link in LINKS:
        titles += [f"{link}: as it is", "compressed", "gain"]
    rows = []
    for record in records:
        if record.operations or record.name in network_names():
            found = worth(record)
            row = [found.network, f"{found.fits:,}", f"{1e3 * found.compute_s:.0f}"]
            for plain, ours in found.steps.values():
                row += [f"{plain:.3g}", f"{ours:.3g}", f"{plain / ours:.2f}"]
            rows.append(row)
    return [
        Paragraph(
            f"Is it worth it? A step of training on an {MACHINE.upper()}, modelled, numbers of bf16, inputs as recorded "
            "(smollm2: 2048 tokens): the greatest batch that fits, where nothing need be offloaded; one more, and with each "
            "link how many times as long as its computation a step then takes, with maps offloaded as they are and "
            "compressed by the engine. A batch in parts that fit takes the time of its computation alone."
        ),
        Table(titles, rows, range(1, len(titles))),
    ]
