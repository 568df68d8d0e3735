"""Programs of other people that `hip_programs.py` builds and runs: what their own build files would say.

Commands are a shell's, in the program's folder; `$NAME` is the checkout of that name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Program:
    """A program.

    Attributes:
        collection: name of the checkout.
        name: what the table calls it.
        folder: where it is in the checkout, and its commands are started.
        build: makes it.
        run: starts it, with its own arguments for a small problem.
        says: a pattern that its output must have, where its exit status tells nothing.
        own: what is wrong with the program itself, by reading it; then it is only built.
    """

    collection: str
    name: str
    folder: str
    build: str
    run: str
    says: str = ""
    own: str = ""


def _rocm_examples(checkout: Path) -> Iterator[Program]:
    makes = {
        "device_query": "make CXX=hipcc HIPCXX=hipcc",
        "static_host_library": "make CXX=hipcc HIPCXX=hipcc",
        "hipify": "make HIPCXX=hipcc ROCM_INSTALL_DIR=${ROCM_PATH:-/opt/rocm}",
    }
    lines = {
        "hello_world_cuda": ("hipcc -std=c++17 -I../../Common main.hip -o hello_world", "./hello_world"),
    }
    for makefile in sorted(checkout.glob("[HA]*/*/main.*")):
        folder = makefile.parent
        name = folder.name
        if name in lines:
            build, run = lines[name]
        else:
            made = re.search(r"^EXAMPLE *:= *(\S+)", (folder / "Makefile").read_text(), re.MULTILINE)
            assert made, folder
            build, run = makes.get(name, "make HIPCXX=hipcc"), f"./{made[1]}"
        if name == "bandwidth":
            run += " -trials 1"
        relative = folder.relative_to(checkout)
        yield Program("rocm-examples", str(relative), str(relative), build, run)


_SAMPLES = "hipcc -I../../common"


def _hip_tests(checkout: Path) -> Iterator[Program]:
    def sample(
        folder: str, source: str, *, name: str = "", build: str = "", flags: str = "", run: str = "./program"
    ):
        own = f"{_SAMPLES}{flags} {source} -o program"
        return Program(
            "hip-tests",
            name or f"{folder}/{source.rsplit('.', 1)[0].rsplit('/', 1)[-1]}",
            f"samples/{folder}",
            f"{build} && {own}" if build else own,
            run,
        )

    code = "hipcc --genco vcpy_kernel.cpp -o vcpy_kernel.code"
    yield sample("0_Intro/bit_extract", "bit_extract.cpp")
    for source in ("runKernel.cpp", "launchKernelHcc.cpp", "defaultDriver.cpp"):
        yield sample("0_Intro/module_api", source, build=code)
    yield sample("0_Intro/module_api_global", "runKernel.cpp", build=code)
    yield sample("0_Intro/square", "square.hipref.cpp")
    code = "hipcc --genco test_kernel.cpp -o test_kernel.code"
    yield sample("1_Utils/hipDispatchLatency", "hipDispatchLatency.cpp", build=code)
    yield sample(
        "1_Utils/hipDispatchLatency",
        "hipDispatchEnqueueRateMT.cpp",
        build=code,
        flags=" -pthread",
        run="./program 2 0",
    )
    yield sample("1_Utils/hipInfo", "hipInfo.cpp")
    book = "2_Cookbook/"
    for path in sorted(checkout.glob("samples/2_Cookbook/*/*.[ch][pi]p")):
        folder = path.parent.name
        if folder[:2] not in ("11", "15", "16", "17"):
            yield sample(book + folder, path.name)
    yield sample(
        book + "11_texture_driver",
        "texture2dDrv.cpp",
        build="hipcc --genco tex2dKernel.cpp -o tex2dKernel.code",
    )
    yield Program(
        "hip-tests",
        book + "15_static_library/device_functions",
        "samples/2_Cookbook/15_static_library/device_functions",
        "hipcc -fgpu-rdc -c hipDevice.cpp && ar rcsD libHipDevice.a hipDevice.o && "
        "hipcc -fgpu-rdc -I../../../common hipMain2.cpp libHipDevice.a -o program",
        "./program",
    )
    yield Program(
        "hip-tests",
        book + "15_static_library/host_functions",
        "samples/2_Cookbook/15_static_library/host_functions",
        "hipcc -I../../../common hipOptLibrary.cpp --emit-static-lib -fPIC -o libHipOptLibrary.a && "
        "hipcc -I../../../common hipMain1.cpp -L. -lHipOptLibrary -o program",
        "./program",
    )
    tail = " -type=o -bundle-align=4096 -targets=host-x86_64-unknown--linux,hipv4-amdgcn-amd-amdhsa--$TARGET"
    for folder, suffix in (
        ("16_assembly_to_executable", "-S"),
        ("17_llvm_ir_to_executable", "-S -emit-llvm"),
    ):
        device = "square.s" if suffix == "-S" else "square.ll"
        yield Program(
            "hip-tests",
            f"{book}{folder}/square",
            f"samples/{book}{folder}",
            f"{_SAMPLES} -c --cuda-host-only square.cpp -o host.o && "
            f"{_SAMPLES} -c {suffix} --cuda-device-only --offload-arch=$TARGET square.cpp -o {device} && "
            f"clang -target amdgcn-amd-amdhsa -mcpu=$TARGET {device} -o device.o && "
            f"clang-offload-bundler{tail} -input=/dev/null -input=device.o -output=offload_bundle.hipfb && "
            "llvm-mc hip_obj_gen.mcin -o bundle.o --filetype=obj && hipcc host.o bundle.o -o program",
            "./program",
        )


def _hip_examples(checkout: Path) -> Iterator[Program]:
    def own(name: str, folder: str, build: str, run: str, says: str = "") -> Program:
        return Program("HIP-Examples", name, folder, build, run, says)

    applications = "HIP-Examples-Applications"
    small = {
        "BinomialOption": "-x 64 -e",
        "FastWalshTransform": "-x 4096 -e",
        "FloydWarshall": "-x 64 -e",
        "Histogram": "-x 256 -y 256 -e",
        "MatrixMultiplication": "-x 64 -y 64 -z 64 -e",
        "BitonicSort": "-x 1024 -e",
        "PrefixSum": "-x 512 -e",
        "RecursiveGaussian": "-e",
        "SimpleConvolution": "-x 64 -y 64 -e",
        "dct": "-x 64 -y 64 -e",
        "dwtHaar1D": "-x 1024 -e",
    }
    make = "make HIPCC=hipcc CXX=hipcc"
    for path in sorted(checkout.glob(f"{applications}/*/Makefile")):
        name = path.parent.name
        yield own(name, f"{applications}/{name}", f"{make} {name}", f"./{name} {small.get(name, '')}".strip())
    yield own("vectorAdd", "vectorAdd", f"{make} ./vectoradd_hip.exe", "./vectoradd_hip.exe", "PASSED")
    yield own("gpu-burn", "gpu-burn", make, "build/gpuburn-hip -t 1")
    yield own("strided-access", "strided-access", make, "./strided-access")
    yield own("rtm8", "rtm8", f"{make} rtm8", "./rtm8")
    yield own("reduction", "reduction", f"{make} reduction", "./reduction 65536")
    for kind in ("orig", "soa", "block"):
        source = f"nbody-{kind}"
        build = f"hipcc -I../ -DSHMOO {source}.cpp -o {source}"
        yield own(f"mini-nbody/{source}", "mini-nbody/hip", build, f"./{source} 1024")
    yield own("add4", "add4", f"{make} gpu-stream-hip", "./gpu-stream-hip -s 65536 -n 2")
    yield own("cuda-stream", "cuda-stream", make, "./stream -n 65536")
    yield own(
        "openmp-helloworld", "openmp-helloworld", f"{make} ./openmp_helloworld.exe", "./openmp_helloworld.exe"
    )


def _babelstream(_: Path) -> Iterator[Program]:
    for memory in ("DEFAULT", "MANAGED", "PAGEFAULT"):
        yield Program(
            "BabelStream",
            f"hip, {memory}",
            ".",
            f"hipcc -O3 -std=c++17 -DHIP -D{memory} -Isrc -Isrc/hip src/main.cpp src/hip/HIPStream.cpp "
            "-o stream",
            "./stream -s 65536 -n 2 && ./stream -s 65536 -n 2 --float",
        )


def _configured(template: str, header: str) -> str:
    """What writes a header of a library that its own build fills in: numbers of a version."""
    folder = f"configured/{header.rpartition('/')[0]}"
    return f"mkdir -p {folder} && sed -E 's/^@.*//; s/@[A-Za-z_]+@/3/g' {template} > configured/{header}"


_VERSIONS = " && ".join(
    _configured(f"${name}/{template}.in", header)
    for name, template, header in (
        ("rocPRIM", "rocprim/include/rocprim/rocprim_version.hpp", "rocprim/rocprim_version.hpp"),
        ("hipCUB", "hipcub/include/hipcub/hipcub_version.hpp", "hipcub/hipcub_version.hpp"),
        ("rocThrust", "thrust/rocthrust_version.hpp", "thrust/rocthrust_version.hpp"),
    )
)
# Since clang 19 an error, which its sources have.
_PRIMITIVES = (
    "hipcc -std=c++17 -w -Wno-missing-template-arg-list-after-template-kw "
    "-Iconfigured -Iconfigured/rocprim -I$rocPRIM/rocprim/include"
)


def _rocprim(_: Path) -> Iterator[Program]:
    source = "example/example_temporary_storage"
    yield Program(
        "rocPRIM", source, ".", f"{_VERSIONS} && {_PRIMITIVES} {source}.cpp -o program", "./program"
    )


_ENDLESS = "never ends by itself: its RandomBits leaves its loop for floating point only"


def _hipcub(checkout: Path) -> Iterator[Program]:
    for path in sorted(checkout.glob("examples/device/*.cpp")):
        name = str(path.relative_to(checkout).with_suffix(""))
        build = (
            f"{_VERSIONS} && {_PRIMITIVES} -Ihipcub/include -x hip {path.relative_to(checkout)} -o program"
        )
        own = "" if path.stem in ("example_device_reduce", "example_device_scan") else _ENDLESS
        yield Program("hipCUB", name, ".", build, "./program", own=own)


_THRUST = "norm scan_by_key sort stream_compaction set_operations run_length_encoding histogram sum minmax"
"""Of rocThrust's examples, one an algorithm: each takes minutes to compile."""


