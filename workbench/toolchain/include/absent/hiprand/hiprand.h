// Includes the installed header if there is one; otherwise an error says why it is missing.
#if __has_include_next(<hiprand/hiprand.h>)
#include_next <hiprand/hiprand.h>
#else
#error "hipRAND's host functions are not on the emulated device: its device functions are in hiprand_kernel.h"
#endif
