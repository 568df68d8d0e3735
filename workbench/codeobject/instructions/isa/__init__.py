"""The opcode tables, one CSV a target, and the script that makes them with LLVM's disassembler."""
