// Includes the installed header if there is one; otherwise an error says why it is missing.
#if __has_include_next(<thrust/set_operations.h>)
#include_next <thrust/set_operations.h>
#else
#error                                                                                                                 \
    "rocThrust is not installed here: it is headers alone and compiles here, so install it (librocthrust-dev, or ROCm's rocthrust-dev and rocprim-dev), set ROCM_PATH to a folder that has both, or give their folders with -I"
#endif
