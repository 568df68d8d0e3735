"""Sources of the family of `routing.cuh`."""

from __future__ import annotations


def source(arguments: str, **kernels: str) -> str:
    """Kernels that run functions of the family on arguments of one type, by their names."""
    head = """#include "families/routing.cuh"
using namespace kittens;
using namespace kittens::families::routing;
"""
    bounds = {"starts": 1024, "list": 1024, "count": "WARP_THREADS", "place": "WARP_THREADS"}
    return head + "".join(
        f"__global__ __launch_bounds__({bounds.get(name, 256)}) void {name}(const {arguments} g) {{\n"
        f"    {function}(g);\n}}\n"
        for name, function in kernels.items()
    )
