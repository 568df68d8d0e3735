// Says why it is not here; another one on the include path comes first.
#error "the emulated device shares no memory with graphics: copy what a kernel made with hipMemcpy"
