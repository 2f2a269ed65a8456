"""What runs work: caches, threads, jobs, Yosys, TOML, errors. It imports nothing of ours."""
