"""What a regression covers: the lines, branches and bits of the Verilog, and the situations that matter."""
