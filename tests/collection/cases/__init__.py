"""For each function of the collection small arguments, and what PyTorch says of them, a module a category.

A case is `(draw) -> Case`, in `CASES` under "module.function"; ":what" behind it tells several of one
function apart. References are written here, not taken from the operators' specs. `cases/<category>.py` is for
the functions of `workbench/collection/bindings/<category>.py`.
"""
