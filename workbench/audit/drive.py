"""Calls a function of a built module in a process of its own, and compares what it wrote with the reference.

    python -m workbench.audit.drive REQUEST.json

The request names the module, the source and its path in the checkout; the answer is a file of JSON, and the
outputs are tensors in a file beside it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch

from workbench.audit.references import TOLERANCE, Problem, errors_of, problem_for
from workbench.audit.signature import Signature, signatures
from workbench.audit.trial import search
from workbench.kernel.host_module import load_module


@dataclass(frozen=True)
class Call:
    """A call of a bound function with known arguments.

    Attributes:
        function: the function of the built module.
        members: names of its arguments, in order.
        problem: the arguments, and the results that are wanted.
    """

    function: Callable[..., Any]
    members: tuple[str, ...]
    problem: Problem

    def __call__(self) -> Problem:
        """Calls it with copies of the arguments, and returns the problem with these."""
        tensors = {name: tensor.clone() for name, tensor in self.problem.tensors.items()}
        arguments = {**tensors, **self.problem.numbers}
        self.function(*(arguments[member] for member in self.members))
        return replace(self.problem, tensors=tensors)


def call_of(request: Mapping[str, Any], text: str, bound: Sequence[Signature]) -> Call | None:
    """The first bound function of a source that a reference is known for."""
    for signature in bound:
        problem = problem_for(signature, text, request["name"])
        if problem is not None:
            module = load_module(request["module"], arch=request["target"])
            return Call(getattr(module, signature.function), signature.members, problem)
    return None


def answer(request: Mapping[str, Any]) -> dict[str, Any]:
    """The verdict about a module, or the search for an order that changes its results.

    Returns:
        "verdict": True, False, or None if nothing could be called; "text": what was compared, or the reason.
        With a request for a proof the fields of `Search`.
    """
    text = Path(request["source"]).read_text(encoding="utf-8", errors="replace")
    bound = signatures(text)
    call = call_of(request, text, bound)
    if call is None:
        names = ", ".join(f"{s.function}({', '.join(s.members)})" for s in bound)
        return {"verdict": None, "text": f"no reference for {names or 'what the module binds'}"}
    if request["proof"]:
        return asdict(search(lambda: list(_results(call()).values()), request["proof"]))
    solved = call()
    torch.save(_results(solved), request["outputs"])
    errors = errors_of(solved)
    listed = ", ".join(f"{name} {error:.1e}" for name, error in errors.items())
    return {
        "verdict": max(errors.values()) < TOLERANCE,
        "text": f"{call.problem.about}: relative error of {listed}",
    }


def _results(problem: Problem) -> dict[str, torch.Tensor]:
    return {name: problem.tensors[name] for name in problem.expected}


def main() -> None:
    request = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    Path(request["answer"]).write_text(json.dumps(answer(request)), encoding="utf-8")


if __name__ == "__main__":
    main()


__all__ = ["Call", "answer", "call_of"]
