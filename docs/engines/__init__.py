"""What the table of engines in ``docs/results.md`` is measured with: a wrapper around a peer, and a bench for it."""
