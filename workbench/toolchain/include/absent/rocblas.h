// As ROCm 5 had it, before its headers moved into a folder.
#include <rocblas/rocblas.h>
