"""Problems in GPU MODE's form and in KernelBench's.

A problem makes inputs, computes the reference, and compares. The judge alone runs its code.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import importlib
import importlib.util
import inspect
import math
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
import yaml  # type: ignore[import-untyped]

from workbench.errors import MissingFile, UsageError
from workbench.judge.exchange import tensors
from workbench.operators.tolerances import Tolerance
from workbench.torch_gpu import torch_as_gpu

Sizes = Mapping[str, Any]

FORMS = ("gpumode", "kernelbench", "plain")

_KERNELBENCH = {torch.float32: Tolerance(1e-2, 1e-2)}
"""KernelBench's bounds, for all types."""

_REFERENCE_MULTIPLE = 8.0
"""Multiple of PyTorch's own error that an output may have against float64, by norms."""

_UNITS, _UNITS_WIDE = 2.0, 64.0
"""Units in the last place that an output may have in any case, of its type or the reference's, whichever is
coarser: of 16 bits or fewer, and of more, since PyTorch sums some 32-bit results in 64 bits."""


@dataclass(frozen=True)
class Case:
    """Sizes at which a submission is judged.

    Attributes:
        name: such as "m=64, n=128".
        sizes: parameters of the problem, without a seed.
        role: "test", "benchmark", "fresh sizes" or "strided".
    """

    name: str
    sizes: Sizes = field(hash=False)
    role: str


@dataclass
class Instance:
    """A case with inputs.

    Attributes:
        inputs: what a submission is called with.
        setup: what it needs before: a model's arguments and parameters, a launch; None for none.
        expected: the reference's output.
        precise: the same from inputs in float64; None if the reference cannot compute that.
        check: the problem's own comparison with an output: True or False, and a message.
    """

    inputs: Any
    setup: Any
    expected: Any
    precise: Any
    check: Callable[[Any], tuple[bool, str]]


class Problem:
    """A problem.

    Attributes:
        form: one of `FORMS`.
        name: name for reports.
        digest: of its files.
    """

    form: str
    name: str
    digest: str

    @property
    def cases(self) -> tuple[Case, ...]:
        """All cases: tests, fresh sizes, benchmarks."""
        raise NotImplementedError

    def instance(self, case: Case, seed: int) -> Instance:
        """Inputs and reference of a case."""
        raise NotImplementedError

    def files(self, submission: Path) -> dict[str, bytes]:
        """Files by name that a submission finds beside itself."""
        return {}

    @property
    def compilation(self) -> dict[str, Any]:
        """Fields of `CompileOptions`, as JSON has them, with which a submission's C++ file is compiled."""
        return {}


def problem(path: str | Path, sizes: Mapping[str, int] | None = None) -> Problem:
    """The problem in a folder or a file.

    Args:
        sizes: sizes in place of the problem's: numbers that a KernelBench file names.

    Raises:
        MissingFile: there is none.
        UsageError: it is neither GPU MODE's nor KernelBench's.
    """
    place = Path(path)
    if not place.exists():
        raise MissingFile(f"judge: there is no {place}; expected a problem's folder or file")
    if place.is_dir() and (place / "task.yml").is_file():
        return GpuModeProblem(place)
    if place.suffix == ".py":
        return KernelBenchProblem(place, sizes or {})
    raise UsageError(
        f"judge: {place} is no problem; expected a folder with task.yml and reference.py, a Python file with "
        "Model and get_inputs, or a kernel's file with its launch and reference"
    )


