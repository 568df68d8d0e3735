"""The opcode table of all targets, and the script that makes it with LLVM's disassembler."""
