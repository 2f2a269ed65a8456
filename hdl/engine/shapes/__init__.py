"""Shapes in device memory: what a descriptor's extension says becomes the commands of a reader or writer, and padding."""
