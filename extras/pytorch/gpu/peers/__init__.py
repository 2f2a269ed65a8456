"""Codecs beside ours on a GPU, and the bench of all of them."""
