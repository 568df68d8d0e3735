"""The code objects that the fuzzers start from: one to be filled with random code, one of real kernels."""

from __future__ import annotations

import io
import struct
from dataclasses import dataclass
from functools import cache

from elftools.elf.elffile import ELFFile

from workbench.codeobject import CodeObject
from workbench.toolchain import CompileOptions, compile_device

DWORDS = 1024
"""Room for code in the template."""

_ATTRIBUTES = """
#define GLOBAL extern "C" __attribute__((global))
#define DEVICE __attribute__((device))
#define SHARED __attribute__((shared))
#define LANE __builtin_amdgcn_workitem_id_x()
#define GROUP __builtin_amdgcn_workgroup_id_x()
"""

_TEMPLATE = f"""{_ATTRIBUTES}
GLOBAL void fuzz(unsigned *a, unsigned *b, unsigned long c, unsigned long d) {{
    asm volatile(".rept {DWORDS}\\n s_nop 0\\n .endr");
    a[LANE] = b[LANE] + c + d;
}}
"""

KERNELS = f"""{_ATTRIBUTES}
DEVICE int table[64] = {{1, 2, 3}};
DEVICE int *inside = &table[5];

GLOBAL void add(const float *a, const float *b, float *c, int n) {{
    int i = GROUP * 256 + LANE;
    if (i < n) c[i] = a[i] + b[i];
}}
GLOBAL void gather(const int *index, const float *from, float *to, int n) {{
    for (int i = LANE; i < n; i += 64) to[i] = from[index[i]];
}}
GLOBAL void chase(unsigned long *p, unsigned long *out, int n) {{
    for (int i = 0; i < n; i++) p = (unsigned long *)*p;
    *out = (unsigned long)p;
}}
GLOBAL void shared(int *out, int place, int stride, int n) {{
    SHARED int tile[256];
    for (int i = 0; i < n; i++) tile[place + LANE * stride] = i;
    __builtin_amdgcn_s_barrier();
    out[LANE] = tile[(place + 1) & 255] + *inside;
}}
GLOBAL void scratch(int *out, int place, int value) {{
    volatile int local[32];
    for (int i = 0; i < 32; i++) local[i] = i;
    local[place] = value;
    out[LANE] = local[(place + LANE) & 31];
}}
GLOBAL void spin(volatile int *flag, int wanted) {{
    while (*flag != wanted) {{}}
}}
GLOBAL void meet(int *out, int who) {{
    if (LANE / 64 < who) __builtin_amdgcn_s_barrier();
    out[LANE] = who;
}}
GLOBAL void assertion(int *out, int limit) {{
    if (LANE > limit) __builtin_trap();
    out[LANE] = 1;
}}
typedef void (*Step)(int *);
DEVICE __attribute__((noinline)) void up(int *x) {{ *x += 1; }}
DEVICE __attribute__((noinline)) void down(int *x) {{ *x -= 1; }}
GLOBAL void call(int *x, unsigned long where, int choice) {{
    Step steps[2] = {{up, down}};
    Step step = choice < 2 ? steps[choice & 1] : (Step)where;
    step(x + LANE);
}}
GLOBAL void atomics(unsigned *x, unsigned long *y, float *z, int place) {{
    __atomic_fetch_add(x + place, 1u, __ATOMIC_RELAXED);
    __atomic_fetch_max(y + LANE, 77ul, __ATOMIC_RELAXED);
    z[place] += 1.0f;
}}
"""


# The order of waves does not matter: each work-group has its own part of `out`, and sums are of integers.
DETERMINISTIC = f"""{_ATTRIBUTES}
GLOBAL void each(const unsigned *in, unsigned *out, int n) {{
    unsigned h = in[LANE] * 2654435761u + GROUP;
    for (int i = 0; i < n; i++) h = h * 1664525u + 1013904223u + (h >> 13);
    out[GROUP * 256 + LANE] = h;
}}
GLOBAL void floats(const float *in, float *out, int n) {{
    float x = in[LANE], y = GROUP;
    for (int i = 0; i < n; i++) {{
        y = __builtin_fmaf(x, 0.75f, y * 0.5f);
        x = __builtin_sqrtf(__builtin_fabsf(y)) - __builtin_amdgcn_exp2f(-x * x);
    }}
    out[GROUP * 256 + LANE] = x + y;
}}
GLOBAL void tiles(const unsigned *in, unsigned *out, int n) {{
    SHARED unsigned tile[512];
    tile[LANE] = in[LANE] + GROUP;
    for (int i = 0; i < n; i++) {{
        __builtin_amdgcn_s_barrier();
        unsigned x = tile[(LANE * 7 + i) & 255];
        __builtin_amdgcn_s_barrier();
        tile[LANE] = x * 3 + tile[LANE];
    }}
    out[GROUP * 256 + LANE] = tile[LANE];
}}
GLOBAL void sums(const unsigned *in, unsigned *out, int n) {{
    for (int i = 0; i < n; i++)
        __atomic_fetch_add(out + ((LANE * 5 + i) & 255), in[LANE] + i, __ATOMIC_RELAXED);
}}
GLOBAL void diverging(const unsigned *in, unsigned *out, int n) {{
    unsigned x = in[LANE] + GROUP, steps = 0;
    while (x > 1 && steps < (unsigned)n) {{
        x = x & 1 ? 3 * x + 1 : x / 2;
        steps++;
    }}
    out[GROUP * 256 + LANE] = steps * 65536 + x;
}}
"""

