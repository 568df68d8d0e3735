"""A sentence on each public name of the tile library whose header documents several names at once.

A header describes once what `add` to `div` or the members of a tile have in common; somebody who points at
one of them wants to read about that one. The sentences are here, not in the headers, because every kernel has
to be compiled again when a header changes.
"""

from __future__ import annotations

import re

from workbench.dtypes import BF16, E4M3FN, E5M2, FP16, FP32

_OPERATIONS = {
    "add": "lhs + rhs",
    "sub": "lhs - rhs",
    "mul": "lhs * rhs",
    "div": "lhs / rhs",
    "max": "the larger of lhs and rhs",
    "min": "the smaller of lhs and rhs",
    "exp": "e to the power of src",
    "exp2": "2 to the power of src",
    "log": "the natural logarithm of src",
    "log2": "the logarithm of src to base 2",
    "abs": "the absolute value of src",
    "relu": "src where it is positive, else 0",
    "sqrt": "the square root of src",
    "rsqrt": "1 / the square root of src",
    "neg": "-src",
    "copy": "src",
    "ceil": "src rounded up to a whole number",
    "floor": "src rounded down to a whole number",
    "round": "src rounded to the nearest whole number",
    "sin": "the sine of src",
    "cos": "the cosine of src",
    "tanh": "the hyperbolic tangent of src",
    "erf": "the error function of src",
    "rcp": "1 / src",
    "sigmoid": "1 / (1 + exp(-src))",
    "silu": "src * sigmoid(src)",
    "softplus": "log(1 + exp(src))",
    "gelu": "src times the normal distribution's integral up to it (GELU, by erf)",
    "gelu_tanh": "GELU by its tanh approximation",
    "sub_fma": "lhs - rhs, rounded as an FMA with a factor of one rounds it",
}
"""Element by element, on tiles and on vectors."""

_TYPES = {"bf": BF16.cpp, "hf": FP16.cpp, "fl": FP32.cpp} | {t.cpp: t.cpp for t in (E4M3FN, E5M2)}
_KINDS = {
    "rt": "register tile",
    "st": "shared tile",
    "rv": "register vector",
    "sv": "shared vector",
    "crt": "complex register tile",
    "crv": "complex register vector",
    "cst": "complex shared tile",
    "csv": "complex shared vector",
}
_REDUCED = {"sum": "sum", "prod": "product", "max": "largest element", "min": "smallest element"}
_MAPPED = {
    "add": "plus",
    "sub": "minus",
    "mul": "times",
    "div": "divided by",
}


def _by_pattern(name: str) -> str:
    """Rules for names that are formed regularly."""
    if match := re.fullmatch(r"(c?[rs][tv])_(\w+)", name):
        kind, dtype = _KINDS.get(match[1]), _TYPES.get(match[2])
        if kind and dtype:
            return f"A {kind} of {dtype}."
    if match := re.fullmatch(r"(row|col)_(\w+)", name):
        axis, other = ("row", "columns") if match[1] == "row" else ("column", "rows")
        if match[2] in _REDUCED:
            reduction = _REDUCED[match[2]]
            return (
                f"The {reduction} of each {axis} of src, over its {other}; with `start`, that is part of it."
            )
    if match := re.fullmatch(r"(\w+)_(row|col)", name):
        axis = "row" if match[2] == "row" else "column"
        if match[1] in _MAPPED:
            return f"dst = src {_MAPPED[match[1]]} the vector's element of its {axis}."
    if match := re.fullmatch(r"([rs])t_(\d+)x(\d+)(?:_(\d+))?(_swizzled)?(_s)?", name):
        where = "register" if match[1] == "r" else "shared"
        stride = f", {match[4]} consecutive elements a lane" if match[4] else ""
        swizzled = ", swizzled" if match[5] else ""
        return f"Base tiles of {match[2]} x {match[3]} for a {where} tile{stride}{swizzled}."
    if match := re.fullmatch(r"u?(fp4|fp6|int4|int8)(e\dm\d)?_(\d+)", name):
        sign = "unsigned " if name.startswith("u") else ""
        return f"{match[3]} packed values of {sign}{match[1]}{match[2] or ''}."
    return ""


