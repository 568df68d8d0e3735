"""The list of devices, and the device for a name."""

from __future__ import annotations

import contextlib
import copyreg
import difflib
from collections.abc import Callable, Iterator
from functools import cache, lru_cache

from workbench import settings, targets
from workbench.errors import DeviceError
from workbench.numerics import FAST, checked, default_numerics
from workbench.runtime import hip
from workbench.runtime.backend import Backend, Node, Watcher
from workbench.runtime.device import Device, in_background
from workbench.runtime.gpu import GpuBackend, gpus


@cache
def _backends() -> tuple[Backend, ...]:
    """The back ends in the order in which their devices are preferred."""
    # Importing the emulator takes a third of a second, which callers that name no device need not wait for.
    from workbench.runtime.emulated import EmulatedBackend

    return GpuBackend(), EmulatedBackend()


@cache
def _devices(numerics: str) -> tuple[Device, ...]:
    """GPUs, and emulated devices with these numerics if they support them."""
    return tuple(
        Device(node._replace(numerics=numerics) if _has(node, numerics) else node, backend)
        for backend in _backends()
        for node in backend.nodes()
    )


def _has(node: Node, numerics: str) -> bool:
    return bool(node.numerics) and (numerics == FAST or bool(targets.target(node.arch).matrix_arithmetic))


def _all() -> tuple[Device, ...]:
    return _devices(default_numerics())


def look_again() -> None:
    """Forgets the list of devices, because others may be visible now."""
    _devices.cache_clear()
    _device_for.cache_clear()


def make_first(name: str | None = None) -> None:
    """Makes an emulated device number 0 of this process, unless devices have been asked for already.

    Foreign code, and threads that choose no device, use number 0. GPUs keep their numbers.

    Args:
        name: as in `device`.

    Raises:
        DeviceError: there is no such device.
    """
    if not _devices.cache_info().currsize:
        device(name).make_first()
        look_again()


def build_emulated_later() -> None:
    """Begin to build, in the background, what the first launch on an emulated device would build.

    It asks for no devices, so the process may still choose among them.
    """
    # Imported by this thread, since two that import the same packages may wait for each other.
    emulated = _backends()[-1]
    in_background(emulated.build)


def devices() -> list[Device]:
    """Lists the devices of this machine: its GPUs, then the emulated ones."""
    return list(_all())


_NUMERICS = ",numerics="


def device(name: str | None = None) -> Device:
    """Finds a device by name.

    Args:
        name: "gpu:0"; "emulated:gfx950", or a product such as "emulated:MI355X" (`targets.PRODUCTS`), both
            also without "emulated:"; or "gpu" or "emulated" for the first of the kind. None means
            HIPKITTENS_DEVICE, or else the first GPU, or else emulated gfx950; if the process already uses a
            HIP library, a device of that library. You can append ",numerics=exact" or ",numerics=fast" to an
            emulated device (`workbench.numerics`).

    Raises:
        DeviceError: there is no such device, or not with these numerics.
        UsageError: the numerics are neither.
    """
    if name is not None and not isinstance(name, str):
        raise DeviceError(f"got {name!r}; expected a device's name, such as 'emulated:gfx950'")
    requested = name or settings.value_of("HIPKITTENS_DEVICE")
    if not requested:
        return next(d for d in _all() if hip.used() in (None, d.backend))
    requested, _, asked = str(requested).partition(_NUMERICS)
    numerics = checked(asked, f"numerics of device {requested!r}") if asked else default_numerics()
    available = _devices(numerics)
    plain = requested.strip().lower()
    for match in available:
        base = match.name.partition(_NUMERICS)[0]
        kind = base.partition(":")[0]
        names = {base, kind, f"{kind}:{match.product}".lower()}
        if match.observes:
            names |= {match.arch, match.product.lower()}
        if plain in names:
            _check_numerics(match, numerics, asked)
            return match
    origin = "" if name else " (from HIPKITTENS_DEVICE)"
    by_name = {text.lower(): text for d in available for text in (d.name, d.arch, d.product)}
    close = difflib.get_close_matches(plain, by_name, 1)
    hint = f"; did you mean {by_name[close[0]]}?" if close else "."
    raise DeviceError(
        f"no device {requested!r}{origin} here; there are: {', '.join(d.name for d in available)}{hint}"
        + ("" if gpus() else " No AMD GPU with ROCm was found.")
    )


def _check_numerics(match: Device, numerics: str, asked: str) -> None:
    if asked and not match.numerics:
        raise DeviceError(
            f"{match.name} is a GPU, whose arithmetic cannot be chosen; leave out {_NUMERICS}{asked}"
        )
    if match.numerics and match.numerics != numerics:
        having = ", ".join(f"emulated:{t.name}" for t in targets.TARGETS if t.matrix_arithmetic)
        raise DeviceError(
            f"{match.name} has no numerics={numerics}: nobody has published how {match.arch}'s matrix cores "
            f"round; use numerics=fast, or {having}"
        )


def with_numerics(original: Device, numerics: str) -> Device:
    """The same device with other numerics.

    Raises:
        DeviceError: it does not support them.
        UsageError: they are neither "exact" nor "fast".
    """
    return device(f"{original.name.partition(_NUMERICS)[0]}{_NUMERICS}{numerics}")


def _by_name(original: Device) -> tuple[Callable[..., Device], tuple[str]]:
    base = original.name.partition(_NUMERICS)[0]
    return device, (f"{base}{_NUMERICS}{original.numerics}" if original.numerics else base,)


# Another process has its own devices.
copyreg.pickle(Device, _by_name)


def device_for(arch: str) -> Device:
    """The default device if it runs code for a target or a generic processor, otherwise the first that does.

    Raises:
        DeviceError: there is none.
    """
    return _device_for(arch, settings.value_of("HIPKITTENS_DEVICE"), default_numerics(), id(hip.used()))


@lru_cache(64)
def _device_for(arch: str, *_: object) -> Device:
    """See `device_for`; the further arguments are what decides the default device."""
    default = device()
    for candidate in (default, *(_devices(default.numerics) if default.numerics else _all())):
        if candidate.arch in targets.runs_on(arch) and candidate.backend is default.backend:
            return candidate
    there = ", ".join(f"{d.name} ({d.arch})" for d in _all())
    raise DeviceError(f"no device runs {arch} code; there are {there}. Compile with arch={default.arch!r}")


def library_description() -> str:
    """The HIP library that this process uses or would use, for a person."""
    state = "in use" if hip.used() else "would be used"
    library = hip.used() or device().backend
    return f"{library.describe()}, called through {hip.binding()} ({state})"


@contextlib.contextmanager
def watching(watcher: Watcher) -> Iterator[None]:
    """In this context, every launch on an emulated device is sanitized and reported to the watcher."""
    with contextlib.ExitStack() as stack:
        for backend in _backends():
            stack.enter_context(backend.watching(watcher))
        yield
