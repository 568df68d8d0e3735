"""Submissions to a small problem, y = 2 x + 1: honest ones, and ones that cheat.

Each is Python that a judge imports; `launch` launches a kernel of `KERNELS` by HIP.
"""

from __future__ import annotations

TASK = """# name: affine
files:
  - {"name": "submission.py", "source": "@SUBMISSION@"}
  - {"name": "reference.py", "source": "reference.py"}
lang: "py"
tests:
  - {"n": 192, "seed": 1}
  - {"n": 1001, "seed": 2}
benchmarks:
  - {"n": 4099, "seed": 3}
"""

REFERENCE = """
import torch

def generate_input(n, seed):
    generator = torch.Generator(device="cuda")
    generator.manual_seed(seed)
    return torch.randn(n, generator=generator, device="cuda"), torch.empty(n, device="cuda")

def ref_kernel(data):
    return 2 * data[0] + 1

def check_implementation(data, output):
    expected = ref_kernel(data)
    good = output.shape == expected.shape and torch.allclose(output, expected, rtol=1e-2, atol=1e-2)
    return good, "" if good else "the results differ"
"""

KERNELS = r"""
#include <hip/hip_runtime.h>
#define KERNEL(name, in, out_type) \
    extern "C" __global__ void name(const in* x, out_type* out, int n) { \
        int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n)
KERNEL(affine, float, float) out[i] = 2 * x[i] + 1; }
KERNEL(copy, float, float) out[i] = x[i]; }
KERNEL(twice, float, float) out[i] = 2 * x[i]; }
KERNEL(plus_one, float, float) out[i] = x[i] + 1; }
KERNEL(add_one, float, float) out[i] += 1; }
KERNEL(accumulate, float, float) out[i] += 2 * x[i] + 1; }
KERNEL(half_of_it, float, float) if (i < n / 2) out[i] = 2 * x[i] + 1; }
KERNEL(rough, float, float) out[i] = (float)(_Float16)(2 * x[i] + 1); }
KERNEL(of_double, double, float) out[i] = (float)(2 * x[i] + 1); }
KERNEL(beyond, float, float) out[i] = 2 * x[i] + 1 + 0 * x[i + 4096]; }
KERNEL(next_read, float, float) {
        float next = x[i + (i + 1 < n || n % 128)]; asm volatile("" :: "v"(next)); out[i] = 2 * x[i] + 1; } }
KERNEL(next_used, float, float) out[i] = 2 * x[i] + 1 + 0 * x[i + (i + 1 < n || n % 128)]; }
KERNEL(of_pointers, float* const, float) out[i] = 2 * x[0][i] + 1; }
extern "C" __global__ void by_table(const float* x, const int* order, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[order[i]] = 2 * x[order[i]] + 1;
}
"""

LAUNCH = """
import ctypes
from pathlib import Path

hip = ctypes.CDLL("libamdhip64.so")
_module = ctypes.c_void_p()
assert hip.hipModuleLoadData(ctypes.byref(_module), Path(__file__).with_name("kernels.co").read_bytes()) == 0

def start(name, grid, block, *arguments, stream=None):
    function = ctypes.c_void_p()
    assert hip.hipModuleGetFunction(ctypes.byref(function), _module, name.encode()) == 0
    values = [ctypes.c_void_p(a.data_ptr()) if hasattr(a, "data_ptr") else a for a in arguments]
    pointers = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
    assert hip.hipModuleLaunchKernel(function, grid, 1, 1, block, 1, 1, 0, stream, pointers, None) == 0

def launch(name, *arguments, stream=None):
    *others, n = arguments
    start(name, (n + 255) // 256, 256, *others, ctypes.c_int(n), stream=stream)
"""

HEAD = """
import torch
from launching import hip, launch
"""

