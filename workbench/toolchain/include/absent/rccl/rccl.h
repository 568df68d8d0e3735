// Includes the installed header if there is one; otherwise an error says why it is missing.
#if __has_include_next(<rccl/rccl.h>)
#include_next <rccl/rccl.h>
#else
#error "RCCL is not on the emulated device: a program has one device here, so compile without it"
#endif
