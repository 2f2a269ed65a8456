"""Weights that wait on the host, compressed, and come unit by unit when an inference needs them."""
