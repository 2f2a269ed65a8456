"""What runs work: caches, threads, jobs, TOML, errors. It imports nothing of ours."""
