// Includes the installed header if there is one; otherwise an error says why it is missing.
#if __has_include_next(<rocfft/rocfft.h>)
#include_next <rocfft/rocfft.h>
#else
#error "rocFFT is not on the emulated device: transform with a kernel, or on the host and copy the result"
#endif
