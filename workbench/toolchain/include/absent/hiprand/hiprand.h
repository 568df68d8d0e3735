// Says why it is not here; another one on the include path comes first.
#error "hipRAND's host functions are not on the emulated device: its device functions are in hiprand_kernel.h"
