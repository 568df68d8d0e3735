// Includes the installed header if there is one; otherwise an error says why it is missing.
#if __has_include_next(<hipsolver/hipsolver.h>)
#include_next <hipsolver/hipsolver.h>
#else
#error "hipSOLVER is not on the emulated device: solve with a kernel, or on the host and copy the result"
#endif
