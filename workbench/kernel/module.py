"""A compiled module: device code with its kernels by name."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

from workbench.codeobject.names import instance_name, names_of, normal_name
from workbench.display import Shown
from workbench.errors import UnknownKernel
from workbench.kernel.code import DeviceCode
from workbench.kernel.kernel import Kernel
from workbench.kernel.resources import resources_lines
from workbench.toolchain import CompileResult


class Module(Shown, DeviceCode):
    """Compiled device code, a mapping from names to its kernels."""

    @cached_property
    def kernels(self) -> Mapping[str, Kernel]:
        """Kernels by name: the name in the source, with template arguments if there are any."""
        infos = self.code_object.kernels
        names = {mangled: instance_name(info.demangled) for mangled, info in infos.items()}
        count = Counter(names.values())
        kernels = {}
        for mangled, info in infos.items():
            # Overloads share a name; only the mangled one distinguishes them.
            name = names[mangled] if count[names[mangled]] == 1 else mangled
            kernels[name] = Kernel(self, info, name)
        return kernels

    def __getitem__(self, name: str) -> Kernel:
        """A kernel by plain name (`"softmax"`), template instance (`"softmax<float>"`) or mangled name.

        Raises:
            UnknownKernel: no kernel, or several, have this name; the message lists the kernels.
        """
        kernels = self.kernels
        if not isinstance(name, str):
            there = ", ".join(kernels)
            raise UnknownKernel(f"{self.name}[{name!r}]: expected a kernel's name, one of: {there}")
        if name in kernels:
            return kernels[name]
        forms = (name, normal_name(name))
        candidates = [
            (kernel, names_of(kernel.info.name, kernel.info.demangled)) for kernel in kernels.values()
        ]
        for names in zip(*(names for _, names in candidates), strict=True):
            matches = [kernel for (kernel, _), form in zip(candidates, names, strict=True) if form in forms]
            if len(matches) == 1:
                return matches[0]
            if matches:
                listed = ", ".join(k.name for k in matches)
                raise UnknownKernel(
                    f"{name!r} names {len(matches)} kernels of {self.name}: {listed}; say which one"
                )
        close = difflib.get_close_matches(name, list(kernels), n=2)
        hint = f"; did you mean {' or '.join(close)}?" if close else ""
        there = ", ".join(kernels) or "none; is a function marked __global__, and a template instantiated?"
        raise UnknownKernel(f"{self.name} has no kernel {name!r}; its kernels: {there}{hint}")

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy, or the module in another process, is parsed from the code again, and not yet loaded."""
        return _unpickled, (self.code, self.name, self.result)

    if not TYPE_CHECKING:  # With it, a type checker would accept any attribute.

        def __getattr__(self, name: str) -> NoReturn:
            hint = ""
            # Not for private names, which copy and IPython look up, perhaps on a half-built module.
            if not name.startswith("_") and "code_object" in vars(self) and name in self.kernels:
                hint = f"; its kernel of that name is module[{name!r}]"
            raise AttributeError(f"module {vars(self).get('name')!r} has no attribute {name!r}{hint}")

    def __iter__(self) -> Iterator[str]:
        return iter(self.kernels)

    def __contains__(self, name: object) -> bool:
        return name in self.kernels

    def __len__(self) -> int:
        return len(self.kernels)

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.kernels)

    def __repr__(self) -> str:
        signatures = {name: kernel.signature for name, kernel in self.kernels.items()}
        resources = {name: kernel.resources for name, kernel in self.kernels.items()}
        if len(resources) == 1:
            lines = resources_lines(dict(zip(signatures.values(), resources.values(), strict=True)))
        else:
            lines = resources_lines(resources, signatures)
        return "\n  ".join([f"<Module {self.name} for {self.arch}>", *lines])


def _unpickled(code: bytes, name: str, result: CompileResult | None) -> Module:
    return Module(code, name=name, result=result)
