// Of an installation, where there is one; else the reason why it is not here.
#if __has_include_next(<rocblas/rocblas.h>)
#include_next <rocblas/rocblas.h>
#else
#error "rocBLAS is not on the emulated device: multiply with a kernel, as the workbench's gemm operators do"
#endif
