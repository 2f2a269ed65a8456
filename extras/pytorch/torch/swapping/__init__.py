"""Moving what autograd keeps to the host and back, by the papers' policies."""
