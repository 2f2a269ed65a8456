"""Random configurations under random traffic, for as long as one likes; and the smallest case of what fails."""
