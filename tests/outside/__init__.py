"""An outsider at the engine: a driver and a bench written from the documents alone.

Nothing here imports anything of the package. Registers, records and their fields are read out of the tables of the
register document that the generator writes beside the engine; the codec is written from ``docs/format.md``, everything
else from ``docs/engine.md``, ``docs/options/`` and from the AXI4 specification. So a mistake that hardware, model and
driver share shows here, and so does one in a document.
"""
