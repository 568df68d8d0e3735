// Says why it is not here; another one on the include path comes first.
#error "hipBLAS is not on the emulated device: multiply with a kernel, as the workbench's gemm operators do"
