"""Other implementations of our operators, each a record: what it computes, and how it is called.

Triton's run on emulated devices too, where their times are modelled like ours; PyTorch's own run on a GPU.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import time as clock
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.bench.cases import Case, cost
from workbench.bench.one import VERIFIED_WORK, result_of, timed_fields
from workbench.bench.results import Result, failure_text
from workbench.check.compare import compare
from workbench.check.references import widened
from workbench.errors import UsageError, WorkbenchError
from workbench.events import hub
from workbench.profile.timing import measure_call, time
from workbench.runtime import Device
from workbench.runtime.registry import device as device_named
from workbench.spec import KernelSpec, Shape, shape_text
from workbench.triton_driver import triton

Inputs = Mapping[str, Any]
Call = Callable[[], Any]


@dataclass(frozen=True)
class Rival:
    """An implementation of somebody else's.

    Attributes:
        name: such as "Triton (Liger-Kernel)".
        group: "triton", "pytorch" or "pytorch-compiled".
        operators: of ours that it computes, each with what makes a call of a spec and its inputs, and which
            shapes it takes; "" for all operators.
        module: that must be installed.
        gpu_only: whether it does not run on emulated devices.
    """

    name: str
    group: str
    operators: Mapping[str, tuple[Callable[[KernelSpec, Inputs], Call], Callable[[Shape], bool]]]
    module: str
    gpu_only: bool = False

    @property
    def installed(self) -> bool:
        """Whether it can be imported."""
        with contextlib.suppress(ImportError, ValueError):
            return importlib.util.find_spec(self.module) is not None
        return False

    def takes(self, case: Case) -> bool:
        """Whether it computes a case."""
        made = self.operators.get(case.operator, self.operators.get(""))
        return made is not None and made[1](case.shape)

    def call_of(self, spec: KernelSpec, inputs: Inputs) -> Call:
        """What computes the operator on these inputs."""
        make, _ = self.operators[spec.name if spec.name in self.operators else ""]
        return make(spec, inputs)


def _plain(*names: str) -> Callable[[Shape], bool]:
    """Shapes of which these switches are off."""
    return lambda shape: not any(shape.get(name) for name in names)


def _dense(shape: Shape) -> bool:
    """GEMMs that our Triton kernel computes: nothing behind the product, whole tiles."""
    switches = ("alpha", "bias", "gate", "residual")
    whole = shape["m"] % 128 == shape["n"] % 128 == shape["k"] % 64 == 0
    return bool(
        _plain(*switches)(shape)
        and shape["activation"] == "none"
        and shape["layout"] == "nt"
        and shape["batch"] == 1
        and whole
    )


def _whole_attention(shape: Shape) -> bool:
    whole = shape["queries"] % 128 == 0 == shape["keys"] % 64 and shape["queries"] == shape["keys"]
    return bool(_plain("window", "capped", "sinks")(shape) and whole and shape["dim"] == shape["dim_v"])


def _ours_in_triton(name: str) -> Callable[[KernelSpec, Inputs], Call]:
    def make(spec: KernelSpec, inputs: Inputs) -> Call:
        from workbench.bench import triton_kernels

        return getattr(triton_kernels, name)(inputs)  # type: ignore[no-any-return]

    return make


def _liger(path: str, arguments: Callable[[Inputs], Sequence[Any]]) -> Callable[[KernelSpec, Inputs], Call]:
    """A `torch.autograd.Function` of Liger-Kernel, `module.Class`."""

    def make(spec: KernelSpec, inputs: Inputs) -> Call:
        module, _, name = path.rpartition(".")
        function = getattr(importlib.import_module(f"liger_kernel.ops.{module}"), name)
        given = arguments(inputs)
        return lambda: function.apply(*given)

    return make


def _halves(inputs: Inputs) -> Sequence[Any]:
    gate, up = inputs["x"].chunk(2, dim=-1)
    return gate.contiguous(), up.contiguous()


def _eager(spec: KernelSpec, inputs: Inputs) -> Call:
    function = spec.native or spec.reference
    return lambda: function(**inputs)


def _compiled(spec: KernelSpec, inputs: Inputs) -> Call:
    import torch

    function = torch.compile(spec.native or spec.reference)
    return lambda: function(**inputs)


def _any(shape: Shape) -> bool:
    return True


RIVALS = (
    Rival(
        "Triton (Liger-Kernel)",
        "triton",
        {
            "normalization/rmsnorm": (
                _liger(
                    "rms_norm.LigerRMSNormFunction",
                    lambda i: (i["x"], i["weight"], i["eps"], 0.0, "llama", False),
                ),
                _any,
            ),
            "normalization/layernorm": (
                _liger(
                    "layer_norm.LigerLayerNormFunction", lambda i: (i["x"], i["weight"], i["bias"], i["eps"])
                ),
                _any,
            ),
            "activations/softmax": (_liger("softmax.LigerSoftmaxFunction", lambda i: (i["x"],)), _any),
            "activations/silu_and_mul": (_liger("swiglu.LigerSiLUMulFunction", _halves), _any),
        },
        "liger_kernel",
    ),
    Rival(
        "Triton (ours)",
        "triton",
        {
            "gemm/bf16": (_ours_in_triton("gemm"), _dense),
            "attention/forward": (_ours_in_triton("attention"), _whole_attention),
        },
        "triton",
    ),
    Rival("PyTorch", "pytorch", {"": (_eager, _any)}, "torch", gpu_only=True),
    Rival("PyTorch compiled", "pytorch-compiled", {"": (_compiled, _any)}, "torch", gpu_only=True),
)
"""Every implementation that `bench(against=...)` knows."""


def chosen_rivals(against: Sequence[str], device: Device) -> list[Rival]:
    """The implementations of some groups that are installed and run on a device.

    Raises:
        UsageError: there is no such group, nothing of it is installed, or it needs a GPU.
    """
    found = []
    for group in [against] if isinstance(against, str) else against:
        known = [rival for rival in RIVALS if rival.group == group]
        if not known:
            there = ", ".join(dict.fromkeys(rival.group for rival in RIVALS))
            raise UsageError(f"against is {group!r}; expected some of {there}")
        if device.observes and all(rival.gpu_only for rival in known):
            raise UsageError(
                f"{group} computes on a GPU; {device.name} is none, so nothing of it can be timed"
            )
        installed = [rival for rival in known if rival.installed]
        if not installed:
            raise UsageError(f"{group}: {' and '.join(rival.module for rival in known)} are not installed")
        found += installed
    return found


@contextlib.contextmanager
def _driver(rival: Rival, device: Device) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        if rival.group == "triton":
            stack.enter_context(triton(device, cuda_means_cpu=device.observes))
        yield


def run_rival(name: str, case: Case, device: str) -> Result:
    """Verifies and times another implementation; a failure of it is a result, too.

    Args:
        name: of the implementation.
        device: its name.
    """
    rival = next(each for each in RIVALS if each.name == name)
    where = device_named(device)
    start = clock.monotonic()
    spec = case.spec
    told: dict[str, Any] = dict(spec.work(case.shape))
    try:
        told |= _verified_and_timed(rival, spec, case.shape, where)
    except (WorkbenchError, RuntimeError, MemoryError, TypeError, ImportError) as error:
        told["failure"] = failure_text(error)
    return result_of(case, rival.name, where, told, start)


def _verified_and_timed(rival: Rival, spec: KernelSpec, shape: Shape, device: Device) -> dict[str, Any]:
    inputs = spec.make_inputs(shape, device=device)
    with _driver(rival, device), hub.muted():
        call = rival.call_of(spec, inputs)
        compared = ""
        if cost(spec, shape) <= VERIFIED_WORK[device.observes]:
            _check(rival, spec, inputs, call(), shape)
            compared = shape_text(shape)
        found = time(call) if device.observes else measure_call(call, rival.name, device)
    if not compared:
        compared = _checked_small(rival, spec, shape, device)
    return {**timed_fields(found, device), "verified": compared}


def _checked_small(rival: Rival, spec: KernelSpec, shape: Shape, device: Device) -> str:
    """Compares the same implementation on a problem that the CPU can compute, too; the shape as text."""
    small = dict(shape)
    for name in ("m", "n", "k", "rows", "batch", "heads", "queries", "keys", "tokens"):
        if name in small:
            least = {"batch": 1, "heads": small.get("heads_kv", 1)}.get(name, 256)
            small[name] = min(int(small[name]), least)
    inputs = spec.make_inputs(small, device=device)
    with _driver(rival, device), hub.muted():
        _check(rival, spec, inputs, rival.call_of(spec, inputs)(), small)
    return shape_text(small)


def _check(rival: Rival, spec: KernelSpec, inputs: Inputs, got: Any, shape: Shape) -> None:
    """Its first output against the reference.

    Raises:
        WorkbenchError: it is wrong.
    """
    wanted = spec.reference(**widened(inputs))
    first, right = (each[0] if isinstance(each, tuple) else each for each in (got, wanted))
    checked = compare(first, right, name=rival.name)
    if not checked.passed:
        raise WorkbenchError(f"wrong at {shape_text(shape)}: {checked}")
