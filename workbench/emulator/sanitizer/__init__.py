"""The sanitizer of the emulated device: what it is told of each instruction, hazards, and findings."""
