"""The codec on the card, for tensors that are there: :mod:`cdma.gpu` has the public names (needs the ``gpu`` extra)."""
