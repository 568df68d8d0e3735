// Includes the installed header if there is one; otherwise an error says why it is missing.
#if __has_include_next(<rocblas/rocblas.h>)
#include_next <rocblas/rocblas.h>
#else
#error "rocBLAS is not on the emulated device: multiply with a kernel, as the workbench's gemm operators do"
#endif
