"""Codecs for FPGAs: for the same streams, with memories, and with pipelines that never stop."""