class GpuModeProblem(Problem):
    """A folder with task.yml, reference.py and what these name."""

    form = "gpumode"

    def __init__(self, folder: Path) -> None:
        self.name = folder.name
        self._folder = folder
        try:
            self._task = yaml.safe_load((folder / "task.yml").read_text(encoding="utf-8"))
        except yaml.YAMLError as error:
            raise UsageError(f"{folder / 'task.yml'}: {error}") from None
        sources = {
            f["name"]: f["source"] for f in self._task.get("files", ()) if f["source"] != "@SUBMISSION@"
        }
        beside = [
            file.name for file in folder.glob("*.py") if file.name not in ("submission.py", "template.py")
        ]
        self._sources = {name: folder / name for name in beside} | {n: folder / s for n, s in sources.items()}
        self._sources.pop("eval.py", None)
        self.digest = digest_of(*self._sources.values(), folder / "task.yml")

    @cached_property
    def _module(self) -> ModuleType:
        with _modules(self._sources) as load:
            module = load("reference")
        for name in ("generate_input", "check_implementation"):
            if not hasattr(module, name):
                raise UsageError(f"{self._folder}: reference.py has no {name}")
        return module

    @property
    def cases(self) -> tuple[Case, ...]:
        tests = [_without_seed(sizes) for sizes in self._task.get("tests", ())]
        benchmarks = [_without_seed(sizes) for sizes in self._task.get("benchmarks", ())]
        fresh = fresh_sizes(tests, benchmarks)
        return (
            *(Case(_text(sizes), sizes, "test") for sizes in tests),
            *(Case(_text(sizes), sizes, "fresh sizes") for sizes in fresh),
            *(Case(_text(sizes), sizes, "benchmark") for sizes in benchmarks),
        )

    def instance(self, case: Case, seed: int) -> Instance:
        module = self._module
        arguments = dict(case.sizes)
        if "seed" in inspect.signature(module.generate_input).parameters:
            arguments["seed"] = seed
        with _on_host():
            torch.manual_seed(seed)
            inputs = module.generate_input(**arguments)
            reference = getattr(module, "ref_kernel", None)
            expected = reference(copy.deepcopy(inputs)) if reference is not None else None
            precise = precise_output(reference, inputs) if reference is not None else None

        def check(output: Any) -> tuple[bool, str]:
            with _on_host():
                try:
                    answer = module.check_implementation(copy.deepcopy(inputs), output)
                except Exception as error:
                    return False, f"{type(error).__name__}: {error}"
            if isinstance(answer, tuple):
                return bool(answer[0]), str(answer[1])
            return not answer, str(answer or "")

        return Instance(inputs, None, expected, precise, check)

    def files(self, submission: Path) -> dict[str, bytes]:
        return {name: file.read_bytes() for name, file in self._sources.items() if file.is_file()}


class KernelBenchProblem(Problem):
    """A Python file with Model, get_inputs and get_init_inputs."""

    form = "kernelbench"

    def __init__(self, file: Path, sizes: Mapping[str, int]) -> None:
        self.name = file.stem
        self._file = file
        self._sizes = sizes
        self.digest = f"{digest_of(file)} {_text(sizes)}"

    @cached_property
    def _module(self) -> ModuleType:
        with _modules({self._file.name: self._file}) as load:
            module = load(self._file.stem)
        for name in ("Model", "get_inputs"):
            if not hasattr(module, name):
                raise UsageError(f"{self._file} has no {name}; expected KernelBench's Model and get_inputs")
        for name, value in self._sizes.items():
            if type(getattr(module, name, None)) is not int:
                numbers = ", ".join(n for n, v in vars(module).items() if type(v) is int and n[0] != "_")
                raise UsageError(f"{self._file} has no size {name!r}; expected one of {numbers or 'none'}")
            setattr(module, name, value)
        return module

    @property
    def cases(self) -> tuple[Case, ...]:
        return (
            Case(_text(self._sizes), {}, "benchmark"),
            Case("strided inputs", {"strided": True}, "strided"),
        )

    def instance(self, case: Case, seed: int) -> Instance:
        module = self._module
        # The parameters are those of one seed in all calls, as in a module that is trained.
        weights = int.from_bytes(hashlib.sha256(self.digest.encode()).digest()[:4], "big")
        with _on_host(), torch.no_grad():
            torch.manual_seed(weights)
            init: Sequence[Any] = getattr(module, "get_init_inputs", list)()
            torch.manual_seed(weights)
            model = module.Model(*init).eval()
            torch.manual_seed(seed)
            inputs = tuple(module.get_inputs())
            if case.sizes.get("strided"):
                inputs = tuple(_strided(value) for value in inputs)
            expected = model(*copy.deepcopy(inputs))
            double = copy.deepcopy(model).double()
            precise = precise_output(lambda values: double(*values), inputs)
        setup = {"seed": weights, "init": list(init), "state": dict(model.state_dict())}

        def check(output: Any) -> tuple[bool, str]:
            return close(output, expected, lambda dtype: _KERNELBENCH[torch.float32])

        return Instance(inputs, setup, expected, precise, check)


