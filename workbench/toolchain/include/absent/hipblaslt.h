// As ROCm 5 had it, before its headers moved into a folder.
#include <hipblaslt/hipblaslt.h>
