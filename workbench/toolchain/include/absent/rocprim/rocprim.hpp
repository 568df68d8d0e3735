// Of an installation, where there is one; else the reason why it is not here.
#if __has_include_next(<rocprim/rocprim.hpp>)
#include_next <rocprim/rocprim.hpp>
#else
#error "rocPRIM is not in the workbench: it is headers alone and compiles here, so give its folder with -I"
#endif