def fresh_sizes(tests: Sequence[Sizes], benchmarks: Sequence[Sizes], count: int = 2) -> list[dict[str, Any]]:
    """Sizes that the problem does not list: multiples of the common divisors of those that it does.


    They are odd where the divisor is 1, not larger than the tests, and differ from call to call.
    """
    if not tests:
        return []
    names = [name for name, value in tests[0].items() if type(value) is int]
    drawn = []
    for _ in range(count):
        base = dict(random.choice(tests))
        for name in names:
            values = [sizes[name] for sizes in (*tests, *benchmarks) if type(sizes.get(name)) is int]
            step = math.gcd(*values) if values else 0
            small = sorted({sizes[name] for sizes in tests})
            low, high = small[0], small[len(small) // 2]
            if step and high > low:
                base[name] = step * random.randint(-(-low // step), high // step)
        if base not in [dict(t) for t in tests] and base not in drawn:
            drawn.append(base)
    return drawn


def compared(output: Any, instance: Instance) -> str:
    """Why an output is not as precise as PyTorch's, against float64; "" if it is, or that is not known."""
    if instance.precise is None:
        return ""
    triples = zip(tensors(output), tensors(instance.expected), tensors(instance.precise), strict=False)
    for got, plain, exact in triples:
        if not got.is_floating_point() or got.shape != exact.shape or not got.numel():
            continue
        norm = exact.double().norm()
        if not torch.isfinite(norm) or norm == 0:
            continue
        error = float((got.double() - exact.double()).norm() / norm)
        plain_error = float((plain.double() - exact.double()).norm() / norm)
        # A reference may round to its type also where it computes in float64.
        coarser = max(got.dtype, plain.dtype, key=lambda dtype: torch.finfo(dtype).eps)
        units = _UNITS if coarser.itemsize <= 2 else _UNITS_WIDE
        bound = max(_REFERENCE_MULTIPLE * plain_error, units * torch.finfo(coarser).eps)
        if not error <= bound:
            return (
                f"against float64 the error is {error:.2g} of the norm, PyTorch's own {plain_error:.2g}; "
                f"expected at most {bound:.2g}"
            )
    return ""


def close(output: Any, expected: Any, bounds: Callable[[torch.dtype], Tolerance]) -> tuple[bool, str]:
    """Whether all elements are within the bounds of their type, and how many are not."""
    got, references = list(tensors(output)), list(tensors(expected))
    if len(got) != len(references):
        return False, f"{len(got)} tensors came; expected {len(references)}"
    for number, (result, reference) in enumerate(zip(got, references, strict=True)):
        if result.shape != reference.shape:
            return (
                False,
                f"output {number} has shape {tuple(result.shape)}; expected {tuple(reference.shape)}",
            )
        bound = bounds(result.dtype)
        differences = (result.double() - reference.double()).abs()
        wrong = ~(differences <= bound.atol + bound.rtol * reference.double().abs())
        both = (result.double() == reference.double()) | (
            result.double().isnan() & reference.double().isnan()
        )
        wrong &= ~both
        if wrong.any():
            return False, f"{int(wrong.sum())} of {result.numel()} elements of output {number} differ"
    return True, ""


def precise_output(reference: Callable[[Any], Any], inputs: Any) -> Any:
    """The reference's output from inputs in float64; None if it cannot compute that."""
    try:
        return reference(_doubled(inputs))
    except Exception:
        # References convert to types of their own, which then do not fit.
        return None


def _doubled(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.double() if value.is_floating_point() else value.clone()
    if isinstance(value, Mapping):
        return {key: _doubled(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return type(value)(_doubled(item) for item in value)
    return value


def _strided(value: Any) -> Any:
    """The same tensor with gaps between its rows, and further elements before it."""
    if not isinstance(value, torch.Tensor) or value.dim() < 2:
        return value
    wider = value.new_empty((*value.shape[:-1], value.shape[-1] + 8))
    view = wider[..., 4 : 4 + value.shape[-1]]
    view.copy_(value)
    return view


@contextlib.contextmanager
def _on_host() -> Iterator[None]:
    """In this context, PyTorch's "cuda" is this computer's memory: problems make their tensors there."""
    with torch_as_gpu("emulated"):
        yield


@contextlib.contextmanager
def _modules(sources: Mapping[str, Path]) -> Iterator[Callable[[str], ModuleType]]:
    """Loads modules from files by name, and what they import; none of them stay in sys.modules."""
    before = dict(sys.modules)
    names = {Path(name).stem: file for name, file in sources.items()}

    class Finder:
        @staticmethod
        def find_spec(name: str, path: Any = None, target: Any = None) -> Any:
            return importlib.util.spec_from_file_location(name, names[name]) if name in names else None

    for name in names:
        sys.modules.pop(name, None)
    sys.meta_path.insert(0, Finder)
    try:
        with _on_host():
            yield importlib.import_module
    finally:
        sys.meta_path.remove(Finder)
        for name in names:
            sys.modules.pop(name, None)
            if name in before:
                sys.modules[name] = before[name]


def digest_of(*files: Path) -> str:
    """Digest of the names and contents of files."""
    content = hashlib.sha256()
    for file in files:
        if file.is_file():
            content.update(f"{file.name}\0".encode() + file.read_bytes())
    return content.hexdigest()


def _without_seed(sizes: Sizes) -> dict[str, Any]:
    return {name: value for name, value in sizes.items() if name != "seed"}


def _text(sizes: Sizes) -> str:
    return ", ".join(f"{name}={value}" for name, value in sizes.items())


__all__ = [
    "FORMS",
    "Case",
    "Instance",
    "Problem",
    "close",
    "compared",
    "digest_of",
    "fresh_sizes",
    "precise_output",
    "problem",
]