# Kernels that run until they are stopped.
ENDLESS = f"""{_ATTRIBUTES}
GLOBAL void spin(volatile int *flag, int who) {{
    while (*flag != -12345) {{}}
}}
GLOBAL void spin_atomic(int *flag, int who) {{
    while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) != -12345) __builtin_amdgcn_s_sleep(1);
}}
GLOBAL void compute(int *flag, int who) {{
    // The compiler leaves nothing of a loop without an end and an effect.
    unsigned x = LANE | 1;
    while (x) {{
        x = x * 2654435761u | 1;
        asm volatile("" : "+v"(x));
    }}
    *flag = x;
}}
GLOBAL void between_barriers(volatile int *flag, int who) {{
    for (;;) {{
        if ((int)(LANE / 64) == who)
            while (*flag != -12345) {{}}
        __builtin_amdgcn_s_barrier();
    }}
}}
GLOBAL void barriers(int *flag, int who) {{
    for (;;) __builtin_amdgcn_s_barrier();
}}
GLOBAL void wait_for_groups(int *flag, int who) {{
    // Nobody ever adds enough.
    __atomic_fetch_add(flag, 1, __ATOMIC_RELAXED);
    while (__atomic_load_n(flag, __ATOMIC_RELAXED) < (1 << 30)) __builtin_amdgcn_s_sleep(2);
}}
GLOBAL void stream(float *flag, int who) {{
    for (unsigned i = LANE;; i = (i + 64) & 1023) flag[i & 255] += 1.0f;
}}
"""


@cache
def endless(target: str) -> bytes:
    """A code object of ENDLESS."""
    return compile_device(ENDLESS, CompileOptions(target, name="fuzz_endless.hip")).code_object


@cache
def deterministic(target: str) -> bytes:
    """A code object of DETERMINISTIC."""
    return compile_device(DETERMINISTIC, CompileOptions(target, name="fuzz_deterministic.hip")).code_object


@cache
def kernels(target: str) -> bytes:
    """A code object of ordinary kernels with debug information."""
    return compile_device(KERNELS, CompileOptions(target, name="fuzz_kernels.hip")).code_object


@dataclass(frozen=True)
class Template:
    """A code object with room for code at its kernel's entry.

    Attributes:
        data: its bytes.
        code: byte in the file where the kernel's code begins.
        room: bytes of code there.
        descriptor: byte in the file where the kernel's descriptor begins.
    """

    data: bytes
    code: int
    room: int
    descriptor: int

    def filled(self, code: bytes, descriptor: dict[int, int]) -> bytes:
        """The code object with other code, and dwords of the descriptor by byte offset."""
        data = bytearray(self.data)
        data[self.code : self.code + len(code)] = code
        for offset, value in descriptor.items():
            struct.pack_into("<I", data, self.descriptor + offset, value & 0xFFFFFFFF)
        return bytes(data)

    def word(self, offset: int) -> int:
        """A dword of the descriptor."""
        return int(struct.unpack_from("<I", self.data, self.descriptor + offset)[0])


@cache
def template(target: str) -> Template:
    """The template of a target."""
    data = compile_device(
        _TEMPLATE, CompileOptions(target, name="fuzz_template.hip", debug=False)
    ).code_object
    kernel = CodeObject.from_bytes(data).kernels["fuzz"]
    places = {}
    for segment in ELFFile(io.BytesIO(data)).iter_segments("PT_LOAD"):
        for name, address in (("entry", kernel.entry), ("descriptor", kernel.descriptor_address)):
            if 0 <= address - segment["p_vaddr"] < segment["p_filesz"]:
                places[name] = segment["p_offset"] + address - segment["p_vaddr"]
    return Template(data, places["entry"], 4 * DWORDS, places["descriptor"])
