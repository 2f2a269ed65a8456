"""First benches in plain Verilog, and the vectors that they compare with."""
