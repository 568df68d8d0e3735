"""Records of the collection's functions, one module per category."""
