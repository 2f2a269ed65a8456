"""What was tried on one Verilog file: what does not hold, and what was not done or not shown."""
