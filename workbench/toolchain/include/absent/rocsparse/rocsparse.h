// Includes the installed header if there is one; otherwise an error says why it is missing.
#if __has_include_next(<rocsparse/rocsparse.h>)
#include_next <rocsparse/rocsparse.h>
#else
#error "rocSPARSE is not on the emulated device: multiply with a kernel of your own, or on the host and copy the result"
#endif
