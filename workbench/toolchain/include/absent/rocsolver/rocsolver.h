// Includes the installed header if there is one; otherwise an error says why it is missing.
#if __has_include_next(<rocsolver/rocsolver.h>)
#include_next <rocsolver/rocsolver.h>
#else
#error "rocSOLVER is not on the emulated device: solve with a kernel, or on the host and copy the result"
#endif
