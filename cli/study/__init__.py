"""The door of the study: what compression buys a network, and how well the papers' figures come out (``cdma model``)."""
