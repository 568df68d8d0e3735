"""Records of a launch on request: traffic and single accesses. The C side stands beside each module."""
