// Includes the installed header if there is one; otherwise an error says why it is missing.
#if __has_include_next(<hipfft/hipfft.h>)
#include_next <hipfft/hipfft.h>
#else
#error "hipFFT is not on the emulated device: transform with a kernel, or on the host and copy the result"
#endif
