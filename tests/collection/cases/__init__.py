"""Small arguments and PyTorch's results for each function of the collection, one module per category.

A case is `(draw) -> Case`, in `CASES` under "module.function"; ":case" after it distinguishes several of one
function. References are written here, not taken from the operators' specs. `cases/<category>.py` is for
the functions of `workbench/collection/bindings/<category>.py`.
"""
