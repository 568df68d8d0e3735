"""HIP's documented math functions for the device, and arithmetic rounded up, down and toward zero."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product

import numpy as np

from tests.toolchain.test_device_functions import launch
from workbench.toolchain import CompileOptions, compile_device

# By arguments: n an int, l a long, u an unsigned, U and L of 64 bits, x and X a float and a double,
# p and P pointers to them, k to an int, s a string. HIP documentation, "HIP math API".
FLOATS = {
    "x": "abs fabsf erff erfcf erfcxf lgammaf tgammaf expf exp2f exp10f expm1f log10f log1pf log2f logf "
    "ilogbf logbf cbrtf sqrtf rsqrtf rcbrtf ceilf floorf lroundf llroundf lrintf llrintf nearbyintf roundf "
    "rintf truncf acosf acoshf asinf asinhf atanf atanhf cosf coshf sinf sinhf tanf tanhf cospif sinpif "
    "j0f j1f y0f y1f erfcinvf erfinvf normcdff normcdfinvf cyl_bessel_i0f cyl_bessel_i1f "
    "isfinite isinf isnan signbit",
    "x x": "fdimf fmaxf fminf fmodf remainderf fdividef copysignf nextafterf hypotf rhypotf powf atan2f",
    "x x x": "fmaf norm3df rnorm3df",
    "x x x x": "norm4df rnorm4df",
    "x p": "modff",
    "x k": "frexpf",
    "x x k": "remquof",
    "x n": "ldexpf scalbnf powif",
    "x l": "scalblnf",
    "n x": "jnf ynf",
    "n p": "normf rnormf",
    "x p p": "sincosf sincospif",
    "s": "nanf",
}
DOUBLES = {
    arguments.replace("x", "X").replace("p", "P"): " ".join(
        name if name == "isinf" else name.removesuffix("f") for name in names.split() if name != "fdividef"
    )
    for arguments, names in FLOATS.items()
}
INTRINSICS = {
    "x": "__cosf __exp10f __expf __frcp_rn __frsqrt_rn __fsqrt_rn __log10f __log2f __logf __saturatef __sinf "
    "__tanf __isnanf __isinff __finitef",
    "x x": "__fadd_rn __fdiv_rn __fmul_rn __fsub_rn __powf",
    "x x x": "__fmaf_rn",
    "x p p": "__sincosf",
    "X": "__drcp_rn __dsqrt_rn __isnan __isinf __finite",
    "X X": "__dadd_rn __ddiv_rn __dmul_rn __dsub_rn",
    "X X X": "__fma_rn",
    "u": "__brev __clz __ffs __popc __lastbit_u32_u32",
    "U": "__brevll __clzll __ffsll __popcll __lastbit_u32_u64",
    "u u": "__uhadd __urhadd __umul24 __umulhi",
    "n n": "__hadd __rhadd __mul24 __mulhi",
    "u u u": "__byte_perm __funnelshift_l __funnelshift_lc __funnelshift_r __funnelshift_rc __usad",
    "n n u": "__sad",
    "u u n": "__fns32",
    "U u n": "__fns64",
    "L L": "__mul64hi",
    "U U": "__umul64hi",
}


def test_every_documented_function_takes_its_arguments() -> None:
    calls = [
        f"{name}({', '.join(arguments.split())});"
        for table in (FLOATS, DOUBLES, INTRINSICS)
        for arguments, names in table.items()
        for name in names.split()
    ]
    assert len(calls) > 220
    source = """#include <hip/hip_runtime.h>