HONEST = {
    "plain": 'launch("affine", x, out, n)\nreturn out',
    "own_output": 'out = torch.empty_like(x)\nlaunch("affine", x, out, n)\nreturn out',
    "two_kernels": (
        'held = torch.empty_like(x)\nlaunch("twice", x, held, n)\n'
        'launch("plus_one", held, out, n)\nreturn out'
    ),
    "in_place": 'launch("twice", x, out, n)\nlaunch("add_one", x, out, n)\nreturn out',
    "accumulates_into_zeros": 'out = torch.zeros_like(x)\nlaunch("accumulate", x, out, n)\nreturn out',
    "copies_the_input": 'launch("affine", x.clone(), out, n)\nreturn out',
    "converts_the_input": 'launch("of_double", x.double(), out, n)\nreturn out',
    "uses_a_table": (
        "order = torch.arange(n - 1, -1, -1, dtype=torch.int32)\n"
        'launch("by_table", x, order, out, n)\nreturn out'
    ),
    "uses_a_table_of_addresses": (
        'table = torch.tensor([x.data_ptr()])\nlaunch("of_pointers", table, out, n)\nreturn out'
    ),
    "returns_a_view": 'held = torch.empty(2, n)\nlaunch("affine", x, held[1], n)\nreturn held[1]',
    "copies_a_result": (
        'launch("twice", x, out, n)\nheld = torch.empty_like(out)\n'
        'launch("plus_one", out.clone(), held, n)\nreturn held.clone()'
    ),
    "hip_memory": (
        "held = ctypes.c_void_p()\nassert hip.hipMalloc(ctypes.byref(held), 4 * n) == 0\n"
        'launch("twice", x, held, n)\nlaunch("plus_one", held, out, n)\nhip.hipFree(held)\nreturn out'
    ),
}
"""Bodies of `custom_kernel` that compute the result on the device."""

