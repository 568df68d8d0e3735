"""ROCm's programs that describe a machine and its HIP: `python -m workbench.execute.tools NAME [OPTION ...]`.

They answer queries of build systems and scripts about the emulated devices, as ROCm's do.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from workbench import paths, targets
from workbench.errors import WorkbenchError
from workbench.runtime import Device, device
from workbench.toolchain.compiler import hip_version

_CPU_AGENT = "gfx000"
"""The name that ROCm's programs use for a processor that is not a GPU."""


def _hipconfig(words: Sequence[str]) -> str:
    version = ".".join(map(str, hip_version()))
    root = os.environ.get("ROCM_PATH") or str(paths.hip_include_dir().parent)
    answers = {
        ("--path", "-p", "HIP_PATH"): root,
        ("--rocmpath", "-R", "ROCM_PATH"): root,
        ("--compiler", "-c", "HIP_COMPILER"): "clang",
        ("--platform", "-P", "HIP_PLATFORM"): "amd",
        ("--runtime", "-r", "HIP_RUNTIME"): "rocclr",
        ("--hipclangpath", "-l", "HIP_CLANG_PATH"): str(Path(root) / "llvm" / "bin"),
        ("--cpp_config", "-C", "CPP_CONFIG"): f" -D__HIP_PLATFORM_AMD__= -I{root}/include",
    }
    parser = argparse.ArgumentParser(prog="hipconfig", description="Describes the emulated device's HIP.")
    for (long, short, _), answer in answers.items():
        parser.add_argument(long, short, dest="asked", action="append_const", const=answer)
    parser.add_argument("--version", "-v", dest="asked", action="append_const", const=version)
    parser.add_argument("--newline", "-n", action="store_true", help="end the answer with a line break")
    parser.add_argument("--full", "-f", action="store_true", help="print everything, as without an option")
    options = parser.parse_args(list(words))
    if options.asked and not options.full:
        return "".join(options.asked) + ("\n" if options.newline else "")
    lines = [f"{name:19}:{answer}" for (*_, name), answer in answers.items()]
    return "\n".join([f"HIP version: {version}", "", "==hipconfig", *lines, ""])


def _agent_enumerator(words: Sequence[str]) -> str:
    parser = argparse.ArgumentParser(prog="rocm_agent_enumerator", description="Lists targets, one per line.")
    parser.add_argument("-name", action="store_true", help="with the features that a code object names")
    parser.add_argument("-t", choices=["GPU", "CPU", "ALL", "GFX"], default="GFX", help="agents of this type")
    options = parser.parse_args(list(words))
    name = _target(device()) if options.name else device().arch
    agents = {"CPU": [_CPU_AGENT], "GPU": [name]}.get(options.t, [_CPU_AGENT, name])
    return "".join(f"{agent}\n" for agent in agents)


def _target(chosen: Device) -> str:
    name = chosen.properties["gcnArchName"]
    return name.decode() if isinstance(name, bytes) else str(name)


def _offload_arch(words: Sequence[str]) -> str:
    parser = argparse.ArgumentParser(prog="offload-arch", description="Lists the targets of the devices.")
    parser.add_argument("--only", choices=["amdgpu", "nvptx"], help="targets of one vendor")
    options = parser.parse_args(list(words))
    return "" if options.only == "nvptx" else f"{device().arch}\n"


def _rocminfo(words: Sequence[str]) -> str:
    argparse.ArgumentParser(prog="rocminfo", description="Describes the devices.").parse_args(list(words))
    chosen = device()
    facts = chosen.properties
    name = facts["name"]
    table = {
        "Name": chosen.arch,
        "Marketing Name": name.decode() if isinstance(name, bytes) else name,
        "Vendor Name": "AMD",
        "Device Type": "GPU",
        "Node": 1,
        "Max Clock Freq. (MHz)": facts["clockRate"] // 1000,
        "Compute Unit": facts["multiProcessorCount"] * targets.target(chosen.arch).multiprocessor_units,
        "Wavefront Size": f"{facts['warpSize']}({facts['warpSize']:#x})",
        "Workgroup Max Size": f"{facts['maxThreadsPerBlock']}({facts['maxThreadsPerBlock']:#x})",
    }
    lines = ["ROCk module is not loaded: the device is emulated", "=" * 10, "HSA Agents", "=" * 10]
    lines += ["*" * 7, "Agent 1", "*" * 7]
    lines += [f"  {title + ':':26}{value}" for title, value in table.items()]
    lines += [
        "  ISA Info:",
        "    ISA 1",
        f"      Name:                   amdgcn-amd-amdhsa--{_target(chosen)}",
    ]
    return "\n".join([*lines, "*** Done ***", ""])


TOOLS: dict[str, Callable[[Sequence[str]], str]] = {
    "hipconfig": _hipconfig,
    "offload-arch": _offload_arch,
    "rocm_agent_enumerator": _agent_enumerator,
    "rocminfo": _rocminfo,
}
"""Functions that compute each program's output from its command line."""


def main() -> int:
    name, *words = sys.argv[1:]
    try:
        sys.stdout.write(TOOLS[name](words))
    except WorkbenchError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())


__all__ = ["TOOLS", "main"]
