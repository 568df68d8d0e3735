// Says why it is not here; another one on the include path comes first.
#error                                                                                                                 \
    "rocThrust is not in the workbench: it is headers alone and compiles here, so give its folder and rocPRIM's with -I"
