"""The driver for Linux on the RTL: a kernel in user mode, and the simulated engine as its PCI device."""
