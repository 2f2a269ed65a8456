"""What compression buys on a user's own tensors: recorded from a PyTorch model, or read from files."""
