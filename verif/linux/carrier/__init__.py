"""A module for the guest: it makes the PCI function a device of a system on a chip."""
