"""Training in less memory: :mod:`cdma.torch` has the public names of this room, which needs the ``torch`` extra."""
