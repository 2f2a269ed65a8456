"""A toy codec that sends a packet as it is: what a new codec takes is this folder and a line in ``CODECS``."""
