// Of an installation, where there is one; else the reason why it is not here.
#if __has_include_next(<rccl/rccl.h>)
#include_next <rccl/rccl.h>
#else
#error "RCCL is not on the emulated device: a program has one device here, so compile without it"
#endif
