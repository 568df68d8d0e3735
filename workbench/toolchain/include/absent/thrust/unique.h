// Of an installation, where there is one; else the reason why it is not here.
#if __has_include_next(<thrust/unique.h>)
#include_next <thrust/unique.h>
#else
#error                                                                                                                 \
    "rocThrust is not in the workbench: it is headers alone and compiles here, so give its folder and rocPRIM's with -I"
#endif
