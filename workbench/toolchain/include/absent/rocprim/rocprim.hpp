// Includes the installed header if there is one; otherwise an error says why it is missing.
#if __has_include_next(<rocprim/rocprim.hpp>)
#include_next <rocprim/rocprim.hpp>
#else
#error                                                                                                                 \
    "rocPRIM is not installed here: it is headers alone and compiles here, so install it (librocprim-dev, or ROCm's rocprim-dev), set ROCM_PATH to a folder that has it, or give its folder with -I"
#endif
