// Says why it is not here; another one on the include path comes first.
#error "RCCL is not on the emulated device: a program has one device here, so compile without it"
