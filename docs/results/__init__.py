"""``docs/results.md``: what was measured is in ``records.json``, what the page says of it in ``results.md.jinja``."""
