// Includes the installed header if there is one; otherwise an error says why it is missing.
#if __has_include_next(<hip/hip_gl_interop.h>)
#include_next <hip/hip_gl_interop.h>
#else
#error "the emulated device shares no memory with graphics: copy what a kernel made with hipMemcpy"
#endif