__global__ void k(int n, long l, unsigned u, long long L, unsigned long long U, float x, double X, float *p,
                  double *P, int *k) {
    const char *s = "";
    """ + "\n    ".join(calls)
    options = CompileOptions("gfx90a", name="calls.hip", debug=False, flags=("-w",))
    assert compile_device(source + "\n}\n", options).diagnostics == ()


DIRECTIONS = {"ru": math.ceil, "rd": math.floor, "rz": math.trunc}
OPERATIONS: dict[str, Callable[..., Fraction]] = {
    "add": lambda x, y, z: x + y,
    "sub": lambda x, y, z: x - y,
    "mul": lambda x, y, z: x * y,
    "fma": lambda x, y, z: x * y + z,
    "div": lambda x, y, z: x / y,
    "rcp": lambda x, y, z: 1 / x,
}


def rounded(exact: Fraction, direction: Callable[[Fraction], int], digits: int, least: int) -> Fraction:
    """A number next to an exact one, with this many binary digits, the last one worth at least 2**least."""
    if exact == 0:
        return exact
    exponent = abs(exact.numerator).bit_length() - exact.denominator.bit_length() - digits - 1
    while abs(exact) >= Fraction(2) ** (exponent + digits):
        exponent += 1
    unit = Fraction(2) ** max(exponent, least)
    return direction(exact / unit) * unit


def root(x: Fraction, direction: Callable[[Fraction], int], digits: int) -> Fraction:
    """Enough digits of a root to decide whether there is a remainder."""
    scale = 4 ** (digits + 600)
    whole = math.isqrt(x.numerator * scale // x.denominator)
    exact = Fraction(whole, 2 ** (digits + 600))
    return exact if exact * exact == x else exact + Fraction(1, 2 ** (digits + 602))


def test_directed_roundings(generator: np.random.Generator) -> None:
    """Against exact fractions: sums that cancel, denormal results, quotients and roots, of both widths."""
    # Products and quotients of these powers of two become denormal, and none infinite.
    for dtype, digits, least, letter, ends, other in (
        (np.float32, 24, -149, "f", (-80, 50), 70),
        (np.float64, 53, -1074, "d", (-620, 400), 455),
    ):
        powers = [generator.integers(*at, 64) for at in (ends, (-other, other), ends)]
        x, y, z = generator.uniform(1, 2, (3, 64)) * 2.0 ** np.array(powers)
        x, y, z = (np.where(generator.integers(0, 2, 64), v, -v).astype(dtype) for v in (x, y, z))
        y[:16] = (x[:16] * generator.uniform(-2, -0.5, 16)).astype(dtype)
        z[16:32] = -(x[16:32].astype(np.float64) * y[16:32]).astype(dtype)
        names = list(product(["add", "sub", "mul", "fma", "div", "rcp", "sqrt"], DIRECTIONS))
        out = np.zeros((len(names), 64), dtype)
        lines = []
        for at, (name, suffix) in enumerate(names):
            function = f"__{letter}{name}" if name != "fma" else "__fmaf" if letter == "f" else "__fma"
            arguments = {"fma": "a[i], b[i], c[i]", "rcp": "a[i]", "sqrt": "fabs(a[i])"}.get(
                name, "a[i], b[i]"
            )
            lines.append(f"d[{64 * at} + i] = {function}_{suffix}({arguments});")
        flags = ["-DOCML_BASIC_ROUNDED_OPERATIONS"]
        launch("\n".join(lines), x, y, z, out, arch="gfx942", flags=flags)
        for (name, suffix), row in zip(names, out, strict=True):
            for values, got in zip(
                zip(x.tolist(), y.tolist(), z.tolist(), strict=True), row.tolist(), strict=True
            ):
                numbers = [Fraction(value) for value in values]
                exact = (
                    root(abs(numbers[0]), math.floor, digits)
                    if name == "sqrt"
                    else OPERATIONS[name](*numbers)
                )
                expected = rounded(exact, DIRECTIONS[suffix], digits, least)
                assert Fraction(got) == expected, (letter, name, suffix, values, got, float(expected))


def test_dot_products() -> None:
    """amd_mixed_dot of every type, and saturation."""
    a = np.array([0x7FFF7FFF, 0x80018002, 0x12F48A67], np.uint32)
    out = np.zeros(8, np.int32)
    launch(
        """
        if (i) return;
        auto of = [&]<typename P>(P) { return __builtin_bit_cast(P, a[1]); };
        b[0] = amd_mixed_dot(of(short2()), of(short2()), 5, false);
        b[1] = (int)amd_mixed_dot(of(ushort2()), of(ushort2()), 5u, true);
        b[2] = amd_mixed_dot(__builtin_bit_cast(char4, a[2]), __builtin_bit_cast(char4, a[2]), -7, false);
        const uchar4 bytes = __builtin_bit_cast(uchar4, a[2]);
        b[3] = (int)amd_mixed_dot(bytes, bytes, 7u, false);
        b[4] = amd_mixed_dot((int)a[2], (int)a[2], 1, false);
        b[5] = (int)amd_mixed_dot(a[2], a[2], 1u, false);
        b[6] = amd_mixed_dot((int)0x88888888, (int)0x88888888, 0x7fffffff, true);
        b[7] = (int)amd_mixed_dot(__floats2half2_rn(1.5f, -2.0f), __floats2half2_rn(4.0f, 3.0f), 9.0f, false);
        """,
        a,
        out,
        top="#include <hip/hip_fp16.h>",
    )
    signed = np.frombuffer(a[2:].tobytes(), np.int8).astype(int)
    unsigned = signed & 255
    halves = [0x8001 - 0x10000, 0x8002 - 0x10000]
    nibbles = [int(a[2]) >> 4 * n & 15 for n in range(8)]
    assert out[0] == halves[0] ** 2 + halves[1] ** 2 + 5 - (1 << 32) * (
        halves[0] ** 2 + halves[1] ** 2 + 5 >= 1 << 31
    )
    assert out.view(np.uint32)[1] == min(0x8001**2 + 0x8002**2 + 5, (1 << 32) - 1)
    assert out[2] == (signed**2).sum() - 7
    assert out[3] == (unsigned**2).sum() + 7
    assert out[4] == sum((n - 16 * (n > 7)) ** 2 for n in nibbles) + 1
    assert out[5] == sum(n**2 for n in nibbles) + 1
    assert out[6] == 0x7FFFFFFF
    assert out[7] == 9
