"""Records of the collection's functions, a module a category."""
