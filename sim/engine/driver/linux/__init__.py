"""The driver for Linux: a module in C (GPL-2.0) on ``cdma.h``, and its file for programs, in C and in Python."""
