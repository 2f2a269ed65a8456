"""Proofs of the blocks, by SymbiYosys: one file for each kind of block, and what runs them."""
