"""Blocks that any design could use."""
