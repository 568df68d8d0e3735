"""A model of the machine: compute units cycle by cycle on what waves really did, and the chip around them."""
