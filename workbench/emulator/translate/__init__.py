"""From a kernel's machine code to native code: blocks become LLVM IR, operand by operand."""