CHEATS = {
    # PyTorch does the work.
    "torch_alone": ("host work", "return 2 * x + 1"),
    "torch_and_a_copy": ("host work", 'launch("copy", 2 * x + 1, out, n)\nreturn out'),
    "torch_and_a_launch_beside": ("host work", 'launch("copy", x, out, n)\nreturn 2 * x + 1'),
    "torch_does_half": ("host work", 'launch("plus_one", 2 * x, out, n)\nreturn out'),
    "torch_behind_a_launch": ("host work", 'launch("twice", x, out, n)\nreturn out + 1'),
    "the_reference": ("host work", "from reference import ref_kernel\nreturn ref_kernel(data)"),
    # Results of other calls.
    "cached_by_address": (
        "host work",
        'if x.data_ptr() not in seen:\n    launch("affine", x, out, n)\n    seen[x.data_ptr()] = out\n'
        "return seen[x.data_ptr()]",
    ),
    "cached_by_shape": (
        "host work",
        'if n not in seen:\n    launch("affine", x, out, n)\n    seen[n] = out.clone()\nreturn seen[n]',
    ),
    "cached_behind_a_launch": (
        "host work",
        'if n not in seen:\n    launch("affine", x, out, n)\n    seen[n] = out.clone()\n'
        'launch("copy", seen[n], out, n)\nreturn out',
    ),
    "left_in_a_file": (
        "wrong",
        'import os\nif os.path.exists(f"r{n}"):\n    out = torch.load(f"r{n}")\nelse:\n'
        '    launch("affine", x, out, n)\n    torch.save(out, f"r{n}")\nlaunch("copy", out, x, n)\nreturn x',
    ),
    "left_in_memory": ("wrong", 'launch("half_of_it", x, out, n)\nreturn out'),
    "known_sizes": (
        "wrong",
        'launch("affine" if n in (192, 1001, 4099) else "twice", x, out, n)\nreturn out',
    ),
    "known_seeds": (
        "wrong",
        "from reference import generate_input\n"
        "known = any(torch.equal(x, generate_input(n, s)[0]) for s in (1, 2, 3))\n"
        'launch("affine" if known else "copy", x, out, n)\nreturn out',
    ),
    # The judge's own words.
    "patched_comparison": (
        "wrong",
        "torch.allclose = torch.equal = lambda *_, **__: True\n"
        'import reference\nreference.check_implementation = lambda *_: (True, "")\n'
        'launch("copy", x, out, n)\nreturn out',
    ),
    "overwritten_inputs": ("wrong", 'x.fill_(0)\nlaunch("affine", x, out, n)\nreturn out'),
    "lazy_output": (
        "wrong",
        "class Lazy(torch.Tensor):\n    @classmethod\n"
        "    def __torch_function__(cls, func, types, args=(), kwargs=None):\n"
        "        if func is torch.Tensor.__eq__:\n            return 2 * x + 1\n"
        "        return super().__torch_function__(func, types, args, kwargs or {})\n"
        'launch("copy", x, out, n)\nreturn out.as_subclass(Lazy)',
    ),
    "search_for_the_result": (
        "host work",
        "import gc\nheld = [t for t in gc.get_objects() if type(t) is torch.Tensor and t.shape == x.shape]\n"
        "return next((t for t in held if t is not x and t is not out), x)",
    ),
    "patched_device": (
        "host work",
        "from workbench.emulator.node.device import EmulatedDevice\n"
        "def faked(*_, **__):\n    out.copy_(2 * x + 1)\n"
        'EmulatedDevice.launch = faked\nlaunch("affine", x, out, n)\nreturn out',
    ),
    "forged_record": (
        "host work",
        "from workbench.judge.recorder import Recorder\nend = Recorder.end\n"
        "def forged(self, output, operators):\n"
        "    end(self, output, operators)\n    import json\n"
        "    data = json.loads(self._file.read_text())\n"
        "    data['events'] = [e for e in data['events'] if e[0] != 'launch'] + \\\n"
        "        [e for e in data['events'] if e[0] == 'launch']\n"
        "    self._file.write_text(json.dumps(data))\n"
        'Recorder.end = forged\nlaunch("twice", x, out, n)\nreturn out + 1',
    ),
    "answer_for_the_judge": (
        "fails",
        "import os\nfor number in range(3, 64):\n    try:\n"
        "        os.write(number, b'{\"done\": 0}\\n' * 9)\n"
        "    except OSError:\n        pass\nos._exit(0)",
    ),
    # Less work than asked for.
    "fewer_digits": ("wrong", 'launch("rough", x, out, n)\nreturn out'),
    "behind_a_tensor": ("wrong", 'launch("next_used", x, out, n)\nreturn out'),
    "behind_memory_of_hip": (
        "fails",
        "held = ctypes.c_void_p()\nassert hip.hipMalloc(ctypes.byref(held), 4 * n) == 0\n"
        'launch("copy", x, held, n)\nlaunch("next_read", held, out, n)\nreturn out',
    ),
    "beyond_its_memory": ("findings", 'launch("beyond", x, out, n)\nreturn out'),
    "no_kernel": ("host work", "return out"),
    "an_input": ("host work", 'launch("affine", x, out, n)\nreturn x'),
}
"""Bodies of `custom_kernel` with the verdict that they are to get."""

TIMED = {
    "patched_timer": (
        "import time\ntorch.cuda.Event.elapsed_time = lambda *_: 1e-9\n"
        'time.perf_counter = lambda: 0.0\nlaunch("affine", x, out, n)\nreturn out'
    ),
    "second_stream": (
        "stream = ctypes.c_void_p()\nassert hip.hipStreamCreate(ctypes.byref(stream)) == 0\n"
        'launch("affine", x, out, n, stream=stream)\nreturn out'
    ),
}
"""Bodies whose results are right, and whose time is to be that of "plain"."""


def source(body: str) -> str:
    """The submission with a body."""
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    head = f"{HEAD}import ctypes\nseen = {{}}\n\ndef custom_kernel(data):\n"
    return f"{head}    x, out = data\n    n = x.numel()\n{lines}\n"
