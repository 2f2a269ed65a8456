"""The study: what compression buys a network, on a machine or on a user's own tensors, and the figures of the papers.

This is all that a researcher imports::

    import cdma.study

    model = cdma.study.load_model("vgg16", "v100")
    print(model.evaluate("cdma").speedup_over_vdnn, cdma.study.verdict(model))

    with cdma.study.record(network) as recording:  # a PyTorch module of one's own
        network(images)
    print(recording.report())

The names are imported on first use. The extra ``study`` has all that they need beyond numpy.
"""

from typing import TYPE_CHECKING

from cdma.base.lazy import names_of

if TYPE_CHECKING:
    from cdma.study.compare.comparison import compare, summarise
    from cdma.study.profile.files import find_tensors
    from cdma.study.profile.link import Hidden, Settings
    from cdma.study.profile.recording import Recording, record
    from cdma.study.profile.report import Report, advise
    from cdma.study.system.density_table import DensityTable, load_densities
    from cdma.study.system.designs import load_model
    from cdma.study.system.machine import Assumptions, Machine, load_assumptions, load_link, load_machine
    from cdma.study.system.model import Model
    from cdma.study.system.networks import Network, load_network
    from cdma.study.system.study import several
    from cdma.study.system.traced import trace
    from cdma.study.system.verdict import verdict
    from cdma.study.training.train import Schedule, train

#: The names by the modules that they come from.
_HOMES = {
    "cdma.study.compare.comparison": "compare summarise",
    "cdma.study.profile.files": "find_tensors",
    "cdma.study.profile.link": "Hidden Settings",
    "cdma.study.profile.recording": "Recording record",
    "cdma.study.profile.report": "Report advise",
    "cdma.study.system.density_table": "DensityTable load_densities",
    "cdma.study.system.designs": "load_model",
    "cdma.study.system.machine": "Assumptions Machine load_assumptions load_link load_machine",
    "cdma.study.system.model": "Model",
    "cdma.study.system.networks": "Network load_network",
    "cdma.study.system.study": "several",
    "cdma.study.system.traced": "trace",
    "cdma.study.system.verdict": "verdict",
    "cdma.study.training.train": "Schedule train",
}

__all__ = [
    "Assumptions",
    "DensityTable",
    "Hidden",
    "Machine",
    "Model",
    "Network",
    "Recording",
    "Report",
    "Schedule",
    "Settings",
    "advise",
    "compare",
    "find_tensors",
    "load_assumptions",
    "load_densities",
    "load_link",
    "load_machine",
    "load_model",
    "load_network",
    "record",
    "several",
    "summarise",
    "trace",
    "train",
    "verdict",
]

__getattr__ = names_of(__name__, _HOMES)
