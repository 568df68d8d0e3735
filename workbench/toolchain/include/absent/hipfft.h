// The path that ROCm 5 used, before these headers moved into a folder.
#include <hipfft/hipfft.h>
