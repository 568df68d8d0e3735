// Says why it is not here; another one on the include path comes first.
#error "rocFFT is not on the emulated device: transform with a kernel, or on the host and copy the result"
