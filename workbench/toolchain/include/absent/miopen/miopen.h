// Includes the installed header if there is one; otherwise an error says why it is missing.
#if __has_include_next(<miopen/miopen.h>)
#include_next <miopen/miopen.h>
#else
#error "MIOpen is not on the emulated device: write the layer as a kernel, or use PyTorch's"
#endif
