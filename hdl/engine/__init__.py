"""The DMA engine around the codec: descriptors, AXI4 ports, rings, errors, counters, registers."""
