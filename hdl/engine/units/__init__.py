"""Several compressors and decompressors on as many device ports, and what joins and splits their streams."""
