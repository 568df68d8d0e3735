"""Builds a kernel source with the workbench's hipcc in a copy of its checkout."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from workbench import targets
from workbench.audit.limits import Ended, Limits, run_limited
from workbench.audit.output import first_error, has_verdict
from workbench.audit.references import is_known
from workbench.audit.signature import defaults
from workbench.audit.sizes import Size, is_problem, make_variables, reduced, value
from workbench.audit.sources import KernelSource, Kind, makefile_text, script_of
from workbench.errors import UsageError
from workbench.execute.folder import environment, rocm_folder
from workbench.toolchain.host import python_headers

_MOST = 1 << 30
"""Bytes of the largest checkout that is copied."""

_IGNORED = shutil.ignore_patterns(".git", ".hg", "__pycache__", "node_modules", "*.so", "*.o", "assets")
_MACROS = ("-DHIP_ENABLE_WARP_SYNC_BUILTINS",)


@dataclass(frozen=True)
class Built:
    """A build of a kernel source.

    Attributes:
        product: program or module; None if there is none.
        seconds: wall time.
        reason: the first error; "" for none.
    """

    product: Path | None
    seconds: float
    reason: str = ""


class Workplace:
    """A copy of a kernel source's checkout, in which it is built and run.

    Args:
        source: the kernel source.
        folder: folder for the copy; several sources of a checkout may use it one after the other.
        limits: of the processes.
        smaller: whether sizes of the problem are reduced.

    Attributes:
        path: copy of the source.
        script: copy of the test script that runs the module; None if the audit calls the module itself.
        sizes: what was reduced.
    """

    def __init__(self, source: KernelSource, folder: Path, limits: Limits, smaller: bool = True) -> None:
        self.source = source
        self.limits = limits
        self.root = folder / "checkout"
        if not self.root.exists():
            _copy(source.root, self.root)
        self._tools = python_tools(folder / "bin")
        self.path = self.root / source.name
        self.original = self.path.read_text(encoding="utf-8", errors="replace")
        self._variables = (
            make_variables(makefile_text(source.makefile)) if smaller and source.makefile is not None else ()
        )
        self.sizes: tuple[Size, ...] = ()
        self.text = self.original
        if smaller and source.kind is not Kind.CODE_OBJECT:
            self.text, smaller_sizes = reduced(self.original, self.path.suffix == ".py")
            self.sizes = tuple(size for size in smaller_sizes if is_problem(size.name))
            self.path.write_text(self.text, encoding="utf-8")
        self.script = None
        if (script := script_of(source)) is not None:
            text = script.read_text(encoding="utf-8", errors="replace")
            if has_verdict(text) or not is_known(self.text, source.name):
                self.script = self.root / script.relative_to(source.root)
                if smaller:
                    text, smaller_sizes = reduced(text, is_python=True)
                    self.sizes += tuple(size for size in smaller_sizes if is_problem(size.name))
                    self.script.write_text(text, encoding="utf-8")
        words = (word.partition("=") for word in self._variables)
        by_make = [(name, _default(source, name), int(number)) for name, _, number in words]
        # The Makefile's value goes before that of the source.
        sizes = {size.name: size for size in self.sizes}
        sizes |= {name: Size(name, value(default), size) for name, default, size in by_make if default}
        self.sizes = tuple(sizes.values())

    def restore(self) -> None:
        """Gives the copy its original source again."""
        self.path.write_text(self.original, encoding="utf-8")
        if self.script is not None:
            shutil.copyfile(self.source.root / self.script.relative_to(self.root), self.script)

    def environment(self) -> dict[str, str]:
        """Variables of this process and those with which a child finds the emulated device and the tools."""
        variables = environment(rocm_folder(), os.environ)
        variables["PATH"] = f"{self._tools}{os.pathsep}{variables['PATH']}"
        variables["HIPKITTENS_DEVICE"] = f"emulated:{self.source.target}"
        variables["PYTORCH_ROCM_ARCH"] = self.source.target
        variables["THUNDERKITTENS_ROOT"] = str(self.root)
        variables["HIPKITTENS_HISTORY"] = "off"
        # Sources that are audited side by side may build extensions of one name.
        variables["TORCH_EXTENSIONS_DIR"] = str(self.root.parent / "torch_extensions")
        # The audit's own limits apply, which are of processor time.
        variables["HIPKITTENS_COMPILE_TIMEOUT"] = str(int(10 * self.limits.build))
        return variables

    def build(self, text: str | None = None) -> Built:
        """Builds the source, or another text in its place.

        Raises:
            WorkbenchError: a header that modules need is not installed.
        """
        if text is not None:
            self.path.write_text(text, encoding="utf-8")
        if self.source.kind is Kind.SCRIPT:
            return Built(self.path, 0.0)
        if self.source.kind is Kind.MODULE:
            # A Makefile asks Python for them, and goes on without.
            python_headers()
        before = {path: path.stat().st_mtime_ns for path in self.path.parent.iterdir()}
        command = self._make() if self.source.makefile is not None else self._hipcc()
        ended = self._run(command, self.limits.build)
        product = self._product(before)
        if ended.limit:
            return Built(None, ended.seconds, ended.limit)
        # Recipes that end with `tee` have its exit status and not hipcc's.
        if product is None or not ended.passed or "error:" in ended.output:
            return Built(None, ended.seconds, first_error(ended.output).replace(f"{self.root}/", ""))
        return Built(product, ended.seconds)

    def _run(self, command: list[str], seconds: float) -> Ended:
        return run_limited(
            command, self.path.parent, self.environment(), seconds=seconds, memory=self.limits.memory
        )

    def _make(self) -> list[str]:
        """The call of `make` that builds the source alone, if there is one."""
        assert self.source.makefile is not None
        rules = makefile_text(self.source.makefile)
        words = ["make", "-B", "--no-print-directory", "HIPCXX=hipcc", "PYTHON=python3", "LOGDIR=logs"]
        # The last of two words for a variable counts.
        words += [*defaults(self.original, rules), *self._variables]
        macro = targets.target(self.source.target).macro.removeprefix("KITTENS_")
        if "GPU_TARGET" in rules:
            words.append(f"GPU_TARGET={macro}")
        if "CUSTOM_RULES := 1" not in rules and "$(SRC)" in rules:
            words.append(f"SRC={self.path.name}")
            return words + ([f"TARGET={self.source.module}"] if self.source.module else [])
        for goal in (self.source.module, self.path.stem):
            if goal and self._run([*words, "-n", goal], 60).passed:
                return [*words, goal]
        return words

    def _hipcc(self) -> list[str]:
        """The call of hipcc for a source that no Makefile builds."""
        words = ["hipcc", "-std=c++20", "-O3", "-w", f"--offload-arch={self.source.target}"]
        include = self.root / "include"
        if include.is_dir():
            words.append(f"-I{include}")
        words += [f"-I{self.path.parent}", f"-D{targets.target(self.source.target).macro}", *_MACROS]
        product = self.path.with_suffix("")
        if self.source.kind is Kind.MODULE:
            words += ["-shared", "-fPIC", *python_headers()]
            product = self.path.with_name(self.source.module + sysconfig.get_config_var("EXT_SUFFIX"))
        return [*words, self.path.name, "-o", str(product)]

    def _product(self, before: Mapping[Path, int]) -> Path | None:
        """The file that the build wrote: the module, or the program."""
        fresh = [
            path
            for path in sorted(self.path.parent.iterdir())
            if path.is_file() and before.get(path) != path.stat().st_mtime_ns and os.access(path, os.X_OK)
        ]
        if self.source.kind is Kind.MODULE:
            named = (path for path in fresh if path.name.partition(".")[0] == self.source.module)
            return next((path for path in named if path.suffix == ".so"), None)
        fresh = [path for path in fresh if path.read_bytes()[:4] == b"\x7fELF" and path.suffix != ".so"]
        return next((path for path in fresh if path.stem == self.path.stem), next(iter(fresh), None))


def _default(source: KernelSource, name: str) -> str:
    """Value of a Makefile's variable, as its text has it."""
    assert source.makefile is not None
    for line in makefile_text(source.makefile).splitlines():
        variable, mark, number = line.partition("?=")
        if mark and variable.strip() == name:
            return number.strip()
    return ""


