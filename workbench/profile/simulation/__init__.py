"""A model of the machine: compute units cycle by cycle on recorded waves, and the chip around them."""
