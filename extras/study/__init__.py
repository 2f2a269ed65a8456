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
    from cdma.study.profile.page import page
    from cdma.study.profile.recording import Recording, record
    from cdma.study.profile.report import Report, advise
    from cdma.study.system.assumptions import Assumptions, load_assumptions
    from cdma.study.system.decoding import decoding
    from cdma.study.system.density_table import DensityTable, load_densities
    from cdma.study.system.designs import load_model
    from cdma.study.system.machine import Machine, load_link, load_machine
    from cdma.study.system.model import Model
    from cdma.study.system.networks import Network, load_network
    from cdma.study.system.study import several
    from cdma.study.system.traced import trace
    from cdma.study.system.verdict import verdict
    from cdma.study.training.schedule import Schedule
    from cdma.study.training.train import train

_SYSTEM, _PROFILE = "cdma.study.system", "cdma.study.profile"

_HOME = {
    "Assumptions": f"{_SYSTEM}.assumptions",
    "DensityTable": f"{_SYSTEM}.density_table",
    "Hidden": f"{_PROFILE}.link",
    "Machine": f"{_SYSTEM}.machine",
    "Model": f"{_SYSTEM}.model",
    "Network": f"{_SYSTEM}.networks",
    "Recording": f"{_PROFILE}.recording",
    "Report": f"{_PROFILE}.report",
    "Schedule": "cdma.study.training.schedule",
    "Settings": f"{_PROFILE}.link",
    "advise": f"{_PROFILE}.report",
    "compare": "cdma.study.compare.comparison",
    "decoding": f"{_SYSTEM}.decoding",
    "find_tensors": f"{_PROFILE}.files",
    "load_assumptions": f"{_SYSTEM}.assumptions",
    "load_densities": f"{_SYSTEM}.density_table",
    "load_link": f"{_SYSTEM}.machine",
    "load_machine": f"{_SYSTEM}.machine",
    "load_model": f"{_SYSTEM}.designs",
    "load_network": f"{_SYSTEM}.networks",
    "page": f"{_PROFILE}.page",
    "record": f"{_PROFILE}.recording",
    "several": f"{_SYSTEM}.study",
    "summarise": "cdma.study.compare.comparison",
    "trace": f"{_SYSTEM}.traced",
    "train": "cdma.study.training.train",
    "verdict": f"{_SYSTEM}.verdict",
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
    "decoding",
    "find_tensors",
    "load_assumptions",
    "load_densities",
    "load_link",
    "load_machine",
    "load_model",
    "load_network",
    "page",
    "record",
    "several",
    "summarise",
    "trace",
    "train",
    "verdict",
]

__getattr__ = names_of(__name__, _HOME)
