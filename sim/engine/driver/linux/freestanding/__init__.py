"""Headers that stand for those of a C library in the kernel."""
