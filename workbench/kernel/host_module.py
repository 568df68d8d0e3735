"""A compiled pybind11 module with host and device code.

The module's own functions launch its kernels through HIP. On an emulated device they accept tensors in the
computer's memory as if these were on the device; on a GPU they accept the GPU's tensors.
"""

from __future__ import annotations

import contextlib
import importlib.machinery
import importlib.util
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, wraps
from pathlib import Path
from types import ModuleType
from typing import Any

from workbench import cache
from workbench.codeobject import CodeObject
from workbench.errors import HostException, ToolchainError, UsageError
from workbench.kernel import compiler_trial, import_trial
from workbench.kernel.devices import device_of, kind_of
from workbench.kernel.files import read_file
from workbench.kernel.module import Module
from workbench.kernel.stand_in import itself, on_device, refuses_cpu_tensors
from workbench.launches import DWORD
from workbench.live_tensors import is_address, tensors_at
from workbench.runtime import Device
from workbench.toolchain import CompileOptions
from workbench.toolchain.host import HostResult, compile_host
from workbench.toolchain.host_library import SYSTEM

_INIT = re.compile(rb"\0PyInit_(\w+)\0")
_DEPTH = 4


class HostModule:
    """A Python module compiled from host and device code; its functions are attributes.

    Functions of its classes and submodules are wrapped in place. If you make a second `HostModule` of the
    same compilation, they launch on the second one's device.

    Attributes:
        module: the Python module itself. If you call its functions from there, they do not see CPU tensors as
            device memory, and report a kernel's fault only as the module's own code does.
        device: the device that runs its launches.
        arch: target of the device code.
        source: the C++ text; None for a loaded file.
        result: the compiler's result; None for a loaded file.
    """

    def __init__(
        self, library: Path, *, device: Device, source: str | None = None, result: HostResult | None = None
    ) -> None:
        self.device = device
        self.arch = device.arch
        self.source = source
        self.result = result
        self._library = library
        content = library.read_bytes()
        self._stands_in = device.observes and refuses_cpu_tensors(content)
        # A C++ autograd function has the name of its type.
        self._has_gradients = device.observes and b"torch8autograd7CppNode" in content
        self.module, inner = _import(library, device, result.options.name if result else library.name)
        inner.host = self

    @cached_property
    def kernels(self) -> Module:
        """Its device code, as from `wb.load`: resources, machine code, single kernels."""
        code = CodeObject.from_bytes(self._library.read_bytes(), self.arch)
        return Module(code.data, name=self.module.__name__, arch=self.arch)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "module":
            raise AttributeError(name)
        value = getattr(self.module, name)
        return self._wrapped(value) if callable(value) and not isinstance(value, type) else value

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *(n for n in dir(self.module) if not n.startswith("_"))})

    def __repr__(self) -> str:
        names = ", ".join(n for n in dir(self.module) if not n.startswith("_")) or "nothing"
        return f"<HostModule {self.module.__name__} for {self.device.name}: {names}>"

    def _wrapped(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            return self.call(function, *args, **kwargs)

        return call

    def call(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Call one of the module's functions with its device current and the arguments' tensors as device
        memory.

        Raises:
            KernelFault: a kernel that the function launched was stopped.
            KeyboardInterrupt: the call was interrupted; the kernel has stopped.
            WorkbenchError: the emulated device found another error.
            HostException: the function threw an object that is not a std::exception.
            Exception: any exception that the function itself raises.

        If the result's graph contains a C++ autograd function, its backward raises a UsageError unless it
        runs in `torch_as_gpu`.
        """
        with (
            self.device.host_code(lambda: tensors((args, kwargs))),
            made_tensors(self.device),
            exceptions_of(
                function, self.module.__name__, self.result.standard_library if self.result else ""
            ),
        ):
            if self._stands_in:
                return itself(function(*map(on_device, args), **{k: on_device(v) for k, v in kwargs.items()}))
            result = function(*args, **kwargs)
        if self._has_gradients:
            self._watch_gradients(result, (args, kwargs))
        return result

    def _watch_gradients(self, result: Any, arguments: Any) -> None:
        from workbench.kernel import gradients

        assert self.module.__spec__ is not None
        module = self.module.__spec__.name
        gradients.watch(result, arguments, lambda name: gradients.unreached(name, module))


_UNKNOWN = "Caught an unknown exception!"
"""pybind11's message for an object that is not a std::exception and that no translator handles."""


@contextlib.contextmanager
def exceptions_of(
    function: Callable[..., Any], module: str | None = None, library: str = ""
) -> Iterator[None]:
    """Context of a call of a compiled function: adds to exceptions that pybind11 does not know where they
    come from.

    Args:
        module: its name, if it is not the function's own module.
        library: name of the C++ library that the module was compiled with; "" if unknown.

    Raises:
        HostException
    """
    try:
        yield
    except RuntimeError as error:
        if str(error) != _UNKNOWN:
            raise
        module = module or str(getattr(function, "__module__", None) or "the module")
        name = str(getattr(function, "__name__", "a function"))
        # pybind11 writes the signature first, which names the method's class.
        signature = str(getattr(function, "__doc__", None) or "").partition("\n")[0]
        called = signature if signature.startswith(f"{name}(") else name
        message = (
            f"{module}: {called} threw a C++ exception that is not a std::exception of "
            f"{library or 'its C++ library'}, so its message is lost. Throw std::runtime_error or a class "
            "derived from std::exception, catch it in the function, or give pybind11 a translator for it "
            "(py::register_exception_translator)."
        )
        if library and library != SYSTEM:
            message += (
                " One that comes from code with another C++ library, such as PyTorch's, counts as unknown "
                "too: install g++ and set HIPKITTENS_CXX_LIBRARY=system."
            )
        raise HostException(message, module, name) from error


_LAUNCHING = ("__call__", "__init__")
"""Functions with such a name that a class defines itself."""


def functions_of(owner: ModuleType | type) -> Iterator[tuple[ModuleType | type, str, Any]]:
    """Functions of a module, its submodules and its classes: owner, name, and the function itself."""
    if isinstance(owner, type):
        module_name = owner.__module__
    else:
        # The name that it was compiled with; `_import` gives it another.
        module_name = owner.__spec__.name if owner.__spec__ else owner.__name__
    for name, value in vars(owner).items():
        if isinstance(value, ModuleType):
            if value.__name__ == f"{module_name}.{name}":
                yield from functions_of(value)
        elif isinstance(value, type):
            if value.__module__ == module_name:
                yield from functions_of(value)
        elif callable(value) and (not name.startswith("__") or name in _LAUNCHING):
            yield owner, name, value


def wrapped_function(function: Any, wrap: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Any:
    """A function from `functions_of`, with `wrap` around it; a static method stays static."""
    if isinstance(function, staticmethod):
        return staticmethod(wrap(function.__func__))
    return wrap(function)


class _Inner:
    """Makes functions inside a compiled module's classes and modules call through `host`, once it exists."""

    host: HostModule | None = None

    def __init__(self, module: ModuleType) -> None:
        for owner, name, function in list(functions_of(module)):
            if owner is not module:
                setattr(owner, name, wrapped_function(function, self._wrapped))

    def _wrapped(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            return (self.host.call if self.host else _plainly)(function, *args, **kwargs)

        return call


def _plainly(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return function(*args, **kwargs)


def made_tensors(
    device: Device,
    memory_of: Callable[[Any], list[tuple[int, int]]] | None = None,
    granularity: int = DWORD,
) -> contextlib.AbstractContextManager[Any]:
    """In this context, kernels can access PyTorch's new tensors; no effect on a GPU, or without PyTorch.

    Args:
        memory_of: returns (address, bytes) of a new tensor's memory; None for `tensors`.
        granularity: the tensor allocator's sizes are multiples of this many bytes, see `Function.launch`.
    """
    if not device.observes or "torch" not in sys.modules:
        return contextlib.nullcontext()
    from workbench.kernel.made_tensors import MadeTensors

    return MadeTensors(device, memory_of or tensors, granularity)


def tensors(values: Any) -> list[tuple[int, int]]:
    """(address, bytes) of the CPU memory of every tensor or array among call arguments.

    Containers are searched a few levels deep. An integer that is an address inside a torch tensor, such as
    `x.data_ptr()`, stands for that tensor.
    """
    ranges: list[tuple[int, int]] = []
    addresses: list[int] = []
    _collect(values, ranges, addresses, _DEPTH)
    unknown = [a for a in addresses if not any(base <= a < base + size for base, size in ranges)]
    if unknown:
        ranges += [memory for tensor in tensors_at(unknown).values() for memory in _storage(tensor)]
    return ranges


def _collect(value: Any, ranges: list[tuple[int, int]], addresses: list[int], depth: int) -> None:
    if isinstance(value, bool | str | float) or value is None:
        return
    if isinstance(value, int):
        if is_address(value):
            addresses.append(value)
    elif hasattr(value, "untyped_storage"):
        ranges += _storage(value)
    elif hasattr(value, "__array_interface__"):
        address, read_only = value.__array_interface__["data"]
        if value.nbytes and value.flags.c_contiguous and not read_only:
            ranges.append((address, value.nbytes))
    elif depth and isinstance(value, Mapping):
        for item in value.values():
            _collect(item, ranges, addresses, depth - 1)
    elif depth and isinstance(value, Sequence | set | frozenset):
        for item in value:
            _collect(item, ranges, addresses, depth - 1)


def _storage(tensor: Any) -> list[tuple[int, int]]:
    """A CPU tensor's whole storage: views of it are one piece of memory."""
    if kind_of(tensor) != "cpu" or tensor.layout.__str__() != "torch.strided":
        return []
    storage = tensor.untyped_storage()
    try:
        # Tensors of PyTorch's own tracing have no memory.
        has_memory = storage.device.type == "cpu" and storage.nbytes() and storage.data_ptr()
    except RuntimeError:
        has_memory = False
    return [(storage.data_ptr(), storage.nbytes())] if has_memory else []


_import_lock = threading.Lock()
_exec_module = importlib.machinery.ExtensionFileLoader.exec_module
"""Python's own. Code that replaces it notices compiled modules through `imported`."""
# By path and digest of the content.
_imported: dict[tuple[Path, str], tuple[ModuleType, _Inner]] = {}


def imported(module: ModuleType, file: Path) -> None:
    """Called with every compiled module and its file; `torch_as_gpu` replaces it."""


def _import(library: Path, device: Device, name: str) -> tuple[ModuleType, _Inner]:
    """The Python module in a shared object; the HIP library is loaded before it."""
    content = library.read_bytes()
    match = _INIT.search(content)
    if match is None:
        raise UsageError(
            f"{name} defines no Python module; expected PYBIND11_MODULE(name, m) {{ ... }}. "
            "To run a program with main(), use wb.run_program."
        )
    module_name = match[1].decode()
    with _import_lock, device.hip():
        key = cache.digest(content)
        cached = _imported.get((library, key))
        if cached is not None:
            return cached
        # pybind11 returns an existing module of the same name; another compilation of the source is another
        # module.
        full_name = f"workbench.compiled_{key[:16]}.{module_name}"
        # The loader returns the library that it loaded from a path before, whatever the file contains now.
        rebuilt = any(path == library for path, _ in _imported)
        file = Path((cache.Cache("host").put_file(key, content) if rebuilt else None) or library)
        loader = importlib.machinery.ExtensionFileLoader(full_name, str(file))
        spec = importlib.util.spec_from_loader(full_name, loader)
        assert spec is not None

        def load() -> ModuleType:
            module = importlib.util.module_from_spec(spec)
            _exec_module(loader, module)
            return module

        if device.observes and any(word in content for word in _THROWS):
            # A GPU's runtime does not survive a fork, so there the process ends, as in C++.
            _try_import(load, key, module_name, library, name)
        try:
            module = load()
        except ImportError as error:
            raise ToolchainError(
                f"the module {module_name} of {name} does not load: {error}. Is a library missing "
                '(flags=["-lname"]), or was it built for another Python?'
            ) from error
        inner = _Inner(module)
        imported(module, file)
        module.__name__ = module_name
        _imported[library, key] = module, inner
        return module, inner


_THROWS = (b"__cxa_throw", b"__cxa_rethrow")
"""Functions that a library calls if it throws C++ exceptions."""


def _try_import(load: Callable[[], ModuleType], key: str, module_name: str, library: Path, name: str) -> None:
    """Raises the exception with which an import would end the process; a library is tried only once.

    Raises:
        HostException
    """
    imports = cache.Cache("imports")
    if imports.get(key) is not None:
        return
    thrown = import_trial.attempt(load)
    if thrown is None:
        imports.put(key, b"")
        return
    says = f": {thrown.what}" if thrown.what else ""
    raise HostException(
        f"{module_name} of {name} ({library}) does not load: {thrown} was thrown while it was imported{says}"
        ". Catch it where a static object is initialised, or in the module's body (PYBIND11_MODULE, "
        "PyInit_*); what a function of the module throws reaches Python.",
        module_name,
        "",
        thrown.exception,
        thrown.what,
    )


def compile_module(source: str, options: CompileOptions) -> HostModule:
    """Compile a pybind11 module with host and device code and import it: `compile(host=True)`.

    Its launches go to the default device if that has the options' target, otherwise to one that has.
    """
    device = device_of((), options.arch)
    device.build_later()
    result = compiler_trial.compiled(options.arch, lambda: compile_host(source, options, module=True))
    return HostModule(result.library, device=device, source=result.source, result=result)


def load_module(path: str | Path, *, arch: str | None = None) -> HostModule:
    """Imports a pybind11 module from hipcc or another compiler; its launches go to the default device.

    If you built the file again, you get the new module.

    Args:
        path: the shared object.
        arch: a target; if the default device has another, a device of this target runs the launches.

    Raises:
        UsageError: `path` is not a path or names a folder, or the file has no Python module.
        ToolchainError: the file does not load.
        MissingFile, UnreadableFile
    """
    if not isinstance(path, (str, os.PathLike)):
        raise UsageError(f"load_module: got {type(path).__name__}; expected the path of a shared object")
    read_file("load_module", path, "a shared object")
    return HostModule(Path(path).resolve(), device=device_of((), arch))


__all__ = [
    "HostModule",
    "compile_module",
    "exceptions_of",
    "functions_of",
    "imported",
    "load_module",
    "made_tensors",
    "tensors",
    "wrapped_function",
]
