"""Pages that are made from the source: the commands, the parameters and the public names."""
