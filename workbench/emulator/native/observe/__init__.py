"""What is recorded of a launch on request: traffic, single accesses. The C side stands beside each module."""