def _rocthrust(_: Path) -> Iterator[Program]:
    for name in _THRUST.split():
        build = f"{_VERSIONS} && {_PRIMITIVES} -I. -Iexamples -x hip examples/{name}.cu -o program"
        yield Program("rocThrust", f"examples/{name}", ".", build, "./program")


def _rocrand(checkout: Path) -> Iterator[Program]:
    test = "$googletest/googletest"
    version = _configured("library/include/rocrand/rocrand_version.h.in", "rocrand/rocrand_version.h")
    for path in sorted(checkout.glob("test/test_rocrand_kernel_*.cpp")):
        build = (
            f"{version} && hipcc -std=c++17 -w -O1 -Iconfigured -Ilibrary/include -I{test}/include -I{test} "
            f"test/{path.name} -x c++ {test}/src/gtest-all.cc {test}/src/gtest_main.cc -pthread -o program"
        )
        yield Program("rocRAND", f"test/{path.stem}", ".", build, "./program")


_CK = (
    "mkdir -p configured/ck && "
    "sed -E 's/^#cmakedefine ([A-Z0-9_]+) .*/#define \\1 1/' include/ck/config.h.in "
    "> configured/ck/config.h && "
    "sed -E 's/@[A-Za-z_]+@/3/g' include/ck/version.h.in > configured/ck/version.h && "
    "hipcc -std=c++17 -w -Iconfigured -Iinclude -Ilibrary/include {source}.cpp "
    "library/src/utility/host_tensor.cpp library/src/utility/device_memory.cpp -o program"
)


def _composable_kernel(_: Path) -> Iterator[Program]:
    for source, arguments in (
        ("example/01_gemm/gemm_xdl_fp16", "1 1 0 256 128 64 64 128 128"),
        ("example/13_pool2d_fwd/pool2d_fwd_fp32", "1 1 0 2 32 2 2 8 8 2 2 1 1 1 1 1 1"),
        ("example/23_softmax/softmax_blockwise", "-D 2,16,128 -v 1 1 0"),
    ):
        yield Program("composable_kernel", source, ".", _CK.format(source=source), f"./program {arguments}")


COLLECTIONS: dict[str, Callable[[Path], Iterator[Program]]] = {
    "rocm-examples": _rocm_examples,
    "hip-tests": _hip_tests,
    "HIP-Examples": _hip_examples,
    "BabelStream": _babelstream,
    "rocPRIM": _rocprim,
    "hipCUB": _hipcub,
    "rocThrust": _rocthrust,
    "rocRAND": _rocrand,
    "composable_kernel": _composable_kernel,
}
"""By the checkout's name, its programs."""
