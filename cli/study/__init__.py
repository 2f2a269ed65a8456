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
    from cdma.sim.study.compare.comparison import compare, summarise
    from cdma.sim.study.profile.files import find_tensors
    from cdma.sim.study.profile.link import Hidden, Settings
    from cdma.sim.study.profile.page import page
    from cdma.sim.study.profile.recording import Recording, record
    from cdma.sim.study.profile.report import Report
    from cdma.sim.study.profile.verdict import advise
    from cdma.sim.study.system.assumptions import Assumptions, load_assumptions
    from cdma.sim.study.system.decoding import decoding
    from cdma.sim.study.system.density_table import DensityTable, load_densities
    from cdma.sim.study.system.machine import Machine, load_link, load_machine
    from cdma.sim.study.system.model import Model
    from cdma.sim.study.system.named import load_model
    from cdma.sim.study.system.networks import Network, load_network
    from cdma.sim.study.system.several import several
    from cdma.sim.study.system.traced import trace
    from cdma.sim.study.system.verdict import verdict
    from cdma.sim.study.training.schedule import Schedule
    from cdma.sim.study.training.train import train

_SYSTEM, _PROFILE = "cdma.sim.study.system", "cdma.sim.study.profile"

_HOME = {
    "Assumptions": f"{_SYSTEM}.assumptions",
    "DensityTable": f"{_SYSTEM}.density_table",
    "Hidden": f"{_PROFILE}.link",
    "Machine": f"{_SYSTEM}.machine",
    "Model": f"{_SYSTEM}.model",
    "Network": f"{_SYSTEM}.networks",
    "Recording": f"{_PROFILE}.recording",
    "Report": f"{_PROFILE}.report",
    "Schedule": "cdma.sim.study.training.schedule",
    "Settings": f"{_PROFILE}.link",
    "advise": f"{_PROFILE}.verdict",
    "compare": "cdma.sim.study.compare.comparison",
    "decoding": f"{_SYSTEM}.decoding",
    "find_tensors": f"{_PROFILE}.files",
    "load_assumptions": f"{_SYSTEM}.assumptions",
    "load_densities": f"{_SYSTEM}.density_table",
    "load_link": f"{_SYSTEM}.machine",
    "load_machine": f"{_SYSTEM}.machine",
    "load_model": f"{_SYSTEM}.named",
    "load_network": f"{_SYSTEM}.networks",
    "page": f"{_PROFILE}.page",
    "record": f"{_PROFILE}.recording",
    "several": f"{_SYSTEM}.several",
    "summarise": "cdma.sim.study.compare.comparison",
    "trace": f"{_SYSTEM}.traced",
    "train": "cdma.sim.study.training.train",
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
