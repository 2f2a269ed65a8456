"""``docs/results.md`` and ``docs/options.md``: templates with the figures of ``records.json``."""
