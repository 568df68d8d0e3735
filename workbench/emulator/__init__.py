"""The emulated device: runs AMD GPU machine code on the CPU, behind the HIP C ABI."""
