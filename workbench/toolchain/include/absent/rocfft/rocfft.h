// Of an installation, where there is one; else the reason why it is not here.
#if __has_include_next(<rocfft/rocfft.h>)
#include_next <rocfft/rocfft.h>
#else
#error "rocFFT is not on the emulated device: transform with a kernel, or on the host and copy the result"
#endif
