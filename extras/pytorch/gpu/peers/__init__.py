"""Codecs beside ours on a card, and the bench of all of them."""
