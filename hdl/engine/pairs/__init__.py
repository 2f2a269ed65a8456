"""Several queue pairs on one data path: whose descriptor goes next, and where its completion goes."""
