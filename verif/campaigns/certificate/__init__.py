"""What holds of one Verilog file, and what does not or was not tried."""
