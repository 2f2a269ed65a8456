"""A LiteX SoC with the engine, whose CPU runs the driver, under Verilator."""
