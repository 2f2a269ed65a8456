"""The codec for FPGAs: the same streams, with memories for rows, and pipelines that never stop."""
