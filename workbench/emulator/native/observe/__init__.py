"""Records of a launch on request: traffic and single accesses. The C side is next to each module."""
