"""Host memory in pages: what a descriptor's list says becomes the commands of a reader or writer."""