_SENTENCES = {
    # Arithmetic on elements.
    "op": "The operation on one value, or on a packed pair.",
    "ones": "Another name of `one`.",
    "sum": "lhs + rhs; on a vector or tile, the sum of its elements.",
    "prod": "The product of the elements of a vector.",
    "bin_op": "dst = op(lhs, rhs), element by element.",
    "unary_op": "dst = op(src), element by element.",
    "unary_op_second_half_vec": "dst = op(src) in the second half of a vector; the first stays as it is.",
    "exp_second_half_vec": "dst = exp(src) in the second half of a vector; the first stays as it is.",
    "one": "Sets every element to 1.",
    "zero": "Sets every element to 0.",
    "pos_infty": "Sets every element to +infinity.",
    "neg_infty": "Sets every element to -infinity.",
    # Element types.
    "bf16": "bfloat16: 8 bits of exponent, 7 of mantissa.",
    "bf16_2": "Two bf16 in a register.",
    "half_2": "Two half in a register.",
    "packed_type": "What a register holds of the type: two of a 16-bit type, four of an 8-bit one.",
    "unpacked_type": "The type of one element.",
    "num": "How many elements one packed value holds.",
    "convert": "The value in another element type.",
    "zeros": "0 in each element of a packed value.",
    "v": "The value that the index represents.",
    # Memory.
    "make_buffer_resource": "The four words that buffer instructions read: address, bytes in range, format.",
    "load_global_vec4": "Reads 16 bytes of global memory.",
    "lds": "Reads shared memory at an address.",
    "sts": "Writes shared memory at an address.",
    "ldg": "Reads global memory.",
    "stg": "Writes global memory.",
    "allocate_aligned": "The next array of shared memory, at a multiple of `alignment` bytes.",
    "NUM_CUS": "Compute units of the device.",
    # Groups and streams.
    "GROUP_WARPS": "Waves of the group.",
    "GROUP_THREADS": "Threads of the group.",
    "check_types": "Refuses, while compiling, tiles whose element types or sizes do not fit each other.",
    "pieces": "The parts that the loads of one tile are split into.",
    "enough_comes_before": "Whether as many loads precede this one as the wait assumes.",
    # Matrix instructions on registers by number.
    "mfma_f32_32x32x16_bf16": "The matrix instruction of that name on registers A, B, C and D.",
    "mfma_f32_32x32x16_bf16_zero_accum": "The matrix instruction of that name with C = 0.",
    "mma_ABt_base_zero_accum": "D = A Bᵀ of one base tile, with nothing added.",
    "mma_AtB_base_zero_accum": "D = Aᵀ B of one base tile, with nothing added.",
    "asm_identifier": "Marks a tile whose registers are named by number.",
    "register_ranges": "The registers of each base tile, row by row.",
    "register_range": "The registers of the base tile.",
    "enough_ranges": "Whether there is a range of registers for each base tile.",
    "right_size": "Whether the range has as many registers as a lane holds of the base tile.",
    "begins_even": "Whether the range begins at an even register, as matrix instructions require.",
    "lo": "The first register of the range.",
    "hi": "The last register of the range.",
    "size": "How many there are in it.",
    "clobber_range": "Tells the compiler that registers of the range are written.",
    "type_list_size": "How many types a list has.",
    "type_list_size_v": "How many types a list has.",
    "value": "The value that the template finds.",
    "type": "The type that the template finds.",
    "nth_of": "The n-th of a list of types.",
    "get_nth_range": "The n-th range of a list.",
    "split_one": "A range cut into n of `count` registers.",
    "divides": "Whether n divides the range.",
    "transpose_2d_helper": "The ranges of a tile, column by column.",
    # Members of tiles and vectors.
    "T": "Element type.",
    "stride": "Consecutive elements that a lane holds.",
    "packing": "Elements that one packed value holds.",
    "swizzle": "The byte offset of an element, with rows moved so that lanes meet different banks.",
    "half": "16-bit float: 5 bits of exponent, 10 of mantissa.",
    "dtype": "Type of what a register holds: packed where the element type is.",
    "layout": "How the elements lie over lanes and registers.",
    "shape": "Shape of the base tiles that it is made of.",
    "rows": "Rows.",
    "cols": "Columns.",
    "batch": "Size of the first axis.",
    "depth": "Size of the second axis.",
    "numel": "Number of elements, over all axes.",
    "length": "Number of elements.",
    "tiles": "Number of base tiles that the vector is as long as.",
    "BASE": "The tile or vector that the coordinate counts in.",
    "ST": "The shared tile that it is a part of.",
    "order": "Where each element of the tile is in shared memory.",
    "make_dim_t": "An axis whose size is known while compiling, or, at -1, when the kernel is launched.",
    "is_row": "Whether the layout is by rows.",
    "num_elements": "Number of elements.",
    "num_packed": "Elements that one packed value holds.",
    "num_alloc_elements": "Elements that it takes in shared memory.",
    "num_strides": "Groups of consecutive elements that a lane holds of a base tile.",
    "base_tile_rows": "Rows of a base tile.",
    "base_tile_cols": "Columns of a base tile.",
    "base_tile_stride": "Consecutive elements that a lane holds.",
    "base_tile_num_strides": "Groups of consecutive elements that a lane holds of a base tile.",
    "base_tile_reductions": "Base tiles across which a reduction runs.",
    "base_tile_threads_per_reduction": "Lanes that hold parts of the same row or column of a base tile.",
    "base_tile_elements_per_stride_group": "Elements of a base tile in one group of all lanes.",
    "base_tile_elements_per_thread": "Elements of a base tile that a lane holds.",
    "base_tile_packed_per_stride": "Packed values in one group of consecutive elements.",
    "elements_per_base_tile": "Elements of a base tile that a lane holds.",
    "packed_per_base_tile": "Packed values of a base tile that a lane holds.",
    "packed_per_tile": "Packed values of a base tile that a lane holds.",
    "packed_per_stride": "Packed values in one group of consecutive elements.",
    "registers_per_base_tile": "Registers of a lane that a base tile takes.",
    "registers_per_stride": "Registers of a lane that a group of consecutive elements takes.",
    "tile_size_row": "Rows of a base tile.",
    "tile_size_col": "Columns of a base tile.",
    "minor_shape": "Shape of a base tile, its long axis first.",
    "minor": "Size of the axis along which lanes follow each other.",
    "major": "Size of the axis along which a lane's elements lie.",
    "minor_index": "Row (of a row layout) or column that a lane holds.",
    "major_index": "Column (of a row layout) or row of a lane's element.",
    "inner_dim": "Packed values of the vector that a lane holds of a base tile.",
    "lanes_of_row": "Lanes that hold one row.",
    "rt_rows_s": "Base tiles of one whole row each, `stride` consecutive elements a lane.",
    "classic": "A layout of register tiles.",
    "accum": "The layout of a matrix instruction's result.",
    "row_l": "Layout by rows: a lane's elements lie along a row.",
    "col_l": "Layout by columns: a lane's elements lie along a column.",
    "accum_l": "Layout of a matrix instruction's result.",
    "align_l": "Vector layout of a tile's rows, in a tile by rows: each value on all lanes of its row.",
    "ortho_l": "Vector layout across: each lane holds the values of its own columns.",
    "naive_l": "Vector layout in which element n is on lane n, for loads and stores.",
    "underlying_rows": "Rows of the whole tile, of a part of one too.",
    "underlying_cols": "Columns of the whole tile, of a part of one too.",
    "underlying_num_elements": "Elements of the whole tile, of a part of one too.",
    "underlying_subtile_rows": "Rows of a base tile.",
    "underlying_subtile_cols": "Columns of a base tile.",
    "underlying_subtile_row_bytes": "Bytes of a row of a base tile.",
    "underlying_subtile_elements": "Elements of a base tile.",
    "underlying_subtile_bytes": "Bytes of a base tile.",
    "underlying_subtiles_per_row": "Base tiles side by side.",
    "underlying_subtiles_per_col": "Base tiles on top of each other.",
}


def completed(name: str, doc: str) -> str:
    """Documentation of a name of the library: its own, or a sentence about it if it has none."""
    if name in _OPERATIONS:
        # The header's comment is about all operations together.
        return f"dst = {_OPERATIONS[name]}, element by element. {doc}".strip()
    return doc or _by_pattern(name) or _SENTENCES.get(name, "")
