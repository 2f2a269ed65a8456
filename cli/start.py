"""Where the ``cdma`` command begins.

Nothing is imported before the ``try``, so that an interrupt from here on ends in one line. What comes earlier, Python's own
start and the package itself, which imports nothing, cannot be answered.
"""


def main() -> int:
    """Runs the command, as :func:`cdma.app.main` does."""
    try:
        from .app import main as run

        return run()
    except KeyboardInterrupt:
        import os

        os.write(2, b"cdma: interrupted\n")
        return 130
