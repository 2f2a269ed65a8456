"""Several pairs of channels on one data path: whose descriptor goes next, and where its completion goes."""
