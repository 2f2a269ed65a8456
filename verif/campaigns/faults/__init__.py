"""Faults at the ports of an engine, everywhere they can be: errors, silence, aborts, resets and corrupted streams."""
