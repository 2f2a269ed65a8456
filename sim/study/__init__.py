"""The study: models of networks, of machines and of the papers, and what they say of this engine."""
