"""Calls a function of a built module in a process of its own, and compares what it wrote with the reference.

    python -m workbench.audit.drive REQUEST.json

The request names the module, the source and its path in the checkout; the answer is a file of JSON, and the
outputs are tensors in a file beside it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import torch

from workbench.audit.references import TOLERANCE, errors_of, problem_for
from workbench.audit.signature import signatures
from workbench.kernel.host_module import load_module


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """The verdict about a module.

    Returns:
        "verdict": True, False, or None if nothing could be called; "text": what was compared, or the reason.
    """
    text = Path(request["source"]).read_text(encoding="utf-8", errors="replace")
    bound = signatures(text)
    for signature in bound:
        problem = problem_for(signature, text, request["name"])
        if problem is None:
            continue
        module = load_module(request["module"], arch=request["target"])
        function = getattr(module, signature.function)
        function(*(problem.tensors[member] for member in signature.members))
        torch.save({name: problem.tensors[name] for name in problem.expected}, request["outputs"])
        errors = errors_of(problem)
        listed = ", ".join(f"{name} {error:.1e}" for name, error in errors.items())
        return {
            "verdict": max(errors.values()) < TOLERANCE,
            "text": f"{problem.about}: relative error of {listed}",
        }
    names = ", ".join(f"{s.function}({', '.join(s.members)})" for s in bound)
    return {"verdict": None, "text": f"no reference for {names or 'what the module binds'}"}


def main() -> None:
    request = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    Path(request["answer"]).write_text(json.dumps(answer(request)), encoding="utf-8")


if __name__ == "__main__":
    main()


__all__ = ["answer"]
