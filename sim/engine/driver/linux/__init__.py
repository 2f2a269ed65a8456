"""The driver for Linux: a module in C (GPL-2.0), which stands on ``cdma.h``, and ``libcdma.h`` for programs."""
