"""Codecs of logic and flip-flops, with the fewest cycles of latency."""