def _copy(root: Path, folder: Path) -> None:
    """Copies a checkout.

    Raises:
        UsageError: it is too large to be a checkout.
    """
    size = 0
    for path, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in (".git", "node_modules")]
        size += sum(os.lstat(os.path.join(path, name)).st_size for name in files)
        if size > _MOST:
            raise UsageError(
                f"audit: {root} has more than {_MOST >> 30} GiB; expected a checkout of kernels. Move the "
                "source into a folder of its own, or run `git init` in its project"
            )
    shutil.copytree(root, folder, ignore=_IGNORED, ignore_dangling_symlinks=True)


def python_tools(folder: Path) -> Path:
    """A folder with this Python as `python3`, and the `python3-config` that Makefiles of modules ask."""
    folder.mkdir(parents=True, exist_ok=True)
    python = shlex.quote(sys.executable)
    (folder / "python3").write_text(f'#!/bin/sh\nexec {python} "$@"\n')
    (folder / "python3-config").write_text(
        f"#!{sys.executable}\n"
        "import sys, sysconfig as s\n"
        "for word in sys.argv[1:]:\n"
        "    print({'--extension-suffix': s.get_config_var('EXT_SUFFIX')}.get(word, ''))\n"
    )
    for name in ("python3", "python3-config"):
        (folder / name).chmod(0o755)
    return folder


__all__ = ["Built", "Workplace", "python_tools"]
