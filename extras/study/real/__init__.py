"""Trained networks that people run, on real inputs: their tensors, and what compresses them."""
